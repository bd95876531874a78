//! A recursive descent over the tokens that never stops at the first error.
//!
//! | rule        | file          | after an error it goes on at                      |
//! |-------------|---------------|---------------------------------------------------|
//! | definitions | `definitions` | the next `;` or the next word that begins one     |
//! | networks    | `topology`    | the next combinator, or the end of the definition |
//! | filters     | `filter`      | the closing `]`                                   |
//! | metadata    | `metadata`    | the text after it: it is one token                |
//!
//! A rule that fails has pushed a diagnostic and returns `None`; the caller skips, by `recovery`.
//! One bad spot gives one message: after a message nothing more is said about the same token, nor
//! about the token at which reading goes on.

mod definitions;
mod filter;
mod metadata;
pub(super) mod recovery;
mod topology;

use super::Span;
use super::ast::{Definitions, Ident, LabelKind, Place, WrittenLabel};
use super::token::{self, Comment, Token, TokenKind};
use crate::diagnostics::{Code, Diagnostic};

/// The deepest nesting that is read; more would only be a stack overflow in waiting.
const DEEPEST: usize = 120;

/// What was read from a file.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The definitions that could be read.
    pub definitions: Definitions,
    /// What could not be read, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    pub(super) comments: Vec<Comment>,
}

/// Reads a program.
///
/// # Examples
///
/// ```
/// let parsed = kahn_snet::syntax::parse("net main connect [{a} -> {b=a}];");
/// assert!(parsed.diagnostics.is_empty());
/// ```
pub fn parse(source: &str) -> Parsed {
    let (tokens, comments, errors) = token::tokens(source);
    let mut parser =
        Parser { source, tokens, next: 0, errors, depth: 0, operations: 0, silent_at: None };
    let definitions = parser.definitions(true);
    let mut diagnostics = parser.errors;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    Parsed { definitions, diagnostics, comments }
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    next: usize,
    errors: Vec<Diagnostic>,
    depth: usize,
    /// The operations of the expression that is read.
    operations: usize,
    /// The token about which something was said already.
    silent_at: Option<usize>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> TokenKind {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.next + ahead).map_or(TokenKind::End, |token| token.kind)
    }

    /// The place of the next token.
    fn span(&self) -> Span {
        self.tokens
            .get(self.next)
            .or(self.tokens.last())
            .map(|token| token.span)
            .unwrap_or_default()
    }

    /// The place of the token just taken.
    fn last_span(&self) -> Span {
        self.next
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
            .map(|token| token.span)
            .unwrap_or_default()
    }

    /// From `start` to the end of what was taken last.
    fn since(&self, start: Span) -> Place {
        Place(start.to(self.last_span()))
    }

    fn text(&self, span: Span) -> &'a str {
        &self.source[span.start..span.end]
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
        span
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Counts a level of nesting; `None` if there are too many.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEEPEST {
            let message = format!("nested more than {DEEPEST} levels deep");
            let error = Diagnostic::new(Code::TooDeep, self.span(), message, "one level too many");
            self.errors.push(error.help("give the inner part a name with `net … connect …;`"));
            self.next = self.tokens.len() - 1;
            self.silent_at = Some(self.next);
            return None;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn ident(&mut self, what: &str) -> Option<Ident> {
        if self.peek() != TokenKind::Ident {
            let span = self.span();
            let word = self.text(span);
            let keyword = word.starts_with(|first: char| first.is_ascii_alphabetic());
            // A word that a name follows is what it says, and the name before it is missing.
            let meant = !keyword
                || self.peek() == TokenKind::Connect
                || self.peek_at(1) == TokenKind::Ident;
            if meant {
                self.unexpected(what);
                return None;
            }
            let help = format!("`{word}` is a word of the language; choose another name");
            self.unexpected_with(what, Some(&help));
        }
        let span = self.advance();
        Some(Ident { name: self.text(span).to_owned(), at: Place(span) })
    }

    /// `a`, `<a>` or `<#a>`.
    fn label(&mut self) -> Option<WrittenLabel> {
        if self.peek() == TokenKind::Ident {
            let Ident { name, at } = self.ident("a label")?;
            return Some(WrittenLabel { kind: LabelKind::Field, name, at });
        }
        if self.peek() == TokenKind::Less { self.tag_label() } else { self.no_label() }
    }

    fn no_label(&mut self) -> Option<WrittenLabel> {
        self.unexpected("a label: `a`, `<t>` or `<#b>`");
        None
    }

    /// `<a>` or `<#a>`.
    fn tag_label(&mut self) -> Option<WrittenLabel> {
        let (start, kind, name) = self.open_tag()?;
        self.close_tag()?;
        Some(WrittenLabel { kind, name: name.name, at: self.since(start) })
    }

    /// `<a` or `<#a`.
    fn open_tag(&mut self) -> Option<(Span, LabelKind, Ident)> {
        let start = self.expect(TokenKind::Less, "a tag: `<t>` or `<#b>`")?;
        let binding = self.eat(TokenKind::Hash);
        let kind = if binding { LabelKind::BindingTag } else { LabelKind::Tag };
        Some((start, kind, self.ident("the name of a tag")?))
    }

    /// Takes `>`, splitting `>=` in two.
    fn close_tag(&mut self) -> Option<()> {
        if self.peek() == TokenKind::GreaterEqual {
            let token = &mut self.tokens[self.next];
            token.kind = TokenKind::Equal;
            token.span.start += 1;
            return Some(());
        }
        self.expect(TokenKind::Greater, "`>`").map(|_| ())
    }

    fn integer(&mut self) -> Option<i64> {
        let span = self.expect(TokenKind::Int, "a number")?;
        let text = self.text(span);
        let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(digits) => i64::from_str_radix(digits, 16),
            None if text.len() > 1 && text.starts_with('0') => i64::from_str_radix(text, 8),
            None => text.parse(),
        };
        if let Ok(value) = value {
            return Some(value);
        }
        let message = format!("`{text}` is no number");
        self.errors.push(
            Diagnostic::new(Code::BadNumber, span, message, "not a signed 64-bit integer")
                .help("numbers are decimal, hexadecimal (`0x1f`) or octal (`017`)"),
        );
        Some(0)
    }

    fn separated<T>(&mut self, rule: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut list = vec![rule(self)?];
        while self.eat(TokenKind::Comma) {
            list.push(rule(self)?);
        }
        Some(list)
    }
}
