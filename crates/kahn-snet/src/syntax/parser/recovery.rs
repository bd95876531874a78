//! What is said where reading fails, and where it goes on.
//!
//! | found                                  | said                                  | goes on             |
//! |----------------------------------------|---------------------------------------|---------------------|
//! | the next definition, no `;` before it  | behind what was read, `;` is missing  | there               |
//! | a closing that belongs further out     | at the opening, it is never closed    | there               |
//! | anything else                          | what could stand there, and advice    | behind the bracket  |

use super::{Parser, TokenKind};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::Span;

/// Words of the preprocessor of C.
const DIRECTIVES: &[&str] =
    &["include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "pragma"];

/// Whether the line that begins with `#` is one of the preprocessor.
pub(in crate::syntax) fn is_directive(line: &str) -> bool {
    let line = line.trim_start_matches('#').trim_start();
    let word = line.split(|one: char| !one.is_ascii_alphabetic()).next().unwrap_or_default();
    DIRECTIVES.contains(&word)
}

/// Says what a line is that begins with `#`.
pub(in crate::syntax) fn not_a_comment(line: &str, span: Span) -> Diagnostic {
    if !is_directive(line) {
        let message = "`#` begins no comment";
        let error = Diagnostic::new(Code::Unexpected, span, message, "not S-Net");
        return error.help("a comment is `// …` to the end of the line, or `/* … */`");
    }
    let help = if line.contains("include") {
        "write the definitions into this file; boxes are found with `--boxes`"
    } else {
        "write the value where it is used"
    };
    let message = "there is no preprocessor";
    Diagnostic::new(Code::Directive, span, message, "a directive").help(help)
}

fn closing_text(close: TokenKind) -> &'static str {
    match close {
        TokenKind::CloseBrace => "}",
        TokenKind::CloseBracket => "]",
        TokenKind::CloseCell => "|]",
        _ => ")",
    }
}

impl TokenKind {
    /// Whether a definition begins here.
    pub(super) fn defines(self) -> bool {
        matches!(self, Self::Net | Self::Box | Self::Type | Self::TypeSig | Self::Metadata)
    }

    /// Whether what was opened before should have been closed by now.
    fn is_outer(self) -> bool {
        let closes = matches!(
            self,
            Self::CloseParen | Self::CloseBrace | Self::CloseBracket | Self::CloseCell
        );
        closes
            || self.defines()
            || matches!(self, Self::Arrow | Self::Semicolon | Self::Connect | Self::End)
    }
}

impl Parser<'_> {
    pub(super) fn expect(&mut self, kind: TokenKind, what: &str) -> Option<Span> {
        if self.peek() == kind {
            return Some(self.advance());
        }
        self.unexpected(what);
        None
    }

    /// Takes `close`, or says where the opening stands that it should close.
    pub(super) fn close(&mut self, close: TokenKind, open: Span, what: &str) -> Option<Span> {
        if self.peek() == close {
            return Some(self.advance());
        }
        if !self.peek().is_outer() {
            self.unexpected(what);
        } else if self.may_speak() {
            let (found, at) = (self.show_next(), self.span());
            let message = format!("`{}` is never closed", self.text(open));
            let label = format!("no `{}` before {found}", closing_text(close));
            let mut error = Diagnostic::new(Code::Unclosed, open, message, label);
            if self.peek() != TokenKind::End {
                error = error.related(at, "it should be closed before this");
            }
            self.errors.push(error.help(format!("put `{}` before {found}", closing_text(close))));
        }
        None
    }

    /// Takes the `;` of a definition, or says behind what was read that it is missing.
    pub(super) fn semicolon(&mut self, of: &str, else_expected: &str) -> Option<()> {
        let next = self.peek();
        if next == TokenKind::Semicolon {
            self.advance();
            return Some(());
        }
        if !next.defines() && !matches!(next, TokenKind::CloseBrace | TokenKind::End) {
            let help = match next {
                TokenKind::OpenBrace => Some("definitions inside a net stand before `connect`"),
                TokenKind::Comma => {
                    Some("networks are joined by `..` in series, by `|` as a choice")
                }
                TokenKind::Ident
                | TokenKind::OpenParen
                | TokenKind::OpenBracket
                | TokenKind::OpenCell => {
                    Some("put a combinator between them: `..` for a series, `|` for a choice")
                }
                _ => None,
            };
            self.unexpected_with(else_expected, help);
            return None;
        }
        if self.may_speak() {
            let end = self.last_span().end;
            let message = format!("the `;` of this {of} is missing");
            let place = Span::new(end, end);
            let error = Diagnostic::new(Code::Unexpected, place, message, "expected `;`");
            self.errors.push(error.help(format!("a {of} ends with `;`")));
        }
        Some(())
    }

    /// Takes `->`, also if it is written `=>`.
    pub(super) fn arrow(&mut self, what: &str, help: Option<&str>) -> Option<()> {
        if self.peek() == TokenKind::Equal && self.peek_at(1) == TokenKind::Greater {
            self.unexpected_with(what, Some("did you mean `->`?"));
            self.advance();
            self.advance();
            return Some(());
        }
        if self.eat(TokenKind::Arrow) {
            return Some(());
        }
        self.unexpected_with(what, help);
        None
    }

    pub(super) fn unexpected(&mut self, expected: &str) {
        self.unexpected_with(expected, None);
    }

    pub(super) fn unexpected_with(&mut self, expected: &str, help: Option<&str>) {
        if !self.may_speak() {
            return;
        }
        let span = self.span();
        if self.peek() == TokenKind::Hash {
            let line = self.source[span.start..].lines().next().unwrap_or_default();
            let line_span = Span::new(span.start, span.start + line.len());
            self.errors.push(not_a_comment(line, line_span));
            return;
        }
        let message = format!("expected {expected}, found {}", self.show_next());
        let mut error = Diagnostic::new(Code::Unexpected, span, message, "not expected here");
        if let Some(help) = help {
            error = error.help(help);
        }
        self.errors.push(error);
    }

    /// Whether nothing was said about the next token yet, nor about what stands before it.
    pub(super) fn may_speak(&mut self) -> bool {
        let (before, next) = (self.last_span().end, self.span().start);
        let stray = |error: &Diagnostic| {
            error.code == Code::StrayCharacter
                && error.span.start >= before
                && error.span.end <= next
        };
        let known = self.silent_at == Some(self.next) || self.errors.iter().any(stray);
        self.silent_at = Some(self.next);
        !known
    }

    pub(super) fn show_next(&self) -> String {
        self.peek().show(self.text(self.span()))
    }

    /// The place in the list of tokens of what closes the bracket at `open`.
    pub(super) fn closing_of(&self, open: usize) -> Option<usize> {
        let (opens, closes) = match self.tokens.get(open)?.kind {
            TokenKind::OpenBrace => (TokenKind::OpenBrace, TokenKind::CloseBrace),
            TokenKind::OpenParen => (TokenKind::OpenParen, TokenKind::CloseParen),
            TokenKind::OpenBracket => (TokenKind::OpenBracket, TokenKind::CloseBracket),
            TokenKind::OpenCell => (TokenKind::OpenCell, TokenKind::CloseCell),
            _ => return None,
        };
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            if token.kind == opens {
                depth += 1;
            } else if token.kind == closes {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            } else if opens != TokenKind::OpenBrace
                && (token.kind.defines() || token.kind == TokenKind::Connect)
            {
                return None;
            }
        }
        None
    }

    /// Goes on behind what closes the bracket at `open`, if that is closed.
    pub(super) fn skip_behind(&mut self, open: usize) -> bool {
        let closing = self.closing_of(open).filter(|closing| *closing >= self.next);
        if let Some(closing) = closing {
            self.next = closing + 1;
        }
        closing.is_some()
    }

    /// Goes on at the end of a broken definition: behind its `;`, or at the next definition.
    pub(super) fn skip_definition(&mut self) {
        loop {
            match self.peek() {
                TokenKind::Semicolon => {
                    self.advance();
                    return;
                }
                TokenKind::OpenBrace
                | TokenKind::OpenParen
                | TokenKind::OpenBracket
                | TokenKind::OpenCell
                    if self.skip_behind(self.next) => {}
                TokenKind::CloseBrace | TokenKind::Connect | TokenKind::End => break,
                next if next.defines() => break,
                _ => {
                    self.advance();
                }
            }
        }
        self.silent_at = Some(self.next);
    }
}
