//! From text to tree and back: tokens, syntax tree, parser, formatter.
//!
//! Parsing is a pure function that never fails: whatever cannot be read becomes a
//! [`Diagnostic`](crate::diagnostics::Diagnostic), and what could be read is in the tree.

pub mod ast;
mod format;
mod parser;
mod token;

pub use crate::diagnostics::Span;
pub use format::format;
pub use parser::{Parsed, parse};

/// Returns line and column, both from 1, of byte `offset` in `source`.
pub fn line_column(source: &str, offset: usize) -> (usize, usize) {
    let before = &source.as_bytes()[..offset.min(source.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = before.split(|byte| *byte == b'\n').count();
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    (line, column)
}
