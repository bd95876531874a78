//! Records, and how they are read and written.
//!
//! A record has fields, whose values S-Net never looks into, and tags and binding tags, which are
//! integers. Outside the program it is a line of JSON or an element of XML:
//!
//! ```text
//! {"fields":{"a":5,"m":[1.5,2]},"tags":{"n":3}}
//! ```

mod c_data;
mod json;
mod value;
mod xml;

pub use c_data::{CData, CType};
pub use json::{JsonReader, write_json};
pub use value::{Opaque, Value};
pub use xml::{XmlReader, write_xml};

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use crate::syntax::ast::LabelKind;
use crate::types::{Label, Variant};

/// The names of a group of labels with their values.
pub type Group<V> = BTreeMap<Arc<str>, V>;

/// A set of labels with values.
///
/// # Examples
///
/// ```
/// use kahn_snet::record::Record;
/// let record = Record::new().field("a", 5).tag("n", 3);
/// assert_eq!(record.to_string(), r#"{"fields":{"a":5},"tags":{"n":3}}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// The fields.
    pub fields: Group<Value>,
    /// The tags.
    pub tags: Group<i64>,
    /// The binding tags.
    pub btags: Group<i64>,
}

impl Record {
    /// Creates a record without labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::{Record, Value};
    ///
    /// let record = Record::new().field("a", 5).field("name", "tea");
    /// assert_eq!(record.fields["name"], Value::from("tea"));
    /// ```
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// Adds a tag.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::Record;
    ///
    /// let record = Record::new().tag("n", 3);
    /// assert_eq!(record.to_string(), r#"{"tags":{"n":3}}"#);
    /// ```
    #[must_use]
    pub fn tag(mut self, name: &str, value: i64) -> Self {
        self.tags.insert(name.into(), value);
        self
    }

    /// Adds a binding tag.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::Record;
    ///
    /// let record = Record::new().btag("b", 1);
    /// assert_eq!(record.to_string(), r#"{"btags":{"b":1}}"#);
    /// ```
    #[must_use]
    pub fn btag(mut self, name: &str, value: i64) -> Self {
        self.btags.insert(name.into(), value);
        self
    }

    /// Returns its labels.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::Record;
    ///
    /// let record = Record::new().field("a", 5).tag("n", 3).btag("b", 1);
    /// assert_eq!(record.variant().to_string(), "{a, <n>, <#b>}");
    /// ```
    pub fn variant(&self) -> Variant {
        let fields = self.fields.keys().map(|name| (LabelKind::Field, name));
        let tags = self.tags.keys().map(|name| (LabelKind::Tag, name));
        let btags = self.btags.keys().map(|name| (LabelKind::BindingTag, name));
        let all = fields.chain(tags).chain(btags);
        all.map(|(kind, name)| Label { kind, name: Arc::clone(name) }).collect()
    }
}

impl fmt::Display for Record {
    /// Writes the record as a line of JSON; opaque values by the name of their type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        json::write_lossy(self, &mut bytes);
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

impl std::str::FromStr for Record {
    type Err = ReadError;

    /// Reads a record from a line of JSON.
    fn from_str(text: &str) -> Result<Self, ReadError> {
        json::read(text.as_bytes(), 1)
    }
}

/// The forms of records outside a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// A line of JSON each.
    #[default]
    Json,
    /// An element of XML each, as the old runtimes read and wrote them.
    Xml,
}

/// Says where and why an input is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is there and what was expected.
    pub problem: String,
}

/// Reads records in either form.
#[derive(Debug)]
pub enum RecordReader<R> {
    /// Lines of JSON.
    Json(JsonReader<R>),
    /// Elements of XML.
    Xml(Box<XmlReader<R>>),
}

impl<R: BufRead> RecordReader<R> {
    /// Creates a reader.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::{Format, ReadError, Record, RecordReader};
    ///
    /// let input = "{\"tags\":{\"n\":1}}\n{\"tags\":{\"n\":2}}\n";
    /// let records: Result<Vec<Record>, ReadError> =
    ///     RecordReader::new(Format::Json, input.as_bytes()).collect();
    /// assert_eq!(records?[1], Record::new().tag("n", 2));
    /// # Ok::<(), ReadError>(())
    /// ```
    pub fn new(format: Format, input: R) -> Self {
        match format {
            Format::Json => Self::Json(JsonReader::new(input)),
            Format::Xml => Self::Xml(Box::new(XmlReader::new(input))),
        }
    }
}

impl<R: BufRead> Iterator for RecordReader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Json(reader) => reader.next(),
            Self::Xml(reader) => reader.next(),
        }
    }
}

/// A record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It holds a value that lives inside the program only.
    #[error("the field `{field}` holds a value of type {type_name}, which cannot be written")]
    Opaque {
        /// The field.
        field: String,
        /// The type of its value.
        type_name: &'static str,
    },
    /// The value has no form in this format.
    #[error("the field `{field}` has {what}, which has no form in XML; write JSON")]
    NoForm {
        /// The field.
        field: String,
        /// What it has.
        what: &'static str,
    },
    /// The output cannot be written to.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Appends a record in either form to those that are written together; nothing if it cannot be.
pub(crate) fn append(
    format: Format,
    record: &Record,
    bytes: &mut Vec<u8>,
) -> Result<(), WriteError> {
    match format {
        Format::Json => json::append(record, bytes),
        Format::Xml => write_xml(record, bytes),
    }
}

/// Writes a record in either form.
///
/// # Errors
/// Returns why the record cannot be written; then nothing of it was.
///
/// # Examples
///
/// ```
/// use kahn_snet::record::{Format, Record, WriteError, write};
///
/// let mut output = Vec::new();
/// write(Format::Json, &Record::new().tag("n", 1), &mut output)?;
/// assert_eq!(output, b"{\"tags\":{\"n\":1}}\n");
/// # Ok::<(), WriteError>(())
/// ```
pub fn write(format: Format, record: &Record, output: &mut impl Write) -> Result<(), WriteError> {
    match format {
        Format::Json => write_json(record, output),
        Format::Xml => write_xml(record, output),
    }
}
