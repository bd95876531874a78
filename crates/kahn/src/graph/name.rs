//! Names of processes and channels: cheap to copy, readable in every message.

use std::fmt;
use std::sync::Arc;

/// The name of a process or a channel.
///
/// Made from a `&'static str`, which costs nothing, or from a `String`.
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
#[derive(Clone)]
pub struct Name(Text);

#[derive(Clone)]
enum Text {
    Fixed(&'static str),
    Made(Arc<str>),
}

impl Name {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Fixed(text) => text,
            Text::Made(text) => text,
        }
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self(Text::Fixed(text))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(Text::Made(text.into()))
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

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
