//! The derive macro `Digest`, which `kahn` re-exports with its feature `derive`.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Index, parse_macro_input, parse_quote};

/// Derives `kahn::Digest`: all fields in their order, and for an enum the number of the variant.
///
/// # Examples
///
/// ```
/// use kahn::Digester;
///
/// #[derive(kahn::Digest)]
/// enum Shape {
///     Point,
///     Circle { radius: f64 },
/// }
///
/// assert_ne!(Digester::of(&Shape::Point), Digester::of(&Shape::Circle { radius: 1.0 }));
/// ```
#[proc_macro_derive(Digest)]
pub fn digest(input: TokenStream) -> TokenStream {
    let mut input = parse_macro_input!(input as DeriveInput);
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::kahn::Digest));
    }
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let body = match &input.data {
        Data::Struct(data) => {
            let fields = data.fields.iter().enumerate().map(|(index, field)| {
                let index = Index::from(index);
                let member =
                    field.ident.as_ref().map_or_else(|| quote!(#index), |ident| quote!(#ident));
                quote!(::kahn::Digest::digest(&self.#member, digester);)
            });
            quote!(#(#fields)*)
        }
        Data::Enum(data) if data.variants.is_empty() => quote!(match *self {}),
        Data::Enum(data) => {
            let arms = data.variants.iter().enumerate().map(|(number, variant)| {
                let ident = &variant.ident;
                let names: Vec<_> =
                    (0..variant.fields.len()).map(|n| quote::format_ident!("field_{n}")).collect();
                let pattern = match &variant.fields {
                    Fields::Unit => quote!(Self::#ident),
                    Fields::Unnamed(_) => quote!(Self::#ident(#(#names),*)),
                    Fields::Named(fields) => {
                        let members = fields.named.iter().map(|field| &field.ident);
                        quote!(Self::#ident { #(#members: #names),* })
                    }
                };
                quote!(#pattern => {
                    ::kahn::Digest::digest(&#number, digester);
                    #(::kahn::Digest::digest(#names, digester);)*
                })
            });
            quote!(match self { #(#arms)* })
        }
        Data::Union(_) => {
            return syn::Error::new_spanned(name, "a union has no contents that could be digested")
                .to_compile_error()
                .into();
        }
    };
    quote! {
        impl #impl_generics ::kahn::Digest for #name #type_generics #where_clause {
            fn digest(&self, digester: &mut ::kahn::Digester) {
                let _ = &digester;
                #body
            }
        }
    }
    .into()
}
