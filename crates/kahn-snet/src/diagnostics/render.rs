//! Diagnostics as text, by the renderer of rustc.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::Span;
use super::{Diagnostic, Severity};

/// Renders `diagnostic` with the lines of `source` it speaks of.
///
/// # Examples
///
/// ```
/// let parsed = kahn_snet::syntax::parse("net main connect a ..;");
/// let text = kahn_snet::diagnostics::render(&parsed.diagnostics[0], "main.snet",
///     "net main connect a ..;", false);
/// assert!(text.contains("error[E002]") && text.contains("main.snet:1:22"));
/// ```
pub fn render(diagnostic: &Diagnostic, path: &str, source: &str, colour: bool) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut snippet = Snippet::source(source).path(path).line_start(1).annotation(
        AnnotationKind::Primary.span(clip(diagnostic.span, source)).label(&diagnostic.label),
    );
    for (span, words) in &diagnostic.related {
        let range = clip(*span, source);
        snippet = snippet.annotation(AnnotationKind::Context.span(range).label(words));
    }
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code.id());
    let mut group = title.element(snippet);
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

/// The span as a range that lies on character boundaries inside `source`.
fn clip(span: Span, source: &str) -> std::ops::Range<usize> {
    let mut start = span.start.min(source.len());
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, source.len());
    while !source.is_char_boundary(end) {
        end += 1;
    }
    start..end
}
