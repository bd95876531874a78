//! Record types: labels, variants, and when a record fits.
//!
//! | word      | meaning                                                                      |
//! |-----------|------------------------------------------------------------------------------|
//! | variant   | a set of labels, as a record has them or a component asks for them           |
//! | fits      | the record has all fields and tags asked for, and *exactly* the binding tags |
//! | score     | how many fields and tags the largest variant has that a record fits          |
//! | inherited | fields and tags that a component does not consume and so passes on           |

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::syntax::ast::{self, LabelKind};

/// A label: its kind and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// Field, tag or binding tag.
    pub kind: LabelKind,
    /// The name.
    pub name: Arc<str>,
}

impl Label {
    /// Creates a label.
    pub fn new(kind: LabelKind, name: &str) -> Self {
        Self { kind, name: name.into() }
    }

    /// Returns whether components pass it on without naming it.
    pub fn is_inherited(&self) -> bool {
        self.kind != LabelKind::BindingTag
    }
}

impl From<&ast::WrittenLabel> for Label {
    fn from(label: &ast::WrittenLabel) -> Self {
        Self::new(label.kind, &label.name)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LabelKind::Field => write!(f, "{}", self.name),
            LabelKind::Tag => write!(f, "<{}>", self.name),
            LabelKind::BindingTag => write!(f, "<#{}>", self.name),
        }
    }
}

/// A set of labels.
///
/// # Examples
///
/// ```
/// use kahn_snet::types::Variant;
/// let record: Variant = "{a, b, <t>}".parse().unwrap();
/// assert!(record.fits(&"{a, <t>}".parse().unwrap()));
/// assert!(!record.fits(&"{c}".parse().unwrap()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Variant(pub BTreeSet<Label>);

impl Variant {
    /// Returns whether a record with these labels is accepted where `wanted` is asked for.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::types::Variant;
    ///
    /// let record: Variant = "{a, b, <t>}".parse()?;
    /// assert!(record.fits(&"{a, <t>}".parse()?));
    /// assert!(!record.fits(&"{c}".parse()?));
    /// # Ok::<(), String>(())
    /// ```
    pub fn fits(&self, wanted: &Self) -> bool {
        let binding =
            |variant: &Self| variant.0.iter().filter(|label| !label.is_inherited()).count();
        wanted.0.is_subset(&self.0) && binding(self) == binding(wanted)
    }

    /// Returns how well a match with this variant is: its number of fields and tags.
    pub fn score(&self) -> usize {
        self.0.iter().filter(|label| label.is_inherited()).count()
    }

    /// Returns the labels that a component taking `consumed` passes on.
    pub fn inherited<'a>(&'a self, consumed: &'a Self) -> impl Iterator<Item = &'a Label> {
        self.0.iter().filter(move |label| label.is_inherited() && !consumed.0.contains(*label))
    }

    /// Returns the labels of both.
    #[must_use]
    pub fn with<'a>(&self, labels: impl IntoIterator<Item = &'a Label>) -> Self {
        let mut all = self.clone();
        all.0.extend(labels.into_iter().cloned());
        all
    }

    /// Returns whether a label is in the set.
    pub fn has(&self, label: &Label) -> bool {
        self.0.contains(label)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{")?;
        for (index, label) in self.0.iter().enumerate() {
            write!(f, "{}{label}", if index == 0 { "" } else { ", " })?;
        }
        write!(f, "}}")
    }
}

impl FromIterator<Label> for Variant {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        Self(labels.into_iter().collect())
    }
}

impl std::str::FromStr for Variant {
    type Err = String;

    /// Reads `{a, <t>, <#b>}`.
    fn from_str(text: &str) -> Result<Self, String> {
        let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let inner = inner.ok_or_else(|| format!("`{text}` is no type: expected `{{a, <t>}}`"))?;
        let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(parts.map(read_label).collect())
    }
}

fn read_label(text: &str) -> Label {
    match text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        None => Label::new(LabelKind::Field, text),
        Some(tag) => match tag.strip_prefix('#') {
            None => Label::new(LabelKind::Tag, tag),
            Some(binding) => Label::new(LabelKind::BindingTag, binding),
        },
    }
}

/// Shows variants as a type: `{a} | {b}`.
pub fn show<'a>(variants: impl IntoIterator<Item = &'a Variant>) -> String {
    variants.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}
