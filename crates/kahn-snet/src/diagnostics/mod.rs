//! Errors as data: a code, a place, a message for people, and what to do about it.
//!
//! Every phase of the front end pushes [`Diagnostic`]s and goes on; nothing is printed here.
//! [`catalogue`] is the one table of codes, `render` the one adapter to the renderer.

pub mod catalogue;
mod render;
mod span;
mod suggest;

pub use catalogue::{Code, Severity};
pub use render::render;
pub use span::Span;
pub(crate) use suggest::closest;

/// Says what is wrong with a program, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of mistake; see [`catalogue`].
    pub code: Code,
    /// The place in the source.
    pub span: Span,
    /// The sentence behind the code.
    pub message: String,
    /// The words under the place.
    pub label: String,
    /// Other places that belong to it, each with its words.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// Creates a diagnostic with a message and the words under its place.
    pub fn new(
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        let (message, label) = (message.into(), label.into());
        Self { code, span, message, label, related: Vec::new(), help: Vec::new() }
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds "did you mean" if a known word is close to the one written.
    #[must_use]
    pub fn did_you_mean<'a>(
        self,
        written: &str,
        known: impl IntoIterator<Item = &'a str>,
        show: impl Fn(&str) -> String,
    ) -> Self {
        match closest(written, known) {
            Some(word) => {
                let help = format!("did you mean `{}`?", show(word));
                self.help(help)
            }
            None => self,
        }
    }

    /// Adds a second place.
    #[must_use]
    pub fn related(mut self, span: Span, words: impl Into<String>) -> Self {
        self.related.push((span, words.into()));
        self
    }

    /// Tells whether the program may still run.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// Tells whether one of `diagnostics` forbids running the program.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error)
}
