//! Tokens, by a generated lexer. Comments are kept aside for the formatter.

use logos::Logos;

use super::Span;
use super::parser::recovery::not_a_comment;
use crate::diagnostics::{Code, Diagnostic};

/// What a token is; its text is in the source.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
pub(super) enum TokenKind {
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Ident,
    #[regex("[0-9][A-Za-z0-9_]*")]
    Int,
    #[token("box")]
    Box,
    #[token("net")]
    Net,
    #[token("connect")]
    Connect,
    #[token("type")]
    Type,
    #[token("typesig")]
    TypeSig,
    #[token("if")]
    If,
    #[token("then")]
    Then,
    #[token("else")]
    Else,
    #[token("<metadata>", |lexer| until(lexer, "</metadata>"))]
    Metadata,
    #[token("<<<", |lexer| until(lexer, ">>>"))]
    Code,
    #[regex(r"//[^\n]*", allow_greedy = true)]
    LineComment,
    #[token("/*", |lexer| until(lexer, "*/"))]
    BlockComment,
    #[regex("\"[^\"\n]*\"?")]
    Text,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[|")]
    OpenCell,
    #[token("|]")]
    CloseCell,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("->")]
    Arrow,
    #[token("...")]
    Ellipsis,
    #[token("..")]
    Serial,
    #[token("||")]
    BarBar,
    #[token("|")]
    Bar,
    #[token("**")]
    StarStar,
    #[token("*")]
    Star,
    #[token("!!")]
    BangBang,
    #[token("!=")]
    NotEqual,
    #[token("!")]
    Bang,
    #[token("\\\\")]
    LoopLoop,
    #[token("\\")]
    Loop,
    #[token("@")]
    At,
    #[token("==")]
    EqualEqual,
    #[token("=")]
    Equal,
    #[token("<=")]
    LessEqual,
    #[token(">=")]
    GreaterEqual,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("&&")]
    AndAnd,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("?")]
    Question,
    #[token("#")]
    Hash,
    /// The end of the file, or of a text that was opened and never closed.
    End,
}

/// Moves the lexer behind `close`; tells whether it was found.
fn until(lexer: &mut logos::Lexer<'_, TokenKind>, close: &str) -> bool {
    let rest = lexer.remainder();
    match rest.find(close) {
        Some(at) => lexer.bump(at + close.len()),
        None => lexer.bump(rest.len()),
    }
    rest.contains(close)
}

impl TokenKind {
    /// Returns the token as messages name it.
    pub(super) fn show(self, text: &str) -> String {
        match self {
            Self::End => "the end of the file".to_owned(),
            Self::Metadata => "metadata".to_owned(),
            Self::Code => "box code".to_owned(),
            _ => format!("`{text}`"),
        }
    }
}

/// A token and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

/// A comment, with its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) span: Span,
    pub(super) text: String,
}

/// Splits `source` into tokens, the last of which is `End`.
pub(super) fn tokens(source: &str) -> (Vec<Token>, Vec<Comment>, Vec<Diagnostic>) {
    let (mut tokens, mut comments, mut errors) = (Vec::new(), Vec::new(), Vec::<Diagnostic>::new());
    let mut skipped = 0;
    for (kind, range) in TokenKind::lexer(source).spanned() {
        let span = Span::new(range.start, range.end);
        if span.start < skipped {
            continue;
        }
        let text = &source[range];
        match kind {
            Ok(TokenKind::Hash) if !may_compute(tokens.last(), source) => {
                let line = source[span.start..].lines().next().unwrap_or_default();
                skipped = span.start + line.len();
                errors.push(not_a_comment(line, Span::new(span.start, skipped)));
            }
            Ok(TokenKind::LineComment | TokenKind::BlockComment) => {
                comments.push(Comment { span, text: text.trim_end().to_owned() });
            }
            Ok(TokenKind::Text) | Err(()) => {
                errors.push(stray(span, text));
                // What was surely meant is read, so that nothing more is said.
                match text {
                    "&" => tokens.push(Token { kind: TokenKind::AndAnd, span }),
                    "." => tokens.push(Token { kind: TokenKind::Serial, span }),
                    _ => {}
                }
            }
            Ok(kind) => tokens.push(Token { kind, span }),
        }
    }
    let end = Span::new(source.len(), source.len());
    tokens.push(Token { kind: TokenKind::End, span: end });
    (tokens, comments, errors)
}

/// Whether a binding tag may stand behind this token, so that `#` begins no line for a person.
fn may_compute(before: Option<&Token>, source: &str) -> bool {
    let Some(Token { kind, span }) = before else { return false };
    match kind {
        TokenKind::Ident => matches!(&source[span.start..span.end], "abs" | "min" | "max"),
        _ => BEFORE_OPERANDS.contains(kind),
    }
}

/// Behind these an expression may go on.
const BEFORE_OPERANDS: &[TokenKind] = &[
    TokenKind::Less,
    TokenKind::LessEqual,
    TokenKind::Greater,
    TokenKind::GreaterEqual,
    TokenKind::Equal,
    TokenKind::EqualEqual,
    TokenKind::NotEqual,
    TokenKind::Plus,
    TokenKind::Minus,
    TokenKind::Star,
    TokenKind::Slash,
    TokenKind::Percent,
    TokenKind::AndAnd,
    TokenKind::BarBar,
    TokenKind::Question,
    TokenKind::Colon,
    TokenKind::Bang,
    TokenKind::BangBang,
    TokenKind::OpenParen,
];

fn stray(span: Span, text: &str) -> Diagnostic {
    for (open, close) in [("/*", "*/"), ("<<<", ">>>"), ("<metadata>", "</metadata>")] {
        if text.starts_with(open) {
            let place = Span::new(span.start, span.start + open.len());
            let message = format!("`{open}` is never closed");
            let label = format!("no `{close}` follows");
            return Diagnostic::new(Code::Unclosed, place, message, label);
        }
    }
    let shown: String = text.chars().flat_map(visible).collect();
    let message = format!("`{shown}` begins no token of S-Net");
    let stray = Diagnostic::new(Code::StrayCharacter, span, message, "unknown character");
    match text {
        "&" => stray.help("logical and is `&&`"),
        _ if text.starts_with(['"', '\'']) => {
            stray.help("S-Net has no strings; values of fields come from boxes")
        }
        "." => stray.help("serial composition is `..`"),
        _ => stray.help("remove it"),
    }
}

/// The character, or its escape if it cannot be seen.
fn visible(character: char) -> impl Iterator<Item = char> {
    let hidden = character.is_control();
    let escape = character.escape_default().filter(move |_| hidden);
    escape.chain((!hidden).then_some(character))
}
