//! Boxes: functions that take some labels of a record and emit others.
//!
//! A Rust box is a closure over typed arguments and an [`Emitter`]. [`Boxes::add`] compares its
//! arguments with the signature that the program declares, so that a wrong order or number is
//! found before anything runs:
//!
//! ```
//! use kahn_snet::boxes::{Boxes, Emitter, Tag};
//! use kahn_snet::Program;
//!
//! let program = Program::read("main.snet", "box scale ((m, <k>) -> (m)); net main connect scale;");
//! let mut boxes = Boxes::of(&program);
//! boxes.add("scale", |m: f64, k: Tag, out: &mut Emitter| out.emit(1, (m * k.0 as f64,)))?;
//! assert!(boxes.add("scale", |m: f64, out: &mut Emitter| out.emit(1, (m,))).is_err());
//! # Ok::<(), kahn_snet::boxes::BindError>(())
//! ```

mod argument;
mod bind;
mod c;

pub use argument::{Argument, Emitter, Field, FromField, IntoArgument, IntoArguments, Tag};
pub use bind::{ArgumentKind, BindError, Boxes, FromArgument, IntoBox};
pub use c::CError;
pub(crate) use c::{Rescued, leave_process, set_apart};

/// A box that could not do its work; its text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BoxError(pub String);

impl BoxError {
    /// Creates an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::boxes::{BoxError, Boxes, Emitter};
    /// use kahn_snet::Program;
    ///
    /// let program = Program::read("main.snet", "box root ((x) -> (y)); net main connect root;");
    /// let mut boxes = Boxes::of(&program);
    /// boxes.add("root", |x: f64, out: &mut Emitter| {
    ///     if x < 0.0 { Err(BoxError::new(format!("{x} is negative"))) } else { out.emit(1, (x.sqrt(),)) }
    /// })?;
    /// # Ok::<(), kahn_snet::boxes::BindError>(())
    /// ```
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<String> for BoxError {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<&str> for BoxError {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// What a box does. It keeps no state, and may run for several records at once.
pub trait BoxFunction: Send + Sync {
    /// Takes the labels of the signature in order, and emits any number of records.
    ///
    /// # Errors
    /// Returns why the work could not be done; the run then ends.
    fn call(&self, inputs: Vec<Argument>, out: &mut Emitter<'_>) -> Result<(), BoxError>;
}
