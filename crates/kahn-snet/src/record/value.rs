//! The values of fields.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::CData;

/// The value of a field; cheap to copy.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A string.
    Text(Arc<str>),
    /// Values in order.
    Array(Arc<[Self]>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// Values with names.
    Object(Arc<BTreeMap<String, Self>>),
    /// Data of a C type that has no other form here.
    C(Arc<CData>),
    /// A Rust value that lives inside the program only.
    Opaque(Opaque),
}

impl Value {
    /// Creates a value that only Rust boxes can look into.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::Value;
    /// let value = Value::opaque(vec![1.0_f64; 4]);
    /// assert_eq!(value.downcast::<Vec<f64>>().unwrap().len(), 4);
    /// ```
    pub fn opaque<T: Any + Send + Sync>(value: T) -> Self {
        Self::Opaque(Opaque { value: Arc::new(value), type_name: std::any::type_name::<T>() })
    }

    /// Returns an opaque value if it has this type.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::Value;
    ///
    /// let value = Value::opaque(String::from("tea"));
    /// assert_eq!(*value.downcast::<String>().unwrap(), "tea");
    /// assert!(value.downcast::<u8>().is_none());
    /// ```
    pub fn downcast<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        match self {
            Self::Opaque(opaque) => Arc::clone(&opaque.value).downcast().ok(),
            _ => None,
        }
    }

    /// Says in a word what it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::record::Value;
    ///
    /// assert_eq!(Value::from(5).kind(), "an integer");
    /// ```
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Bytes(_) => "bytes",
            Self::Object(_) => "an object",
            Self::C(_) => "C data",
            Self::Opaque(opaque) => opaque.type_name,
        }
    }
}

/// A Rust value behind a reference count; equal only to itself.
#[derive(Clone)]
pub struct Opaque {
    value: Arc<dyn Any + Send + Sync>,
    pub(super) type_name: &'static str,
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Opaque").field(&self.type_name).finish()
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }
}
