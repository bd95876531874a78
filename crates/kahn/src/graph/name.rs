//! Names of processes and channels: cheap to copy, readable in every message.

use smol_str::SmolStr;
use std::fmt;

/// The name of a process or a channel.
///
/// Made from a `&'static str` or a short `String` without a place on the heap.
///
/// # Examples
///
/// ```
/// use kahn::Name;
///
/// let fixed = Name::from("split");
/// let made = Name::from(format!("count {}", 3));
/// assert_eq!(format!("{fixed}, {made}"), "split, count 3");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(SmolStr);

impl Name {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self(SmolStr::new_static(text))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
