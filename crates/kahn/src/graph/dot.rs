//! The picture of a network in the DOT language.

use std::fmt::Write;

/// How a vertex is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A process that the workers run.
    Process,
    /// A process on a thread of its own.
    Blocking,
    /// A party outside the network.
    Outside,
}

/// A vertex of the picture.
#[derive(Debug)]
pub(crate) struct Box {
    pub(crate) label: String,
    pub(crate) shape: Shape,
}

/// An edge of the picture, between indices of boxes.
#[derive(Debug)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) name: String,
    pub(crate) capacity: u32,
    pub(crate) initial: u64,
}

/// Draws a network as DOT: one box a process, one arrow a channel.
pub(crate) fn dot(boxes: &[Box], arrows: &[Arrow]) -> String {
    let mut text = String::from(
        "digraph network {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for (index, vertex) in boxes.iter().enumerate() {
        let style = match vertex.shape {
            Shape::Process => "",
            Shape::Blocking => ", peripheries=2",
            Shape::Outside => ", style=dashed",
        };
        let _ = writeln!(text, "  p{index} [label={}{style}];", quoted(&vertex.label));
    }
    for arrow in arrows {
        let more = match arrow.initial {
            0 => String::new(),
            initial => format!(", {initial} initial"),
        };
        let label = quoted(&format!("{}\n{}{more}", arrow.name, arrow.capacity));
        let _ = writeln!(text, "  p{} -> p{} [label={label}];", arrow.from, arrow.to);
    }
    text.push_str("}\n");
    text
}

/// Writes a DOT string: quotes and backslashes escaped, line ends as `\n`.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_quotes_are_escaped() {
        let boxes = [Box { label: "a \"b\"\\".into(), shape: Shape::Process }];
        assert!(dot(&boxes, &[]).contains(r#"p0 [label="a \"b\"\\"];"#));
    }
}
