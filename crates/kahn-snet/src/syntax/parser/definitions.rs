//! Definitions: boxes, nets, types, signatures.

use super::{Kind, Parser};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::ast::{
    BoxCode, BoxDefinition, Definition, Definitions, Map, NetDefinition, Place, Signature,
    SignatureItem, Topology, TopologyKind, Tuple, TupleLabel, TypeDefinition, TypeSigDefinition,
    Variant, VariantLabel,
};

impl Parser<'_> {
    /// Definitions up to the end of the file, or to the `}` of a net.
    pub(super) fn definitions(&mut self, whole_file: bool) -> Definitions {
        let mut definitions = Vec::new();
        loop {
            match self.peek() {
                Kind::End => return definitions,
                Kind::CloseBrace | Kind::Connect if !whole_file => return definitions,
                Kind::Semicolon => {
                    self.advance();
                }
                _ => {
                    let before = self.next;
                    let definition = self.definition();
                    if definition.is_none() {
                        if self.next == before {
                            self.advance();
                        }
                        self.skip_definition();
                    }
                    definitions.extend(definition);
                }
            }
        }
    }

    fn definition(&mut self) -> Option<Definition> {
        match self.peek() {
            Kind::Box => self.box_definition().map(Definition::Box),
            Kind::Net => self.net_definition().map(Definition::Net),
            Kind::Type => self.type_definition().map(Definition::Type),
            Kind::TypeSig => self.typesig_definition().map(Definition::TypeSig),
            Kind::Metadata => {
                let span = self.advance();
                Some(Definition::Metadata(self.metadata(span)))
            }
            next => {
                let help = match next {
                    Kind::Minus if self.peek_at(1) == Kind::Minus => {
                        Some("a comment is `// …` to the end of the line, or `/* … */`")
                    }
                    Kind::Ident | Kind::OpenParen | Kind::OpenBracket | Kind::OpenCell => Some(
                        "a network stands behind `net name connect`, and ends at the first `;`",
                    ),
                    Kind::Connect => Some("the network of a net stands behind its name or its `}`"),
                    _ => None,
                };
                let what = "a definition: `net`, `box`, `type`, `typesig` or `<metadata>`";
                self.unexpected_with(what, help);
                None
            }
        }
    }

    fn box_definition(&mut self) -> Option<BoxDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a box")?;
        let what = "`(` and the signature of the box";
        let open = match self.peek() {
            Kind::OpenParen => self.advance(),
            _ => return self.no_tuple(what, self.next, &name.name),
        };
        let signature = self.next;
        let wanted = "a tuple of labels: `(a, <t>)`";
        let input = match self.peek() {
            Kind::Arrow => None,
            Kind::OpenParen => Some(self.tuple(true)?),
            _ => return self.no_tuple(wanted, signature, &name.name),
        };
        self.arrow("`->`", None)?;
        let mut outputs = Vec::new();
        if self.peek() != Kind::CloseParen {
            loop {
                if self.peek() != Kind::OpenParen {
                    return self.no_tuple(wanted, signature, &name.name);
                }
                outputs.push(self.tuple(false)?);
                if !self.eat(Kind::Bar) {
                    break;
                }
            }
        }
        self.close(Kind::CloseParen, open, "`)`")?;
        let code = if self.peek() == Kind::OpenBrace { Some(self.box_code()?) } else { None };
        if code.is_none() {
            self.semicolon("box", "`;`")?;
        }
        Some(BoxDefinition { name, input, outputs, code, at: self.since(start) })
    }

    fn box_code(&mut self) -> Option<BoxCode> {
        let open = self.advance();
        let span = self.expect(Kind::Code, "`<<< language | code >>>`")?;
        let inner = self.text(span).trim_start_matches("<<<").trim_end_matches(">>>");
        let Some((language, text)) = inner.split_once('|') else {
            let message = "the code of a box begins with its language and a bar";
            let error = Diagnostic::new(Code::Unexpected, span, message, "no `|` in it");
            self.errors.push(error.help("write `<<< C | … >>>`"));
            return None;
        };
        let (language, text) = (language.trim().to_owned(), text.to_owned());
        self.close(Kind::CloseBrace, open, "`}`")?;
        self.eat(Kind::Semicolon);
        Some(BoxCode { language, text, at: Place(span) })
    }

    fn tuple(&mut self, left: bool) -> Option<Tuple> {
        let open = self.advance();
        let mut labels: Vec<TupleLabel> = Vec::new();
        while self.peek() != Kind::CloseParen {
            let label = self.label()?;
            let equal = self.span();
            let kept = self.eat(Kind::Equal);
            if kept && !left {
                let message = "`=` marks what a box takes and passes on";
                let error = Diagnostic::new(Code::Unexpected, equal, message, "not in an output");
                self.errors.push(error.help("write it after the label on the left of `->`"));
            }
            labels.push(TupleLabel { label, kept: kept && left });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.close(Kind::CloseParen, open, "`,` or `)`")?;
        Some(Tuple { labels, at: self.since(open) })
    }

    fn net_definition(&mut self) -> Option<NetDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a net")?;
        let mut signature = None;
        if self.peek() == Kind::OpenParen {
            let bracket = self.next;
            let open = self.advance();
            signature = self.signature(Kind::CloseParen);
            let closed =
                signature.is_some() && self.close(Kind::CloseParen, open, "`,` or `)`").is_some();
            if !closed && !self.skip_behind(bracket) {
                self.skip_to(&[Kind::Connect, Kind::Semicolon, Kind::OpenBrace]);
                self.silent_at = Some(self.next);
            }
        }
        let types = matches!(self.peek_at(1), Kind::Less | Kind::Ident | Kind::CloseBrace);
        if self.peek() == Kind::Arrow || self.peek() == Kind::OpenBrace && types {
            let bare = self.peek() == Kind::Arrow
                || self.closing_of(self.next).is_some_and(|closing| {
                    matches!(self.tokens[closing + 1].kind, Kind::Arrow | Kind::Bar)
                });
            if bare {
                let help = format!("write `net {} ({{a}} -> {{b}}) connect …;`", name.name);
                self.unexpected_with("`(` before the signature", Some(&help));
                self.skip_to(&[Kind::Connect, Kind::Semicolon]);
                self.silent_at = Some(self.next);
            }
        }
        let mut definitions = None;
        if self.peek() == Kind::OpenBrace {
            let open = self.advance();
            definitions = self.deeper(|parser| Some(parser.definitions(false)));
            let closed = self.close(Kind::CloseBrace, open, "a definition or `}`");
            if closed.is_none() && self.peek() != Kind::Connect {
                return None;
            }
        }
        self.connect(&name.name)?;
        let body = self.topology();
        let read = body.is_some() && self.semicolon("net", "a combinator or `;`").is_some();
        if !read {
            self.skip_definition();
        }
        let body =
            body.unwrap_or(Topology { kind: TopologyKind::Error, at: Place(self.last_span()) });
        Some(NetDefinition { name, signature, definitions, body, at: self.since(start) })
    }

    /// Takes `connect`; goes on if that word alone is missing, or written as `=`.
    fn connect(&mut self, net: &str) -> Option<()> {
        if self.eat(Kind::Connect) {
            return Some(());
        }
        let help = format!("write `net {net} connect …;`: the network follows `connect`");
        self.unexpected_with("`connect`", Some(&help));
        match self.peek() {
            Kind::Equal => {
                self.advance();
            }
            Kind::Ident | Kind::OpenParen | Kind::OpenBracket | Kind::OpenCell => {}
            _ => return None,
        }
        Some(())
    }

    pub(super) fn skip_to(&mut self, stops: &[Kind]) {
        while !stops.contains(&self.peek()) && self.peek() != Kind::End && !self.peek().defines() {
            self.advance();
        }
    }

    /// Says how the signature of a box is written, with the labels that stand at `from`.
    fn no_tuple<T>(&mut self, expected: &str, from: usize, name: &str) -> Option<T> {
        let mut text = String::new();
        let mut open = false;
        for token in self.tokens.iter().skip(from).take(100) {
            match token.kind {
                Kind::OpenBrace | Kind::CloseBrace | Kind::OpenParen | Kind::CloseParen => {}
                Kind::Arrow | Kind::Bar => {
                    text.push_str(if open { ") " } else { "" });
                    text.push_str(self.text(token.span));
                    text.push(' ');
                    open = false;
                }
                Kind::Ident
                | Kind::Less
                | Kind::Greater
                | Kind::Hash
                | Kind::Equal
                | Kind::Comma => {
                    text.push_str(if open { "" } else { "(" });
                    text.push_str(self.text(token.span));
                    text.push_str(if token.kind == Kind::Comma { " " } else { "" });
                    open = true;
                }
                _ => break,
            }
        }
        text.push_str(if open { ")" } else { "" });
        if !text.contains("->") {
            "(a, <t>) -> (b)".clone_into(&mut text);
        }
        let help = format!("write `box {name} ({});`", text.trim_end());
        self.unexpected_with(expected, Some(&help));
        None
    }

    fn type_definition(&mut self) -> Option<TypeDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a type")?;
        self.expect(Kind::Equal, "`=`")?;
        let variants = self.variants(false)?;
        self.semicolon("type", "`|` or `;`")?;
        Some(TypeDefinition { name, variants, at: self.since(start) })
    }

    fn typesig_definition(&mut self) -> Option<TypeSigDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a signature")?;
        self.expect(Kind::Equal, "`=`")?;
        let signature = self.signature(Kind::Semicolon)?;
        self.semicolon("typesig", "`,` or `;`")?;
        Some(TypeSigDefinition { name, signature, at: self.since(start) })
    }

    fn signature(&mut self, end: Kind) -> Option<Signature> {
        let start = self.span();
        let mut items = vec![self.signature_item(end)?];
        while self.eat(Kind::Comma) {
            items.push(self.signature_item(end)?);
        }
        Some(Signature { items, at: self.since(start) })
    }

    /// A map, or the name of a signature; a name before `->` or `|` is one of a type.
    fn signature_item(&mut self, end: Kind) -> Option<SignatureItem> {
        let named = self.peek() == Kind::Ident;
        if named && (self.peek_at(1) == Kind::Comma || self.peek_at(1) == end) {
            return Some(SignatureItem::Name(self.ident("a name")?));
        }
        let start = self.span();
        let inputs = match self.peek() {
            Kind::Arrow => None,
            _ => Some(self.variants(false)?),
        };
        self.arrow("`|` or `->`", None)?;
        let outputs = match self.peek() {
            Kind::Ellipsis => {
                self.advance();
                None
            }
            Kind::OpenBrace | Kind::Ident => Some(self.variants(true)?),
            _ => Some(Vec::new()),
        };
        Some(SignatureItem::Map(Map { inputs, outputs, at: self.since(start) }))
    }

    fn variants(&mut self, result: bool) -> Option<Vec<Variant>> {
        let mut variants = vec![self.variant(result)?];
        while self.eat(Kind::Bar) {
            variants.push(self.variant(result)?);
        }
        Some(variants)
    }

    /// `{a, <t>}` or the name of a type; `=a` only where `result` says that outputs are meant.
    pub(super) fn variant(&mut self, result: bool) -> Option<Variant> {
        if self.peek() == Kind::Ident {
            return Some(Variant::Name(self.ident("a type")?));
        }
        let help = (self.peek() == Kind::OpenParen)
            .then_some("types are written with braces, `{a, <t>}`; tuples are for boxes");
        if self.peek() != Kind::OpenBrace {
            self.unexpected_with("a type: `{a, <t>}` or a name", help);
            return None;
        }
        let open = self.advance();
        let mut labels = Vec::new();
        while self.peek() != Kind::CloseBrace {
            let equal = self.span();
            let same = self.eat(Kind::Equal);
            if same && !result {
                let message = "`=` promises that an output label is unchanged";
                let error = Diagnostic::new(Code::Unexpected, equal, message, "not an output");
                self.errors.push(error.help("remove the `=`"));
            }
            let label = self.label()?;
            labels.push(VariantLabel { label, same: same && result });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.close(Kind::CloseBrace, open, "`,` or `}`")?;
        Some(Variant::Set { labels, at: self.since(open) })
    }
}
