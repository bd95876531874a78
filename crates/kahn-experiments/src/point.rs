//! A point of an experiment: parameters by name, in a fixed order.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number: workers, bytes, seconds.
    Number(f64),
    /// A name: a policy, a form of a program.
    Text(String),
}

impl Value {
    /// Orders numbers by size before texts by letters, as tables show them.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(float(number))
    }
}

/// Makes a figure of a count; figures are shown with three digits or four.
#[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
pub fn float(count: usize) -> f64 {
    count as f64
}

/// Writes a number of processors.
pub(crate) fn cpus(count: usize) -> String {
    format!("{count} CPU{}", if count == 1 { "" } else { "s" })
}

/// One combination of parameters at which something is measured.
///
/// All that decides the measurement is in it, also what is the same at every point: a point that
/// is measured with other parameters is another point.
///
/// ```
/// use kahn_experiments::Point;
///
/// let point = Point::new().and("policy", "ws-last").and("workers", 2);
/// assert_eq!(point.text("policy"), "ws-last");
/// assert_eq!(point.count("workers"), 2);
/// assert_eq!(point.to_string(), "policy ws-last, workers 2");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point(Vec<(String, Value)>);

impl Point {
    /// Starts with no parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// Makes a point of each value of one more parameter.
    ///
    /// ```
    /// use kahn_experiments::Point;
    ///
    /// let points = Point::new().and("size", 10).each("workers", [1, 2]);
    /// assert_eq!(points.len(), 2);
    /// ```
    pub fn each<V: Into<Value>>(
        &self,
        name: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Vec<Self> {
        values.into_iter().map(|value| self.clone().and(name, value)).collect()
    }

    /// Finds a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Gives a parameter that is a name.
    ///
    /// # Panics
    ///
    /// Panics if there is none: an error in the experiment.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(text)) => text,
            other => panic!("the point ({self}) has no text `{name}` but {other:?}"),
        }
    }

    /// Gives a parameter that is a number.
    ///
    /// # Panics
    ///
    /// Panics if there is none: an error in the experiment.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(number)) => *number,
            other => panic!("the point ({self}) has no number `{name}` but {other:?}"),
        }
    }

    /// Gives a parameter that counts something.
    ///
    /// # Panics
    ///
    /// Panics if there is none: an error in the experiment.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a count")]
    pub fn count(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    /// Gives the parameters in order.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Gives the point in the form in which it is kept and compared.
    pub fn key(&self) -> String {
        // Names, numbers and texts can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.parameters().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {value}")?;
        }
        Ok(())
    }
}
