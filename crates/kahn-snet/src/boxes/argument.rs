//! What goes into a box and what comes out of it.

use std::any::Any;
use std::sync::Arc;

use super::BoxError;
use crate::record::Value;
use crate::types::Label;

/// A value of a field or of a tag, at its place in a signature.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// The value of a field.
    Field(Value),
    /// The value of a tag or binding tag.
    Tag(i64),
}

/// The value of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(pub i64);

/// A field that holds a Rust value of the program's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<T>(pub Arc<T>);

/// A Rust type that the value of a field can be read as.
pub trait FromField: Sized {
    /// What it is, for messages.
    const EXPECTED: &'static str;

    /// Reads the value; gives it back if it is something else.
    ///
    /// # Errors
    /// Returns the value if it is something else.
    fn from_field(value: Value) -> Result<Self, Value>;
}

impl FromField for Value {
    const EXPECTED: &'static str = "a value";

    fn from_field(value: Value) -> Result<Self, Value> {
        Ok(value)
    }
}

impl FromField for i64 {
    const EXPECTED: &'static str = "an integer";

    fn from_field(value: Value) -> Result<Self, Value> {
        match value {
            Value::Integer(number) => Ok(number),
            other => Err(other),
        }
    }
}

impl FromField for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_field(value: Value) -> Result<Self, Value> {
        match value {
            Value::Real(number) => Ok(number),
            #[expect(clippy::cast_precision_loss, reason = "an integer where a real is wanted")]
            Value::Integer(number) => Ok(number as Self),
            other => Err(other),
        }
    }
}

impl FromField for String {
    const EXPECTED: &'static str = "a string";

    fn from_field(value: Value) -> Result<Self, Value> {
        match value {
            Value::Text(text) => Ok(text.as_ref().to_owned()),
            other => Err(other),
        }
    }
}

impl<T: FromField> FromField for Vec<T> {
    const EXPECTED: &'static str = "an array";

    fn from_field(value: Value) -> Result<Self, Value> {
        match &value {
            Value::Array(values) => {
                let read: Result<Self, Value> = values.iter().cloned().map(T::from_field).collect();
                read.map_err(|_| value)
            }
            _ => Err(value),
        }
    }
}

impl<T: Any + Send + Sync> FromField for Field<T> {
    const EXPECTED: &'static str = "a value of the box's own type";

    fn from_field(value: Value) -> Result<Self, Value> {
        value.downcast::<T>().map(Field).ok_or(value)
    }
}

/// A Rust value that a box can emit at one place of a tuple.
pub trait IntoArgument {
    /// Makes it a value of a field or of a tag.
    fn into_argument(self) -> Argument;
}

impl IntoArgument for Argument {
    fn into_argument(self) -> Argument {
        self
    }
}

impl IntoArgument for Tag {
    fn into_argument(self) -> Argument {
        Argument::Tag(self.0)
    }
}

impl<T: Into<Value>> IntoArgument for T {
    fn into_argument(self) -> Argument {
        Argument::Field(self.into())
    }
}

/// A tuple that a box can emit.
pub trait IntoArguments {
    /// Makes the values, in order.
    fn into_arguments(self) -> Vec<Argument>;
}

impl IntoArguments for Vec<Argument> {
    fn into_arguments(self) -> Vec<Argument> {
        self
    }
}

impl IntoArguments for () {
    fn into_arguments(self) -> Vec<Argument> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: IntoArgument),+> IntoArguments for ($($name,)+) {
            #[expect(non_snake_case, reason = "the type parameters name the variables")]
            fn into_arguments(self) -> Vec<Argument> {
                let ($($name,)+) = self;
                vec![$($name.into_argument()),+]
            }
        }
    };
}

tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
tuples! { A B C D E F G }
tuples! { A B C D E F G H }

/// Takes the records that a box emits.
pub struct Emitter<'a> {
    outputs: &'a [Vec<Label>],
    sink: &'a mut dyn FnMut(usize, Vec<Argument>) -> Result<(), BoxError>,
}

impl std::fmt::Debug for Emitter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter").field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

impl<'a> Emitter<'a> {
    /// Creates an emitter that checks against `outputs` and hands on to `sink`.
    pub(crate) fn new(
        outputs: &'a [Vec<Label>],
        sink: &'a mut dyn FnMut(usize, Vec<Argument>) -> Result<(), BoxError>,
    ) -> Self {
        Self { outputs, sink }
    }

    /// Emits a record: the values of output tuple `variant`, counted from 1, in its order.
    ///
    /// # Errors
    /// Returns what the signature forbids about it; a box returns that in turn.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::boxes::{Boxes, Emitter, Tag};
    /// use kahn_snet::Program;
    ///
    /// let program = Program::read("main.snet", "
    ///     box divide ((<a>, <b>) -> (<quotient>, <rest>) | (<error>));
    ///     net main connect divide;
    /// ");
    /// let mut boxes = Boxes::of(&program);
    /// boxes.add("divide", |a: Tag, b: Tag, out: &mut Emitter| {
    ///     if b.0 == 0 {
    ///         return out.emit(2, (Tag(a.0),));
    ///     }
    ///     out.emit(1, (Tag(a.0 / b.0), Tag(a.0 % b.0)))
    /// })?;
    /// # Ok::<(), kahn_snet::boxes::BindError>(())
    /// ```
    pub fn emit(&mut self, variant: usize, values: impl IntoArguments) -> Result<(), BoxError> {
        let values = values.into_arguments();
        let known = variant.checked_sub(1).and_then(|index| self.outputs.get(index));
        let Some(labels) = known else {
            let count = self.outputs.len();
            return Err(BoxError(format!(
                "it emits output tuple {variant}, but its signature has {count}"
            )));
        };
        let tuple = || {
            let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
            format!("({})", labels.join(", "))
        };
        if labels.len() != values.len() {
            let found = values.len();
            return Err(BoxError(format!("it emits {found} values as {}", tuple())));
        }
        for (label, value) in labels.iter().zip(&values) {
            let is_tag = matches!(value, Argument::Tag(_));
            let wants_tag = label.kind != crate::syntax::ast::LabelKind::Field;
            if is_tag != wants_tag {
                let what = if is_tag { "a tag" } else { "a field" };
                return Err(BoxError(format!("it emits {what} as `{label}` of {}", tuple())));
            }
        }
        (self.sink)(variant - 1, values)
    }
}
