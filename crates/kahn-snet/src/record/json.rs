//! Records as lines of JSON.

use std::collections::btree_map::Entry;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::marker::PhantomData;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{CType, Group, ReadError, Record, Value, WriteError};

/// Reads a record a line; empty lines are passed over.
#[derive(Debug)]
pub struct JsonReader<R> {
    input: R,
    line: usize,
    buffer: Vec<u8>,
    labels: Labels,
}

/// The labels that were met: all records share their names.
#[derive(Debug, Default)]
struct Labels(HashSet<Arc<str>, FixedState>);

impl Labels {
    /// The name of a label; none if no program could have it.
    fn get(&mut self, name: &str) -> Option<Arc<str>> {
        if let Some(known) = self.0.get(name) {
            return Some(Arc::clone(known));
        }
        let new: Arc<str> = is_label(name).then(|| name.into())?;
        self.0.insert(Arc::clone(&new));
        Some(new)
    }
}

impl<R: BufRead> JsonReader<R> {
    /// Creates a reader.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::{JsonReader, Record};
    ///
    /// let mut reader = JsonReader::new("{\"fields\":{\"a\":1}}\n".as_bytes());
    /// assert_eq!(reader.next(), Some(Ok(Record::new().field("a", 1))));
    /// ```
    pub fn new(input: R) -> Self {
        Self { input, line: 0, buffer: Vec::new(), labels: Labels::default() }
    }
}

impl<R: io::Read> JsonReader<io::BufReader<R>> {
    /// Returns whether a whole line was read ahead.
    pub fn has_line(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }
}

impl<R: BufRead> Iterator for JsonReader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.buffer.clear();
            self.line += 1;
            match self.input.read_until(b'\n', &mut self.buffer) {
                Ok(0) => return None,
                Ok(_) if self.buffer.trim_ascii().is_empty() => {}
                Ok(_) => return Some(read_with(&mut self.labels, &self.buffer, self.line)),
                Err(error) => {
                    let problem = format!("the input cannot be read: {error}");
                    return Some(Err(ReadError { line: self.line, column: 1, problem }));
                }
            }
        }
    }
}

/// Reads one line.
pub(super) fn read(bytes: &[u8], line: usize) -> Result<Record, ReadError> {
    read_with(&mut Labels::default(), bytes, line)
}

fn read_with(labels: &mut Labels, bytes: &[u8], line: usize) -> Result<Record, ReadError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let record = RecordSeed(labels).deserialize(&mut deserializer);
    let whole = record.and_then(|record| deserializer.end().map(|()| record));
    whole.map_err(|error| {
        let text = error.to_string();
        let problem = text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]).to_owned();
        // A line has no second line, so an error beyond its end is one at its end.
        let end = bytes.trim_ascii_end().len() + 1;
        let column = if error.line() > 1 { end } else { error.column().clamp(1, end) };
        ReadError { line, column, problem }
    })
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RecordSeed(&mut Labels::default()).deserialize(deserializer)
    }
}

struct RecordSeed<'l>(&'l mut Labels);

impl<'de> DeserializeSeed<'de> for RecordSeed<'_> {
    type Value = Record;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Record, D::Error> {
        deserializer.deserialize_map(self)
    }
}

/// A name, which `of` sees where it stands.
struct Named<F>(F);

impl<'de, T, F: FnOnce(&str) -> Result<T, String>> DeserializeSeed<'de> for Named<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> Result<T, String>> Visitor<'_> for Named<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        (self.0)(name).map_err(E::custom)
    }
}

/// The names of the groups.
const GROUPS: [&str; 3] = ["fields", "tags", "btags"];

impl<'de> Visitor<'de> for RecordSeed<'_> {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record: an object with `fields`, `tags` and `btags`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let mut record = Record::new();
        let mut seen = [false; 3];
        let mut group = |name: &str| {
            let Some(index) = GROUPS.iter().position(|known| *known == name) else {
                let expected = "expected `fields`, `tags` or `btags`";
                return Err(format!("unknown group `{name}`, {expected}"));
            };
            let twice = std::mem::replace(&mut seen[index], true);
            if twice { Err(format!("the group `{name}` occurs twice")) } else { Ok(index) }
        };
        while let Some(index) = map.next_key_seed(Named(&mut group))? {
            match index {
                0 => record.fields = map.next_value_seed(Once::<Value, _>::of(self.0))?,
                1 => record.tags = map.next_value_seed(Once::<Tag, _>::of(self.0))?,
                _ => record.btags = map.next_value_seed(Once::<Tag, _>::of(self.0))?,
            }
        }
        Ok(record)
    }
}

/// A group whose labels occur once; what is read as `T` is kept as `V`.
struct Once<'l, T, V>(&'l mut Labels, PhantomData<(T, V)>);

impl<'l, T, V> Once<'l, T, V> {
    fn of(labels: &'l mut Labels) -> Self {
        Self(labels, PhantomData)
    }
}

struct Tag(i64);

impl From<Tag> for i64 {
    fn from(tag: Tag) -> Self {
        tag.0
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TagVisitor;
        impl Visitor<'_> for TagVisitor {
            type Value = Tag;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a signed 64-bit integer")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Tag, E> {
                Ok(Tag(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Tag, E> {
                i64::try_from(value).map(Tag).map_err(|_| too_large(value))
            }
        }
        deserializer.deserialize_i64(TagVisitor)
    }
}

fn too_large<E: Error>(value: u64) -> E {
    E::custom(format!("{value} does not fit a signed 64-bit integer"))
}

impl<'de, T: Deserialize<'de>, V: From<T>> DeserializeSeed<'de> for Once<'_, T, V> {
    type Value = Group<V>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Group<V>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>, V: From<T>> Visitor<'de> for Once<'_, T, V> {
    type Value = Group<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of labels with their values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Group<V>, A::Error> {
        let mut group = Group::new();
        let mut label = |name: &str| {
            let label = self.0.get(name);
            label.ok_or_else(|| format!("`{name}` is no label: letters, digits and `_`"))
        };
        while let Some(name) = map.next_key_seed(Named(&mut label))? {
            let value: T = map.next_value()?;
            match group.entry(name) {
                Entry::Vacant(place) => place.insert(value.into()),
                Entry::Occupied(place) => {
                    let problem = format!("the label `{}` occurs twice", place.key());
                    return Err(A::Error::custom(problem));
                }
            };
        }
        Ok(group)
    }
}

/// Whether a program could name it.
pub(super) fn is_label(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, a number, a string, an array or an object")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value).map(Value::Integer).map_err(|_| too_large(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut values: Vec<Value> = Vec::new();
        while let Some(value) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = std::collections::BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let value: Value = map.next_value()?;
            match object.entry(name) {
                Entry::Vacant(place) => place.insert(value),
                Entry::Occupied(place) => {
                    let problem = format!("the key `{}` occurs twice", place.key());
                    return Err(A::Error::custom(problem));
                }
            };
        }
        let special = object.keys().next().filter(|key| key.starts_with('$'));
        match (special.map(String::as_str), object.len(), object.values().next()) {
            (Some("$bytes"), 1, Some(Value::Text(text))) => {
                let bytes = STANDARD.decode(text.as_bytes());
                let bytes = bytes.map_err(|e| A::Error::custom(format!("no base64: {e}")))?;
                Ok(Value::Bytes(bytes.into()))
            }
            (Some("$real"), 1, Some(Value::Text(text))) => match &**text {
                "NaN" => Ok(Value::Real(f64::NAN)),
                "Infinity" => Ok(Value::Real(f64::INFINITY)),
                "-Infinity" => Ok(Value::Real(f64::NEG_INFINITY)),
                _ => Err(A::Error::custom("expected \"NaN\", \"Infinity\" or \"-Infinity\"")),
            },
            (Some(key @ ("$bytes" | "$real")), ..) => {
                Err(A::Error::custom(format!("`{key}` stands alone in an object, with a string")))
            }
            _ => Ok(Value::Object(Arc::new(object))),
        }
    }
}

/// Writes a record as one line.
///
/// # Errors
/// Returns an error if the output fails, or if a field is opaque.
pub fn write_json(record: &Record, output: &mut impl Write) -> Result<(), WriteError> {
    let mut line = Vec::with_capacity(64);
    append(record, &mut line)?;
    Ok(output.write_all(&line)?)
}

/// Appends a record as one line, or nothing.
pub(super) fn append(record: &Record, line: &mut Vec<u8>) -> Result<(), WriteError> {
    for (field, value) in &record.fields {
        if let Some(type_name) = opaque_in(value) {
            return Err(WriteError::Opaque { field: field.to_string(), type_name });
        }
    }
    write_lossy(record, line);
    line.push(b'\n');
    Ok(())
}

/// The type of a value inside that cannot be written.
pub(super) fn opaque_in(value: &Value) -> Option<&'static str> {
    match value {
        Value::Opaque(opaque) => Some(opaque.type_name),
        Value::C(data) if matches!(data.of, CType::Pointer | CType::LongDouble) => {
            Some(data.of.name())
        }
        Value::Array(values) => values.iter().find_map(opaque_in),
        Value::Object(object) => object.values().find_map(opaque_in),
        _ => None,
    }
}

pub(super) fn write_lossy(record: &Record, line: &mut Vec<u8>) {
    // Writing to memory fails for no value that we make.
    let _ = serde_json::to_writer(line, record);
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.fields.is_empty() {
            map.serialize_entry("fields", &Shown(&self.fields))?;
        }
        if !self.tags.is_empty() {
            map.serialize_entry("tags", &Shown(&self.tags))?;
        }
        if !self.btags.is_empty() {
            map.serialize_entry("btags", &Shown(&self.btags))?;
        }
        map.end()
    }
}

struct Shown<'a, V>(&'a Group<V>);

impl<V: Serialize> Serialize for Shown<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (&**name, value)))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tagged = |serializer: S, key: &str, text: &str| {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(key, text)?;
            map.end()
        };
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Real(value) if value.is_nan() => tagged(serializer, "$real", "NaN"),
            Self::Real(value) if value.is_infinite() => {
                let text = if *value > 0.0 { "Infinity" } else { "-Infinity" };
                tagged(serializer, "$real", text)
            }
            Self::Real(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(values) => serializer.collect_seq(values.iter()),
            Self::Bytes(bytes) => tagged(serializer, "$bytes", &STANDARD.encode(bytes)),
            Self::Object(object) => serializer.collect_map(object.iter()),
            Self::C(data) => {
                let numbers = data.texts().into_iter().map(|text| {
                    let real = text.parse().map_or(Self::Null, Self::Real);
                    text.parse().map_or(real, Self::Integer)
                });
                let numbers: Vec<Self> = numbers.collect();
                match (data.array, numbers.as_slice()) {
                    (false, [one]) => one.serialize(serializer),
                    _ => serializer.collect_seq(&numbers),
                }
            }
            Self::Opaque(opaque) => tagged(serializer, "$opaque", opaque.type_name),
        }
    }
}
