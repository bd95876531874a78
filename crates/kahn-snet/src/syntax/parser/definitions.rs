//! Definitions: boxes, nets, types, signatures.

use super::{Parser, TokenKind};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::ast::{
    BoxCode, BoxDefinition, Definition, Definitions, Map, NetDefinition, Place, Signature,
    SignatureItem, Topology, TopologyKind, Tuple, TupleLabel, TypeDefinition, TypeSigDefinition,
    VariantLabel, WrittenVariant,
};

impl Parser<'_> {
    /// Definitions up to the end of the file, or to the `}` of a net.
    pub(super) fn definitions(&mut self, whole_file: bool) -> Definitions {
        let mut definitions = Vec::new();
        loop {
            match self.peek() {
                TokenKind::End => return definitions,
                TokenKind::CloseBrace | TokenKind::Connect if !whole_file => return definitions,
                TokenKind::Semicolon => {
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
            TokenKind::Box => self.box_definition().map(Definition::Box),
            TokenKind::Net => self.net_definition().map(Definition::Net),
            TokenKind::Type => self.type_definition().map(Definition::Type),
            TokenKind::TypeSig => self.typesig_definition().map(Definition::TypeSig),
            TokenKind::Metadata => {
                let span = self.advance();
                Some(Definition::Metadata(self.metadata(span)))
            }
            next => {
                let help = match next {
                    TokenKind::Minus if self.peek_at(1) == TokenKind::Minus => {
                        Some("a comment is `// …` to the end of the line, or `/* … */`")
                    }
                    TokenKind::Ident
                    | TokenKind::OpenParen
                    | TokenKind::OpenBracket
                    | TokenKind::OpenCell => Some(
                        "a network stands behind `net name connect`, and ends at the first `;`",
                    ),
                    TokenKind::Connect => {
                        Some("the network of a net stands behind its name or its `}`")
                    }
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
            TokenKind::OpenParen => self.advance(),
            _ => return self.no_tuple(what, self.next, &name.name),
        };
        let signature = self.next;
        let wanted = "a tuple of labels: `(a, <t>)`";
        let input = match self.peek() {
            TokenKind::Arrow => None,
            TokenKind::OpenParen => Some(self.tuple(true)?),
            _ => return self.no_tuple(wanted, signature, &name.name),
        };
        self.arrow("`->`", None)?;
        let mut outputs = Vec::new();
        if self.peek() != TokenKind::CloseParen {
            loop {
                if self.peek() != TokenKind::OpenParen {
                    return self.no_tuple(wanted, signature, &name.name);
                }
                outputs.push(self.tuple(false)?);
                if !self.eat(TokenKind::Bar) {
                    break;
                }
            }
        }
        self.close(TokenKind::CloseParen, open, "`)`")?;
        let code = if self.peek() == TokenKind::OpenBrace { Some(self.box_code()?) } else { None };
        if code.is_none() {
            self.semicolon("box", "`;`")?;
        }
        Some(BoxDefinition { name, input, outputs, code, at: self.since(start) })
    }

    fn box_code(&mut self) -> Option<BoxCode> {
        let open = self.advance();
        let span = self.expect(TokenKind::Code, "`<<< language | code >>>`")?;
        let inner = self.text(span).trim_start_matches("<<<").trim_end_matches(">>>");
        let Some((language, text)) = inner.split_once('|') else {
            let message = "the code of a box begins with its language and a bar";
            let error = Diagnostic::new(Code::Unexpected, span, message, "no `|` in it");
            self.errors.push(error.help("write `<<< C | … >>>`"));
            return None;
        };
        let (language, text) = (language.trim().to_owned(), text.to_owned());
        self.close(TokenKind::CloseBrace, open, "`}`")?;
        self.eat(TokenKind::Semicolon);
        Some(BoxCode { language, text, at: Place(span) })
    }

    fn tuple(&mut self, left: bool) -> Option<Tuple> {
        let open = self.advance();
        let mut labels: Vec<TupleLabel> = Vec::new();
        while self.peek() != TokenKind::CloseParen {
            let label = self.label()?;
            let equal = self.span();
            let kept = self.eat(TokenKind::Equal);
            if kept && !left {
                let message = "`=` marks what a box takes and passes on";
                let error = Diagnostic::new(Code::Unexpected, equal, message, "not in an output");
                self.errors.push(error.help("write it after the label on the left of `->`"));
            }
            labels.push(TupleLabel { label, kept: kept && left });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::CloseParen, open, "`,` or `)`")?;
        Some(Tuple { labels, at: self.since(open) })
    }

    fn net_definition(&mut self) -> Option<NetDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a net")?;
        let mut signature = None;
        if self.peek() == TokenKind::OpenParen {
            let bracket = self.next;
            let open = self.advance();
            signature = self.signature(TokenKind::CloseParen);
            let closed = signature.is_some()
                && self.close(TokenKind::CloseParen, open, "`,` or `)`").is_some();
            if !closed && !self.skip_behind(bracket) {
                self.skip_to(&[TokenKind::Connect, TokenKind::Semicolon, TokenKind::OpenBrace]);
                self.silent_at = Some(self.next);
            }
        }
        let types =
            matches!(self.peek_at(1), TokenKind::Less | TokenKind::Ident | TokenKind::CloseBrace);
        if self.peek() == TokenKind::Arrow || self.peek() == TokenKind::OpenBrace && types {
            let bare = self.peek() == TokenKind::Arrow
                || self.closing_of(self.next).is_some_and(|closing| {
                    matches!(self.tokens[closing + 1].kind, TokenKind::Arrow | TokenKind::Bar)
                });
            if bare {
                let help = format!("write `net {} ({{a}} -> {{b}}) connect …;`", name.name);
                self.unexpected_with("`(` before the signature", Some(&help));
                self.skip_to(&[TokenKind::Connect, TokenKind::Semicolon]);
                self.silent_at = Some(self.next);
            }
        }
        let mut definitions = None;
        if self.peek() == TokenKind::OpenBrace {
            let open = self.advance();
            definitions = self.deeper(|parser| Some(parser.definitions(false)));
            let closed = self.close(TokenKind::CloseBrace, open, "a definition or `}`");
            if closed.is_none() && self.peek() != TokenKind::Connect {
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
        if self.eat(TokenKind::Connect) {
            return Some(());
        }
        let help = format!("write `net {net} connect …;`: the network follows `connect`");
        self.unexpected_with("`connect`", Some(&help));
        match self.peek() {
            TokenKind::Equal => {
                self.advance();
            }
            TokenKind::Ident
            | TokenKind::OpenParen
            | TokenKind::OpenBracket
            | TokenKind::OpenCell => {}
            _ => return None,
        }
        Some(())
    }

    pub(super) fn skip_to(&mut self, stops: &[TokenKind]) {
        while !stops.contains(&self.peek())
            && self.peek() != TokenKind::End
            && !self.peek().defines()
        {
            self.advance();
        }
    }

    /// Says how the signature of a box is written, with the labels that stand at `from`.
    fn no_tuple<T>(&mut self, expected: &str, from: usize, name: &str) -> Option<T> {
        let mut text = String::new();
        let mut open = false;
        for token in self.tokens.iter().skip(from).take(100) {
            match token.kind {
                TokenKind::OpenBrace
                | TokenKind::CloseBrace
                | TokenKind::OpenParen
                | TokenKind::CloseParen => {}
                TokenKind::Arrow | TokenKind::Bar => {
                    text.push_str(if open { ") " } else { "" });
                    text.push_str(self.text(token.span));
                    text.push(' ');
                    open = false;
                }
                TokenKind::Ident
                | TokenKind::Less
                | TokenKind::Greater
                | TokenKind::Hash
                | TokenKind::Equal
                | TokenKind::Comma => {
                    text.push_str(if open { "" } else { "(" });
                    text.push_str(self.text(token.span));
                    text.push_str(if token.kind == TokenKind::Comma { " " } else { "" });
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
        self.expect(TokenKind::Equal, "`=`")?;
        let variants = self.variants(false)?;
        self.semicolon("type", "`|` or `;`")?;
        Some(TypeDefinition { name, variants, at: self.since(start) })
    }

    fn typesig_definition(&mut self) -> Option<TypeSigDefinition> {
        let start = self.advance();
        let name = self.ident("the name of a signature")?;
        self.expect(TokenKind::Equal, "`=`")?;
        let signature = self.signature(TokenKind::Semicolon)?;
        self.semicolon("typesig", "`,` or `;`")?;
        Some(TypeSigDefinition { name, signature, at: self.since(start) })
    }

    fn signature(&mut self, end: TokenKind) -> Option<Signature> {
        let start = self.span();
        let mut items = vec![self.signature_item(end)?];
        while self.eat(TokenKind::Comma) {
            items.push(self.signature_item(end)?);
        }
        Some(Signature { items, at: self.since(start) })
    }

    /// A map, or the name of a signature; a name before `->` or `|` is one of a type.
    fn signature_item(&mut self, end: TokenKind) -> Option<SignatureItem> {
        let named = self.peek() == TokenKind::Ident;
        if named && (self.peek_at(1) == TokenKind::Comma || self.peek_at(1) == end) {
            return Some(SignatureItem::Name(self.ident("a name")?));
        }
        let start = self.span();
        let inputs = match self.peek() {
            TokenKind::Arrow => None,
            _ => Some(self.variants(false)?),
        };
        self.arrow("`|` or `->`", None)?;
        let outputs = match self.peek() {
            TokenKind::Ellipsis => {
                self.advance();
                None
            }
            TokenKind::OpenBrace | TokenKind::Ident => Some(self.variants(true)?),
            _ => Some(Vec::new()),
        };
        Some(SignatureItem::Map(Map { inputs, outputs, at: self.since(start) }))
    }

    fn variants(&mut self, result: bool) -> Option<Vec<WrittenVariant>> {
        let mut variants = vec![self.variant(result)?];
        while self.eat(TokenKind::Bar) {
            variants.push(self.variant(result)?);
        }
        Some(variants)
    }

    /// `{a, <t>}` or the name of a type; `=a` only where `result` says that outputs are meant.
    pub(super) fn variant(&mut self, result: bool) -> Option<WrittenVariant> {
        if self.peek() == TokenKind::Ident {
            return Some(WrittenVariant::Name(self.ident("a type")?));
        }
        let help = (self.peek() == TokenKind::OpenParen)
            .then_some("types are written with braces, `{a, <t>}`; tuples are for boxes");
        if self.peek() != TokenKind::OpenBrace {
            self.unexpected_with("a type: `{a, <t>}` or a name", help);
            return None;
        }
        let open = self.advance();
        let mut labels = Vec::new();
        while self.peek() != TokenKind::CloseBrace {
            let equal = self.span();
            let same = self.eat(TokenKind::Equal);
            if same && !result {
                let message = "`=` promises that an output label is unchanged";
                let error = Diagnostic::new(Code::Unexpected, equal, message, "not an output");
                self.errors.push(error.help("remove the `=`"));
            }
            let label = self.label()?;
            labels.push(VariantLabel { label, same: same && result });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::CloseBrace, open, "`,` or `}`")?;
        Some(WrittenVariant::Set { labels, at: self.since(open) })
    }
}
