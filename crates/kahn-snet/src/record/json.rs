//! Records as lines of JSON.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{CType, Group, ReadError, Record, Value, WriteError};

/// Reads a record a line; empty lines are passed over.
#[derive(Debug)]
pub struct JsonReader<R> {
    input: R,
    line: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> JsonReader<R> {
    /// Creates a reader.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, buffer: Vec::new() }
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
                Ok(_) => return Some(read(&self.buffer, self.line)),
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
    serde_json::from_slice::<Record>(bytes).map_err(|error| {
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
        deserializer.deserialize_map(RecordVisitor)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record: an object with `fields`, `tags` and `btags`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let mut record = Record::new();
        let mut seen = [false; 3];
        while let Some(group) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let index = match &*group {
                "fields" => 0,
                "tags" => 1,
                "btags" => 2,
                _ => {
                    let expected = "expected `fields`, `tags` or `btags`";
                    return Err(A::Error::custom(format!("unknown group `{group}`, {expected}")));
                }
            };
            if std::mem::replace(&mut seen[index], true) {
                return Err(A::Error::custom(format!("the group `{group}` occurs twice")));
            }
            match index {
                0 => record.fields = map.next_value::<Once<Value>>()?.0,
                1 => record.tags = map.next_value::<Once<Tag>>()?.values(),
                _ => record.btags = map.next_value::<Once<Tag>>()?.values(),
            }
        }
        Ok(record)
    }
}

/// A group whose labels occur once.
struct Once<V>(Group<V>);

impl Once<Tag> {
    fn values(self) -> Group<i64> {
        self.0.into_iter().map(|(name, tag)| (name, tag.0)).collect()
    }
}

struct Tag(i64);

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

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Once<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct GroupVisitor<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for GroupVisitor<V> {
            type Value = Once<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of labels with their values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once<V>, A::Error> {
                let mut group = Group::new();
                while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    if !is_label(&name) {
                        let problem = format!("`{name}` is no label: letters, digits and `_`");
                        return Err(A::Error::custom(problem));
                    }
                    let value = map.next_value()?;
                    if group.insert(Arc::from(&*name), value).is_some() {
                        return Err(A::Error::custom(format!("the label `{name}` occurs twice")));
                    }
                }
                Ok(Once(group))
            }
        }
        deserializer.deserialize_map(GroupVisitor(std::marker::PhantomData))
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
            if object.insert(name.clone(), value).is_some() {
                return Err(A::Error::custom(format!("the key `{name}` occurs twice")));
            }
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
    for (field, value) in &record.fields {
        if let Some(type_name) = opaque_in(value) {
            return Err(WriteError::Opaque { field: field.to_string(), type_name });
        }
    }
    let mut line = Vec::with_capacity(64);
    write_lossy(record, &mut line);
    line.push(b'\n');
    Ok(output.write_all(&line)?)
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
