//! The formatter: one form for every program.
//!
//! It prints the tree, so what it prints depends on the tree alone, is read back as the same
//! tree, and is printed the same again. Comments are not in the tree: each is printed before the
//! definition or the operand of a network that it stands in or before, or behind it if it stood
//! behind it on the same line.
//! Single empty lines between definitions are kept.

mod expression;
mod topology;

use std::fmt::Write as _;

use super::Span;
use super::ast::{
    BoxDefinition, Definition, LabelKind, Map, NetDefinition, Signature, SignatureItem, Tuple,
    VariantLabel, WrittenVariant,
};
use super::parser::parse;
use super::token::Comment;
use crate::diagnostics::{Diagnostic, has_errors};

/// The longest line, where there is a choice.
const WIDTH: usize = 100;
const STEP: &str = "    ";

/// Prints a program in the one form.
///
/// # Errors
/// Returns what is wrong with the text if it cannot be read.
///
/// # Examples
///
/// ```
/// let text = kahn_snet::syntax::format("net  main connect a..(b|c)*{<t>} ;").unwrap();
/// assert_eq!(text, "net main connect a .. (b | c) * {<t>};\n");
/// ```
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(source);
    if has_errors(&parsed.diagnostics) {
        return Err(parsed.diagnostics);
    }
    let mut printer =
        Printer { source, comments: &parsed.comments, out: String::new(), end: 0, first: true };
    printer.definitions(&parsed.definitions, "");
    printer.comments_before(source.len() + 1, "");
    Ok(printer.out)
}

struct Printer<'a> {
    source: &'a str,
    /// Those not printed yet.
    comments: &'a [Comment],
    out: String,
    /// The end in the source of what was printed last.
    end: usize,
    /// Whether nothing was printed in this scope yet.
    first: bool,
}

impl Printer<'_> {
    fn definitions(&mut self, definitions: &[Definition], indent: &str) {
        for definition in definitions {
            let span = span_of(definition);
            self.comments_before(self.inner_start(definition), indent);
            self.gap(span.start);
            match definition {
                Definition::Box(definition) => self.box_definition(definition, indent),
                Definition::Net(definition) => self.net_definition(definition, indent),
                Definition::Type(definition) => {
                    let variants = variants(&definition.variants);
                    self.line(indent, &format!("type {} = {variants};", definition.name.name));
                }
                Definition::TypeSig(definition) => {
                    let head = format!("typesig {} = ", definition.name.name);
                    let text = signature(&definition.signature, indent, head.len(), 1);
                    self.line(indent, &format!("{head}{text};"));
                }
                Definition::Metadata(metadata) => self.line(indent, &metadata.text),
            }
            self.end = self.end.max(span.end);
            self.comments_behind();
            self.first = false;
        }
    }

    /// Up to where comments are printed before a definition: before its inner definitions or its
    /// network.
    fn inner_start(&self, definition: &Definition) -> usize {
        match definition {
            Definition::Net(net) if net.definitions.is_some() => net.name.at.0.start,
            Definition::Net(net) => self.head_end(net),
            _ => span_of(definition).end,
        }
    }

    fn line(&mut self, indent: &str, text: &str) {
        self.out.push_str(indent);
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// An empty line, if the source has one between what was printed last and `start`.
    fn gap(&mut self, start: usize) {
        let between = self.source.get(self.end..start).unwrap_or_default();
        if !self.first && between.bytes().filter(|byte| *byte == b'\n').count() > 1 {
            self.out.push('\n');
        }
        self.end = self.end.max(start);
    }

    fn comments_before(&mut self, start: usize, indent: &str) {
        while let Some((comment, rest)) = self.comments.split_first() {
            if comment.span.start >= start {
                return;
            }
            self.comments = rest;
            self.gap(comment.span.start);
            self.line(indent, &comment.text);
            self.end = self.end.max(comment.span.end);
            self.first = false;
        }
    }

    /// Comments on the line on which the last definition ended.
    fn comments_behind(&mut self) {
        while let Some((comment, rest)) = self.comments.split_first() {
            let between = self.source.get(self.end..comment.span.start).unwrap_or("\n");
            if between.contains('\n') {
                return;
            }
            self.comments = rest;
            self.out.truncate(self.out.trim_end_matches('\n').len());
            self.out.push_str("  ");
            self.out.push_str(&comment.text);
            self.out.push('\n');
            self.end = comment.span.end;
        }
    }

    fn box_definition(&mut self, definition: &BoxDefinition, indent: &str) {
        let mut text = format!("box {} (", definition.name.name);
        if let Some(input) = &definition.input {
            text.push_str(&tuple(input));
            text.push(' ');
        }
        text.push_str("->");
        for (index, output) in definition.outputs.iter().enumerate() {
            text.push_str(if index == 0 { " " } else { " | " });
            text.push_str(&tuple(output));
        }
        text.push(')');
        match &definition.code {
            None => text.push(';'),
            Some(code) => {
                let _ = write!(text, " {{ <<< {} |{}>>> }}", code.language, code.text);
            }
        }
        self.line(indent, &text);
    }

    fn net_definition(&mut self, definition: &NetDefinition, indent: &str) {
        let mut head = format!("net {}", definition.name.name);
        if let Some(declared) = &definition.signature {
            let column = indent.len() + head.len() + 2;
            let _ = write!(head, " ({})", signature(declared, indent, column, 2));
        }
        let Some(inner) = &definition.definitions else {
            let room = indent.len() + head.len() + " connect ;".len();
            let flat = topology::flat(&definition.body);
            let plain =
                self.comments.first().is_none_or(|one| one.span.start >= definition.at.0.end);
            if plain && !head.contains('\n') && room + flat.len() <= WIDTH {
                self.line(indent, &format!("{head} connect {flat};"));
            } else {
                self.line(indent, &head);
                self.connect(definition, indent);
            }
            return;
        };
        self.line(indent, &head);
        self.line(indent, "{");
        self.first = true;
        let deeper = format!("{indent}{STEP}");
        self.definitions(inner, &deeper);
        self.comments_before(self.closing_brace(definition), &deeper);
        self.line(indent, "}");
        self.connect(definition, indent);
    }

    /// Where the inner definitions end.
    fn closing_brace(&self, definition: &NetDefinition) -> usize {
        let inner = definition.definitions.iter().flatten().map(|inner| span_of(inner).end);
        let from = inner.max().unwrap_or(self.head_end(definition));
        self.next(b'}', from.max(self.end), definition)
    }

    /// The end of the name and the signature of a net.
    fn head_end(&self, definition: &NetDefinition) -> usize {
        let signature = definition.signature.as_ref().map(|signature| signature.at.0.end);
        let end = signature.map(|end| self.next(b')', end, definition) + 1);
        end.unwrap_or(definition.name.at.0.end)
    }

    /// Where `wanted` stands next that is in no comment, before the network of a net.
    fn next(&self, wanted: u8, from: usize, definition: &NetDefinition) -> usize {
        let mut at = from;
        let bytes = self.source.as_bytes();
        while at < definition.body.at.0.start && bytes[at] != wanted {
            let comment = self.comments.iter().find(|one| one.span.start == at);
            at = comment.map_or(at + 1, |one| one.span.end);
        }
        at
    }

    fn connect(&mut self, definition: &NetDefinition, indent: &str) {
        let end = definition.at.0.end;
        let within = self.comments.iter().take_while(|one| one.span.start < end).count();
        let (within, rest) = self.comments.split_at(within);
        self.comments = rest;
        let mut inside =
            topology::Inside { source: self.source, comments: within.iter().collect() };
        let text = topology::body(&definition.body, indent, self.head_end(definition), &mut inside);
        let space = if text.starts_with('\n') { "" } else { " " };
        self.line(indent, &format!("connect{space}{text};"));
        // Those before the `;` come behind it.
        for (index, comment) in inside.take(0, end).into_iter().enumerate() {
            if index == 0 {
                self.out.truncate(self.out.trim_end_matches('\n').len());
                self.line("  ", &comment);
            } else {
                self.line(indent, &comment);
            }
        }
    }
}

fn span_of(definition: &Definition) -> Span {
    match definition {
        Definition::Box(definition) => definition.at.0,
        Definition::Net(definition) => definition.at.0,
        Definition::Type(definition) => definition.at.0,
        Definition::TypeSig(definition) => definition.at.0,
        Definition::Metadata(metadata) => metadata.at.0,
    }
}

fn tuple(tuple: &Tuple) -> String {
    let labels = tuple.labels.iter().map(|part| {
        let label = label(part.label.kind, &part.label.name);
        if part.kept { format!("{label}=") } else { label }
    });
    format!("({})", labels.collect::<Vec<_>>().join(", "))
}

pub(super) fn label(kind: LabelKind, name: &str) -> String {
    match kind {
        LabelKind::Field => name.to_owned(),
        LabelKind::Tag => format!("<{name}>"),
        LabelKind::BindingTag => format!("<#{name}>"),
    }
}

fn variant(variant: &WrittenVariant) -> String {
    match variant {
        WrittenVariant::Name(name) => name.name.clone(),
        WrittenVariant::Set { labels, .. } => {
            let labels = labels.iter().map(|VariantLabel { label: part, same }| {
                let same = if *same { "=" } else { "" };
                format!("{same}{}", label(part.kind, &part.name))
            });
            format!("{{{}}}", labels.collect::<Vec<_>>().join(", "))
        }
    }
}

fn variants(list: &[WrittenVariant]) -> String {
    list.iter().map(variant).collect::<Vec<_>>().join(" | ")
}

fn map(map: &Map) -> String {
    let mut text = map.inputs.as_deref().map(variants).unwrap_or_default();
    text.push_str(if text.is_empty() { "->" } else { " ->" });
    match &map.outputs {
        None => text.push_str(" ..."),
        Some(outputs) if outputs.is_empty() => {}
        Some(outputs) => {
            text.push(' ');
            text.push_str(&variants(outputs));
        }
    }
    text
}

/// The maps on one line, or one a line if they don't fit behind `column` and before `after`.
fn signature(signature: &Signature, indent: &str, column: usize, after: usize) -> String {
    let items = signature.items.iter().map(|item| match item {
        SignatureItem::Name(name) => name.name.clone(),
        SignatureItem::Map(one) => map(one),
    });
    let items: Vec<String> = items.collect();
    let flat = items.join(", ");
    if column + flat.len() + after <= WIDTH || items.len() == 1 {
        return flat;
    }
    items.join(&format!(",\n{indent}{STEP}"))
}
