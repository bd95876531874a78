//! Networks: from `|`, the loosest, over `||` and `..` to what follows an operand.

use super::{Parser, TokenKind};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::Span;
use crate::syntax::ast::{Guarded, LabelKind, Range, Topology, TopologyKind};

/// The runtime has a bit for each pattern.
const MOST_PATTERNS: usize = 64;

impl Parser<'_> {
    /// A whole network.
    pub(super) fn topology(&mut self) -> Option<Topology> {
        self.deeper(|parser| parser.choice(false))
    }

    fn choice(&mut self, ordered: bool) -> Option<Topology> {
        let start = self.span();
        let operator = if ordered { TokenKind::BarBar } else { TokenKind::Bar };
        let operand = |parser: &mut Self| {
            if ordered { parser.serial() } else { parser.choice(true) }
        };
        let first = operand(self)?;
        if self.peek() != operator {
            return Some(first);
        }
        let mut branches = vec![first];
        while self.eat(operator) {
            branches.push(operand(self)?);
        }
        let kind = TopologyKind::Choice { ordered, branches };
        Some(Topology { kind, at: self.since(start) })
    }

    fn serial(&mut self) -> Option<Topology> {
        let start = self.span();
        let first = self.postfix()?;
        if self.peek() != TokenKind::Serial {
            return Some(first);
        }
        let mut stages = vec![first];
        while self.eat(TokenKind::Serial) {
            stages.push(self.postfix()?);
        }
        Some(Topology { kind: TopologyKind::Serial(stages), at: self.since(start) })
    }

    fn postfix(&mut self) -> Option<Topology> {
        let start = self.span();
        let mut operand = self.operand()?;
        for _ in 0..super::DEEPEST {
            let body = Box::new(operand);
            let kind = match self.peek() {
                TokenKind::Star | TokenKind::StarStar => {
                    let ordered = self.peek() == TokenKind::StarStar;
                    let star = self.advance();
                    let exits = self.patterns_of(star, "what leaves", "{done}", body.at.0)?;
                    TopologyKind::Star { ordered, body, exits }
                }
                TokenKind::Loop | TokenKind::LoopLoop => {
                    let ordered = self.peek() == TokenKind::LoopLoop;
                    let slash = self.advance();
                    let back = self.patterns_of(slash, "what goes back", "{again}", body.at.0)?;
                    TopologyKind::Feedback { ordered, body, back }
                }
                TokenKind::Bang | TokenKind::BangBang => {
                    let ordered = self.peek() == TokenKind::BangBang;
                    self.advance();
                    let placed = self.eat(TokenKind::At);
                    if self.peek() == TokenKind::Less {
                        TopologyKind::Split { ordered, placed, body, range: self.range()? }
                    } else {
                        self.no_range();
                        TopologyKind::Error
                    }
                }
                TokenKind::At => {
                    self.advance();
                    TopologyKind::Placed { body, place: self.integer()? }
                }
                _ => return Some(*body),
            };
            operand = Topology { kind, at: self.since(start) };
        }
        self.deeper(|_| None::<()>);
        Some(operand)
    }

    fn operand(&mut self) -> Option<Topology> {
        let start = self.span();
        let kind = match self.peek() {
            TokenKind::Ident => TopologyKind::Name(self.ident("a component")?),
            TokenKind::OpenParen => {
                let bracket = self.next;
                self.advance();
                let inner = self.topology();
                let closed = inner.is_some()
                    && self.close(TokenKind::CloseParen, start, "a combinator or `)`").is_some();
                if !closed && !self.skip_behind(bracket) {
                    return None;
                }
                let kind = inner.map_or(TopologyKind::Error, |inner| inner.kind);
                return Some(Topology { kind, at: self.since(start) });
            }
            TokenKind::OpenBracket => {
                let bracket = self.next;
                match self.filter() {
                    Some(filter) => TopologyKind::Filter(filter),
                    None if self.skip_behind(bracket) => TopologyKind::Error,
                    None => return None,
                }
            }
            TokenKind::OpenCell => {
                let bracket = self.next;
                match self.cell() {
                    Some(patterns) => TopologyKind::Cell(patterns),
                    None if self.skip_behind(bracket) => TopologyKind::Error,
                    None => return None,
                }
            }
            _ => {
                let help = match self.peek() {
                    TokenKind::Serial | TokenKind::Bar | TokenKind::BarBar => {
                        Some("a combinator needs a component on either side; `[]` passes all on")
                    }
                    _ => None,
                };
                self.unexpected_with("a box, net, filter, synchro-cell or `(`", help);
                return None;
            }
        };
        Some(Topology { kind, at: self.since(start) })
    }

    /// The patterns behind a combinator; an empty list if they were forgotten, which is said.
    fn patterns_of(
        &mut self,
        combinator: Span,
        of: &str,
        example: &str,
        body: Span,
    ) -> Option<Vec<Guarded>> {
        if matches!(self.peek(), TokenKind::OpenBrace | TokenKind::Ident) {
            return self.separated(Self::guarded);
        }
        let (body, combinator) = (self.text(body), self.text(combinator));
        let body = if body.len() > 30 || body.contains('\n') { "A" } else { body };
        let help = format!("write `{body} {combinator} {example}`, with a label of {of}");
        self.unexpected_with(&format!("the pattern of {of}"), Some(&help));
        Some(Vec::new())
    }

    /// Says what follows `!`, and skips the name of a tag.
    fn no_range(&mut self) {
        let word = (self.peek() == TokenKind::Ident).then(|| self.text(self.span()));
        let help = match word {
            Some(word) => format!("a tag stands in angle brackets: `<{word}>`"),
            None => "write `A ! <t>`, with the tag by which records are split".to_owned(),
        };
        self.unexpected_with("the tag that selects the replica", Some(&help));
        if word.is_some() {
            self.advance();
        } else if self.peek() == TokenKind::OpenBrace {
            self.skip_behind(self.next);
        }
    }

    /// `[| pattern, pattern |]`, from its opening.
    fn cell(&mut self) -> Option<Vec<Guarded>> {
        let open = self.advance();
        let patterns = self.separated(Self::guarded)?;
        self.close(TokenKind::CloseCell, open, "`,` or `|]`")?;
        if patterns.len() < 2 {
            let span = self.since(open).0;
            let message = "a synchro-cell joins at least two patterns";
            let error = Diagnostic::new(Code::Unexpected, span, message, "one pattern only");
            self.errors.push(error.help("write `[| {a}, {b} |]`"));
        }
        if patterns.len() > MOST_PATTERNS {
            let span = self.since(open).0;
            let message = format!("a synchro-cell joins at most {MOST_PATTERNS} patterns");
            let error = Diagnostic::new(Code::Unexpected, span, message, "too many patterns");
            self.errors.push(error.help("join some of them in a cell before this one"));
        }
        Some(patterns)
    }

    /// A pattern, with or without `if <guard>`.
    pub(super) fn guarded(&mut self) -> Option<Guarded> {
        let pattern = self.variant(false)?;
        let guard = if self.eat(TokenKind::If) { Some(self.guard()?) } else { None };
        Some(Guarded { pattern, guard })
    }

    fn range(&mut self) -> Option<Range> {
        let low = self.tag_label()?;
        if !self.eat(TokenKind::Colon) {
            return Some(Range::Index(low));
        }
        let high = self.tag_label()?;
        for label in [&low, &high] {
            if label.kind == LabelKind::BindingTag {
                let message = "a range runs between two simple tags";
                let error = Diagnostic::new(Code::Unexpected, label.at.0, message, "binding tag");
                self.errors.push(error.help("copy it to a tag first: `[{<#b>} -> {<b=#b>}]`"));
            }
        }
        Some(Range::Between(low, high))
    }
}
