//! Definitions: boxes, nets, types, signatures.

use super::{Kind, Parser};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::Span;
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
                    match self.definition() {
                        Some(definition) => definitions.push(definition),
                        None => self.skip_definition(before, whole_file),
                    }
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
            Kind::Hash => self.directive(),
            _ => {
                self.unexpected("a definition: `net`, `box`, `type`, `typesig` or `<metadata>`");
                None
            }
        }
    }

    fn directive(&mut self) -> Option<Definition> {
        let start = self.span();
        let rest = &self.source[start.start..];
        let line = rest.lines().next().unwrap_or_default();
        let span = Span::new(start.start, start.start + line.len());
        let message = "there is no preprocessor";
        let help = if line.contains("include") {
            "write the definitions into this file; boxes are found with `--boxes`"
        } else {
            "write the value where it is used"
        };
        self.errors.retain(|error| error.span.start < span.start || error.span.end > span.end);
        self.errors.push(Diagnostic::new(Code::Directive, span, message, "a directive").help(help));
        while self.peek() != Kind::End && self.span().start < span.end {
            self.advance();
        }
        self.silent_at = Some(self.next);
        None
    }

    /// Goes on after the `;` of a broken definition, or at the next that begins on a line.
    fn skip_definition(&mut self, before: usize, whole_file: bool) {
        if self.next == before && !matches!(self.peek(), Kind::Hash) {
            self.advance();
        }
        loop {
            match self.peek() {
                Kind::End | Kind::Net | Kind::Box | Kind::Type | Kind::TypeSig | Kind::Metadata => {
                    return;
                }
                Kind::CloseBrace if !whole_file => return,
                Kind::Semicolon => {
                    self.advance();
                    return;
                }
                Kind::Hash if self.silent_at == Some(self.next) => return,
                _ => {
                    self.advance();
                }
            }
        }
    }

    fn box_definition(&mut self) -> Option<BoxDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a box")?;
        let open = self.expect(Kind::OpenParen, "`(` and the signature of the box")?;
        let input = if self.peek() == Kind::Arrow { None } else { Some(self.tuple(true)?) };
        self.expect(Kind::Arrow, "`->`")?;
        let mut outputs = Vec::new();
        if self.peek() != Kind::CloseParen {
            outputs.push(self.tuple(false)?);
            while self.eat(Kind::Bar) {
                outputs.push(self.tuple(false)?);
            }
        }
        self.close(Kind::CloseParen, open, "`)`")?;
        let code = if self.peek() == Kind::OpenBrace { Some(self.box_code()?) } else { None };
        if code.is_none() {
            self.expect(Kind::Semicolon, "`;`")?;
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
        let open = self.expect(Kind::OpenParen, "a tuple of labels: `(a, <t>)`")?;
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
            let open = self.advance();
            signature = self.signature(Kind::CloseParen);
            if signature.is_none() || self.close(Kind::CloseParen, open, "`)`").is_none() {
                self.skip_to(&[Kind::CloseParen, Kind::Connect, Kind::Semicolon, Kind::Net]);
                self.eat(Kind::CloseParen);
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
        if self.peek() != Kind::Connect {
            let help = "the network of a net follows `connect`";
            self.unexpected_with("`connect`", Some(help));
            return None;
        }
        self.advance();
        let body = self.topology().unwrap_or_else(|| {
            self.skip_to(&[Kind::Semicolon, Kind::Net, Kind::Box, Kind::CloseBrace]);
            Topology { kind: TopologyKind::Error, at: Place(self.last_span()) }
        });
        if self.expect(Kind::Semicolon, "a combinator or `;`").is_none() {
            self.skip_to(&[Kind::Semicolon, Kind::Net, Kind::Box, Kind::CloseBrace]);
            self.eat(Kind::Semicolon);
        }
        Some(NetDefinition { name, signature, definitions, body, at: self.since(start) })
    }

    pub(super) fn skip_to(&mut self, stops: &[Kind]) {
        while self.peek() != Kind::End && !stops.contains(&self.peek()) {
            self.advance();
        }
    }

    fn type_definition(&mut self) -> Option<TypeDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a type")?;
        self.expect(Kind::Equal, "`=`")?;
        let variants = self.variants(false)?;
        self.expect(Kind::Semicolon, "`|` or `;`")?;
        Some(TypeDefinition { name, variants, at: self.since(start) })
    }

    fn typesig_definition(&mut self) -> Option<TypeSigDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a signature")?;
        self.expect(Kind::Equal, "`=`")?;
        let signature = self.signature(Kind::Semicolon)?;
        self.expect(Kind::Semicolon, "`,` or `;`")?;
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
        self.expect(Kind::Arrow, "`|` or `->`")?;
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
        let open = self.expect(Kind::OpenBrace, "a type: `{a, <t>}` or a name")?;
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
