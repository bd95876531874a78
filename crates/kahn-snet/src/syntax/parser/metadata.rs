//! Metadata: a small XML text between `<metadata>` and `</metadata>`.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::Parser;
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::Span;
use crate::syntax::ast::{Metadata, MetadataEntry, Place, Subject};

/// The subjects that are open, and the key that is.
struct Open {
    entries: Vec<MetadataEntry>,
    done: Vec<MetadataEntry>,
    key: Option<(String, String)>,
}

impl Parser<'_> {
    /// Reads the metadata token at `span`.
    pub(super) fn metadata(&mut self, span: Span) -> Metadata {
        let text = self.text(span).to_owned();
        let mut open = Open { entries: Vec::new(), done: Vec::new(), key: None };
        let inner = text
            .strip_prefix("<metadata>")
            .and_then(|rest| rest.strip_suffix("</metadata>"))
            .unwrap_or_default();
        let base = span.start + "<metadata>".len();
        let mut reader = Reader::from_str(inner);
        reader.config_mut().trim_text(true);
        loop {
            let from = position(&reader);
            let event = reader.read_event();
            let place = Span::new(base + from, base + position(&reader).max(from));
            let problem = match event {
                Ok(Event::Eof) => break,
                Ok(Event::Start(tag)) => open.start(&tag, place),
                Ok(Event::Empty(tag)) => open.start(&tag, place).or_else(|| {
                    open.end();
                    None
                }),
                Ok(Event::End(_)) => {
                    open.end();
                    None
                }
                Ok(Event::Text(words)) => {
                    if let Some((_, value)) = &mut open.key {
                        value.push_str(&words);
                    }
                    None
                }
                Ok(_) => None,
                Err(error) => {
                    self.bad_metadata(place, &error.to_string());
                    break;
                }
            };
            if let Some(problem) = problem {
                self.bad_metadata(place, &problem);
                break;
            }
        }
        while !open.entries.is_empty() {
            open.key = None;
            open.end();
        }
        open.done.sort_by_key(|entry| entry.at.0);
        Metadata { entries: open.done, text, at: Place(span) }
    }

    fn bad_metadata(&mut self, span: Span, problem: &str) {
        let error = Diagnostic::new(Code::BadMetadata, span, problem, "here");
        self.errors.push(error.help(
            "metadata is `<default>`, `<boxdefault>`, `<netdefault>`, `<box name=\"…\">` or \
             `<net name=\"…\">` with keys like `<interface value=\"C\" />` inside",
        ));
    }
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

impl Open {
    fn start(&mut self, tag: &BytesStart<'_>, place: Span) -> Option<String> {
        let name = tag.name().as_ref().to_owned();
        let attribute = |wanted: &str| {
            tag.attributes()
                .flatten()
                .find(|found| found.key.as_ref() == wanted)
                .map(|found| found.value.clone().into_owned())
        };
        if self.key.is_some() {
            return Some(format!("`<{name}>` stands inside a key"));
        }
        let named = || attribute("name").ok_or_else(|| format!("`<{name}>` has no `name=\"…\"`"));
        let subject = match name.as_str() {
            "default" => Ok(Subject::Default),
            "boxdefault" => Ok(Subject::Boxes),
            "netdefault" => Ok(Subject::Nets),
            "box" => named().map(|path| Subject::Box(self.inside(&path))),
            "net" => named().map(|path| Subject::Net(self.inside(&path))),
            _ if self.entries.is_empty() => Err(format!("`<{name}>` says nothing about anything")),
            _ => {
                self.key = Some((name, attribute("value").unwrap_or_default()));
                return None;
            }
        };
        match subject {
            Ok(subject) => {
                let entry = MetadataEntry { subject, keys: Vec::new(), at: Place(place) };
                self.entries.push(entry);
                None
            }
            Err(problem) => Some(problem),
        }
    }

    /// The path of a component named inside the open net.
    fn inside(&self, path: &str) -> String {
        match self.entries.last().map(|entry| &entry.subject) {
            Some(Subject::Net(outer)) => format!("{outer}/{path}"),
            _ => path.to_owned(),
        }
    }

    fn end(&mut self) {
        if let Some(key) = self.key.take() {
            if let Some(entry) = self.entries.last_mut() {
                entry.keys.push(key);
            }
        } else if let Some(entry) = self.entries.pop() {
            self.done.push(entry);
        }
    }
}
