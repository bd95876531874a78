//! Records as elements of XML, as the runtimes of the old implementation read and write them.
//!
//! Integers are `(int)5` or `(long)5`, reals `(double)1.5`, arrays of either `(int[3])1,2,3`, and
//! strings `(char[5])hello`. Other C types are kept as such. The binary mode is not read.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{BufRead, Read, Write};
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{CData, CType, ReadError, Record, Value, WriteError, json};
use crate::syntax::ast::LabelKind;

/// Reads records from a stream of XML elements.
#[derive(Debug)]
pub struct XmlReader<R> {
    reader: Reader<Lines<R>>,
    buffer: Vec<u8>,
    ended: bool,
}

/// Remembers where lines began.
#[derive(Debug)]
struct Lines<R> {
    input: R,
    offset: u64,
    /// The last lines: number and first byte.
    starts: VecDeque<(usize, u64)>,
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Lines<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // What is consumed was filled before, so this reads nothing.
        if let Ok(bytes) = self.input.fill_buf() {
            for (index, byte) in bytes.iter().take(count).enumerate() {
                if *byte == b'\n' {
                    let line = self.starts.back().map_or(1, |(line, _)| line + 1);
                    self.starts.push_back((line, self.offset + index as u64 + 1));
                    if self.starts.len() > 10_000 {
                        self.starts.pop_front();
                    }
                }
            }
        }
        self.offset += count as u64;
        self.input.consume(count);
    }
}

impl<R: BufRead> XmlReader<R> {
    /// Creates a reader.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::{Record, XmlReader};
    ///
    /// let input = r#"<record xmlns="snet-home.org" type="data" mode="textual" interface="C4SNet">
    ///     <tag label="n">7</tag></record>"#;
    /// let mut reader = XmlReader::new(input.as_bytes());
    /// assert_eq!(reader.next(), Some(Ok(Record::new().tag("n", 7))));
    /// ```
    pub fn new(input: R) -> Self {
        let lines = Lines { input, offset: 0, starts: VecDeque::from([(1, 0)]) };
        Self { reader: Reader::from_reader(lines), buffer: Vec::new(), ended: false }
    }

    fn error(&self, at: u64, problem: impl Into<String>) -> ReadError {
        let starts = &self.reader.get_ref().starts;
        let (line, start) =
            starts.iter().rev().find(|(_, start)| *start <= at).copied().unwrap_or((1, 0));
        let column = usize::try_from(at.saturating_sub(start)).unwrap_or(0) + 1;
        ReadError { line, column, problem: problem.into() }
    }

    fn event(&mut self) -> Result<(u64, Event<'static>), ReadError> {
        self.buffer.clear();
        let at = self.reader.buffer_position();
        match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => Ok((at, event.into_owned())),
            Err(error) => {
                let at = self.reader.error_position();
                Err(self.error(at, error.to_string()))
            }
        }
    }

    /// The next record; none at the terminate record or the end.
    fn record(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            match self.event()? {
                (_, Event::Eof) => return Ok(None),
                (at, Event::Start(tag)) => return self.content(at, &tag),
                (at, Event::Empty(tag)) => {
                    return Ok(self.is_data(at, &tag)?.then(Record::new));
                }
                // Junk between records is passed over.
                _ => {}
            }
        }
    }

    /// Whether the element is a data record rather than the last.
    fn is_data(&self, at: u64, tag: &BytesStart<'_>) -> Result<bool, ReadError> {
        let name = tag.name().as_ref().to_owned();
        if name != "record" {
            let problem = format!("expected `<record>`, found `<{name}>`");
            return Err(self.error(at, problem));
        }
        if let Some(space) = attribute(tag, "xmlns")
            && space != "snet-home.org"
        {
            let problem = format!("expected the namespace `snet-home.org`, found `{space}`");
            return Err(self.error(at, problem));
        }
        if attribute(tag, "mode").is_some_and(|mode| mode == "binary") {
            return Err(self.error(at, "binary records are not read: expected mode=\"textual\""));
        }
        match attribute(tag, "type").as_deref() {
            Some("terminate") => Ok(false),
            None | Some("data") => Ok(true),
            Some(other) => {
                let problem = format!("expected type `data` or `terminate`, found `{other}`");
                Err(self.error(at, problem))
            }
        }
    }

    fn content(&mut self, at: u64, tag: &BytesStart<'_>) -> Result<Option<Record>, ReadError> {
        let data = self.is_data(at, tag)?;
        let mut record = Record::new();
        loop {
            match self.event()? {
                (at, Event::Eof) => {
                    return Err(self.error(at, "expected `</record>`, found the end of the input"));
                }
                (_, Event::End(_)) => return Ok(data.then_some(record)),
                (at, Event::Start(tag)) => {
                    let (kind, name) = self.label(at, &tag)?;
                    let text = self.text()?;
                    self.insert(&mut record, at, kind, &name, &text)?;
                }
                (at, Event::Empty(tag)) => {
                    let (kind, name) = self.label(at, &tag)?;
                    self.insert(&mut record, at, kind, &name, "")?;
                }
                (at, Event::Text(text)) if !text.trim().is_empty() => {
                    let problem = "expected `<field>`, `<tag>` or `<btag>`, found text";
                    return Err(self.error(at, problem));
                }
                _ => {}
            }
        }
    }

    fn label(&self, at: u64, tag: &BytesStart<'_>) -> Result<(LabelKind, String), ReadError> {
        let kind = match tag.name().as_ref() {
            "field" => LabelKind::Field,
            "tag" => LabelKind::Tag,
            "btag" => LabelKind::BindingTag,
            other => {
                let problem = format!("expected `<field>`, `<tag>` or `<btag>`, found `<{other}>`");
                return Err(self.error(at, problem));
            }
        };
        match attribute(tag, "label") {
            Some(name) if json::is_label(&name) => Ok((kind, name)),
            Some(name) => Err(self.error(at, format!("`{name}` is no label"))),
            None => Err(self.error(at, "expected `label=\"…\"`")),
        }
    }

    /// The text up to the closing tag.
    fn text(&mut self) -> Result<String, ReadError> {
        let mut text = String::new();
        loop {
            match self.event()? {
                (_, Event::Text(part)) => text.push_str(&part),
                (_, Event::CData(part)) => text.push_str(&part),
                (at, Event::GeneralRef(reference)) => {
                    let character = match &*reference {
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "amp" => Some('&'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => reference.resolve_char_ref().ok().flatten(),
                    };
                    let problem = format!("unknown reference `&{};`", &*reference);
                    text.push(character.ok_or_else(|| self.error(at, problem))?);
                }
                (_, Event::End(_)) => return Ok(text),
                (_, Event::Comment(_)) => {}
                (at, _) => return Err(self.error(at, "expected text and the closing tag")),
            }
        }
    }

    fn insert(
        &self,
        record: &mut Record,
        at: u64,
        kind: LabelKind,
        name: &str,
        text: &str,
    ) -> Result<(), ReadError> {
        let twice = match kind {
            LabelKind::Field => {
                let value = value(text).map_err(|problem| self.error(at, problem))?;
                record.fields.insert(name.into(), value).is_some()
            }
            LabelKind::Tag | LabelKind::BindingTag => {
                let text = text.trim();
                let number = if text.is_empty() { Ok(0) } else { text.parse() };
                let number = number.map_err(|_| {
                    let problem = format!("expected a signed 64-bit integer, found `{text}`");
                    self.error(at, problem)
                })?;
                let tags =
                    if kind == LabelKind::Tag { &mut record.tags } else { &mut record.btags };
                tags.insert(name.into(), number).is_some()
            }
        };
        if twice {
            return Err(self.error(at, format!("the label `{name}` occurs twice")));
        }
        Ok(())
    }
}

impl<R: BufRead> Iterator for XmlReader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let result = self.record().transpose();
        self.ended = !matches!(result, Some(Ok(_)));
        result
    }
}

fn attribute(tag: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut all = tag.attributes().flatten();
    all.find(|found| found.key.as_ref() == wanted).map(|found| found.value.into_owned())
}

/// Reads `(int)5`, `(double[2])1,2.5` or `(char[3])abc`.
fn value(text: &str) -> Result<Value, String> {
    let expected = "expected a value like `(int)5`, `(double[2])1,2.5` or `(char[3])abc`";
    let wrong = || format!("{expected}, found `{}`", text.trim());
    let (head, data) = text
        .trim_start()
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .ok_or_else(wrong)?;
    let (name, count) = match head.split_once('[') {
        None => (head.trim(), None),
        Some((name, count)) => {
            let count = count.trim_end().strip_suffix(']').ok_or_else(wrong)?;
            (name.trim(), Some(count.trim().parse::<usize>().map_err(|_| wrong())?))
        }
    };
    let of =
        CType::from_name(name).ok_or_else(|| format!("`{name}` is no type of C; {expected}"))?;
    if of == CType::Char
        && let Some(count) = count
    {
        let found = data.len();
        return if found == count {
            Ok(Value::from(data))
        } else {
            Err(format!("expected {count} bytes, found {found}"))
        };
    }
    let parts: Vec<&str> = match data.trim() {
        "" => Vec::new(),
        data => data.split(',').map(str::trim).collect(),
    };
    let wanted = count.unwrap_or(1);
    if parts.len() != wanted {
        return Err(format!("expected {wanted} values of {name}, found {}", parts.len()));
    }
    let bad = |part: &str| format!("expected a value of {name}, found `{part}`");
    let parse = |part: &&str| match of {
        CType::Int => part.parse::<i32>().map(Value::from).map_err(|_| bad(part)),
        CType::Long => part.parse::<i64>().map(Value::from).map_err(|_| bad(part)),
        CType::Double => part.parse::<f64>().map(Value::from).map_err(|_| bad(part)),
        _ => Err(bad(part)),
    };
    if matches!(of, CType::Int | CType::Long | CType::Double) {
        let values: Vec<Value> = parts.iter().map(parse).collect::<Result<_, _>>()?;
        return Ok(match count {
            None => values.into_iter().next().unwrap_or_default(),
            Some(_) => Value::Array(values.into()),
        });
    }
    let mut bytes = Vec::new();
    for part in parts {
        let one = match (of, part.as_bytes()) {
            // A single char is a character, as C prints it.
            (CType::Char | CType::UnsignedChar, [byte]) if count.is_none() => vec![*byte],
            _ => CData::bytes_of(of, part).ok_or_else(|| bad(part))?,
        };
        bytes.extend(one);
    }
    if of == CType::UnsignedChar && count.is_some() {
        return Ok(Value::Bytes(bytes.into()));
    }
    Ok(Value::C(Arc::new(CData { of, array: count.is_some(), bytes })))
}

/// Writes a record as an element.
///
/// # Errors
/// Returns an error if the output fails, or if a field has no form in XML.
pub fn write_xml(record: &Record, output: &mut impl Write) -> Result<(), WriteError> {
    let mut text = String::from(
        "<record xmlns=\"snet-home.org\" type=\"data\" mode=\"textual\" interface=\"C4SNet\">\n",
    );
    for (field, value) in &record.fields {
        let content = write_value(value).ok_or_else(|| match json::opaque_in(value) {
            Some(type_name) => WriteError::Opaque { field: field.to_string(), type_name },
            None => WriteError::NoForm { field: field.to_string(), what: value.kind() },
        })?;
        let content = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(text, "  <field label=\"{field}\">{content}</field>");
    }
    for (tag, value) in &record.tags {
        let _ = writeln!(text, "  <tag label=\"{tag}\">{value}</tag>");
    }
    for (tag, value) in &record.btags {
        let _ = writeln!(text, "  <btag label=\"{tag}\">{value}</btag>");
    }
    text.push_str("</record>\n");
    Ok(output.write_all(text.as_bytes())?)
}

/// The shortest text that C reads as this number; very large and very small ones have an exponent.
fn real(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || !number.is_finite() || (1e-5..1e17).contains(&size) {
        return number.to_string();
    }
    format!("{number:e}")
}

fn write_value(value: &Value) -> Option<String> {
    let integer = |value: i64| if i32::try_from(value).is_ok() { "int" } else { "long" };
    Some(match value {
        Value::Integer(number) => format!("({}){number}", integer(*number)),
        Value::Real(number) => format!("(double){}", real(*number)),
        Value::Text(text) => format!("(char[{}]){text}", text.len()),
        Value::Bytes(bytes) => {
            let list: Vec<String> = bytes.iter().map(ToString::to_string).collect();
            format!("(unsigned char[{}]){}", bytes.len(), list.join(","))
        }
        Value::C(data) if json::opaque_in(value).is_none() => {
            let count = if data.array { format!("[{}]", data.len()) } else { String::new() };
            format!("({}{count}){}", data.of.name(), data.texts().join(","))
        }
        Value::Array(values) => {
            let whole = values.iter().all(|value| matches!(value, Value::Integer(_)));
            let numbers = values.iter().map(|value| match value {
                Value::Integer(number) => Some(number.to_string()),
                Value::Real(number) => Some(real(*number)),
                _ => None,
            });
            let numbers: Vec<String> = numbers.collect::<Option<_>>()?;
            let large =
                |value: &Value| matches!(value, Value::Integer(n) if i32::try_from(*n).is_err());
            let of = match (whole, values.iter().any(large)) {
                (true, false) => "int",
                (true, true) => "long",
                (false, _) => "double",
            };
            format!("({of}[{}]){}", values.len(), numbers.join(","))
        }
        _ => return None,
    })
}
