//! Which function each box of a program is.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::argument::{Argument, Emitter, FromField, Tag};
use super::{BoxError, BoxFunction};
use crate::plan::BoxPlan;
use crate::program::Program;
use crate::syntax::ast::LabelKind;

/// The functions of the boxes of a program.
#[derive(Clone, Default)]
pub struct Boxes {
    declared: Vec<BoxPlan>,
    bound: BTreeMap<usize, Arc<dyn BoxFunction>>,
    /// What the C compiler warned of.
    pub(super) warnings: String,
}

impl fmt::Debug for Boxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = self.bound.keys().map(|index| &self.declared[*index].path);
        f.debug_set().entries(bound).finish()
    }
}

/// A box and a function do not belong together.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// No box of this name.
    #[error("the program has no box `{name}`; it has {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The function takes something else.
    #[error("box `{path}` takes {declared}, but its function takes {found}")]
    Arguments {
        /// The box.
        path: String,
        /// What the signature says.
        declared: String,
        /// What the closure says.
        found: String,
    },
    /// A box without a function.
    #[error("no function for box `{path}`")]
    Missing {
        /// The box.
        path: String,
    },
}

/// What `main` prints if it returns the error: the message, for a person.
impl fmt::Debug for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Boxes {
    /// Starts with no function for any box.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::boxes::Boxes;
    /// use kahn_snet::Program;
    ///
    /// let program = Program::read("main.snet", "box f ((a) -> (b)); net main connect f;");
    /// let boxes = Boxes::of(&program);
    /// assert_eq!(boxes.missing().count(), 1);
    /// ```
    pub fn of(program: &Program) -> Self {
        Self { declared: program.plan().boxes().cloned().collect(), ..Self::default() }
    }

    /// Gives all boxes of this name or path a Rust function, which replaces the one they had.
    ///
    /// # Errors
    /// Returns an error if there is no such box, or if its signature is another.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::boxes::{Boxes, Emitter};
    /// use kahn_snet::Program;
    ///
    /// let program = Program::read("main.snet", "box shout ((word) -> (word)); net main connect shout;");
    /// let mut boxes = Boxes::of(&program);
    /// boxes.add("shout", |word: String, out: &mut Emitter| out.emit(1, (word.to_uppercase(),)))?;
    /// assert!(boxes.add("whisper", |word: String, out: &mut Emitter| out.emit(1, (word,))).is_err());
    /// # Ok::<(), kahn_snet::boxes::BindError>(())
    /// ```
    pub fn add<Arguments>(
        &mut self,
        name: &str,
        function: impl IntoBox<Arguments>,
    ) -> Result<(), BindError> {
        let found = function.arguments();
        for index in self.named(name)? {
            let plan = &self.declared[index];
            let declared: Vec<ArgumentKind> =
                plan.input.iter().flatten().map(|label| kind_of(label.kind)).collect();
            if declared != found {
                return Err(BindError::Arguments {
                    path: plan.path.clone(),
                    declared: show(&declared),
                    found: show(&found),
                });
            }
        }
        self.add_function(name, &function.into_box())
    }

    /// Gives all boxes of this name or path a function that checks its arguments itself.
    ///
    /// # Errors
    /// Returns an error if there is no such box.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::boxes::{Argument, BoxError, BoxFunction, Boxes, Emitter};
    /// use kahn_snet::Program;
    /// use std::sync::Arc;
    ///
    /// /// Emits what it gets.
    /// struct Same;
    ///
    /// impl BoxFunction for Same {
    ///     fn call(&self, inputs: Vec<Argument>, out: &mut Emitter<'_>) -> Result<(), BoxError> {
    ///         out.emit(1, inputs)
    ///     }
    /// }
    ///
    /// let program = Program::read("main.snet", "box same ((a, <t>) -> (a, <t>)); net main connect same;");
    /// let mut boxes = Boxes::of(&program);
    /// let same: Arc<dyn BoxFunction> = Arc::new(Same);
    /// boxes.add_function("same", &same)?;
    /// assert_eq!(boxes.missing().count(), 0);
    /// # Ok::<(), kahn_snet::boxes::BindError>(())
    /// ```
    pub fn add_function(
        &mut self,
        name: &str,
        function: &Arc<dyn BoxFunction>,
    ) -> Result<(), BindError> {
        for index in self.named(name)? {
            self.bound.insert(index, Arc::clone(function));
        }
        Ok(())
    }

    fn named(&self, name: &str) -> Result<Vec<usize>, BindError> {
        let matches = |plan: &BoxPlan| plan.path == name || plan.name == name;
        let found: Vec<usize> =
            (0..self.declared.len()).filter(|index| matches(&self.declared[*index])).collect();
        if found.is_empty() {
            let known: Vec<String> =
                self.declared.iter().map(|plan| format!("`{}`", plan.path)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(BindError::Unknown { name: name.to_owned(), known });
        }
        Ok(found)
    }

    /// Returns what the C compiler warned of, if anything.
    pub fn warnings(&self) -> &str {
        &self.warnings
    }

    /// Returns the boxes that have no function yet.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::boxes::{Boxes, Emitter};
    /// use kahn_snet::Program;
    ///
    /// let source = "box f ((a) -> (b)); box g ((b) -> (c)); net main connect f .. g;";
    /// let program = Program::read("main.snet", source);
    /// let mut boxes = Boxes::of(&program);
    /// boxes.add("f", |a: i64, out: &mut Emitter| out.emit(1, (a,)))?;
    /// assert_eq!(boxes.missing().map(|plan| plan.path.as_str()).collect::<Vec<_>>(), ["g"]);
    /// # Ok::<(), kahn_snet::boxes::BindError>(())
    /// ```
    pub fn missing(&self) -> impl Iterator<Item = &BoxPlan> {
        let all = self.declared.iter().enumerate();
        all.filter(|(index, _)| !self.bound.contains_key(index)).map(|(_, plan)| plan)
    }

    /// Returns the functions in the order of the plan.
    pub(crate) fn functions(&self) -> Result<Vec<Arc<dyn BoxFunction>>, BindError> {
        let function = |(index, plan): (usize, &BoxPlan)| {
            let missing = || BindError::Missing { path: plan.path.clone() };
            self.bound.get(&index).map(Arc::clone).ok_or_else(missing)
        };
        self.declared.iter().enumerate().map(function).collect()
    }
}

/// Whether an argument is a field or a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A field.
    Field,
    /// A tag or binding tag.
    Tag,
}

fn kind_of(kind: LabelKind) -> ArgumentKind {
    match kind {
        LabelKind::Field => ArgumentKind::Field,
        LabelKind::Tag | LabelKind::BindingTag => ArgumentKind::Tag,
    }
}

fn show(kinds: &[ArgumentKind]) -> String {
    let words = kinds.iter().map(|kind| match kind {
        ArgumentKind::Field => "field",
        ArgumentKind::Tag => "tag",
    });
    format!("({})", words.collect::<Vec<_>>().join(", "))
}

/// A type that stands for one argument of a closure.
pub trait FromArgument: Sized {
    /// Whether it is a field or a tag.
    const KIND: ArgumentKind;

    /// Reads the argument.
    ///
    /// # Errors
    /// Returns what was expected and found.
    fn from_argument(argument: Argument) -> Result<Self, String>;
}

impl FromArgument for Tag {
    const KIND: ArgumentKind = ArgumentKind::Tag;

    fn from_argument(argument: Argument) -> Result<Self, String> {
        match argument {
            Argument::Tag(value) => Ok(Self(value)),
            Argument::Field(_) => Err("expected a tag, found a field".to_owned()),
        }
    }
}

impl<T: FromField> FromArgument for T {
    const KIND: ArgumentKind = ArgumentKind::Field;

    fn from_argument(argument: Argument) -> Result<Self, String> {
        match argument {
            Argument::Field(value) => Self::from_field(value)
                .map_err(|other| format!("expected {}, found {}", T::EXPECTED, other.kind())),
            Argument::Tag(_) => Err("expected a field, found a tag".to_owned()),
        }
    }
}

/// A closure that can be a box.
pub trait IntoBox<Arguments> {
    /// Returns what it takes, in order.
    fn arguments(&self) -> Vec<ArgumentKind>;

    /// Makes it a box.
    fn into_box(self) -> Arc<dyn BoxFunction>;
}

/// A closure as a box.
struct Closure<F>(F);

impl<F> BoxFunction for Closure<F>
where
    F: Fn(Vec<Argument>, &mut Emitter<'_>) -> Result<(), BoxError> + Send + Sync,
{
    fn call(&self, inputs: Vec<Argument>, out: &mut Emitter<'_>) -> Result<(), BoxError> {
        (self.0)(inputs, out)
    }
}

macro_rules! closures {
    ($($name:ident)*) => {
        impl<Function, $($name: FromArgument),*> IntoBox<($($name,)*)> for Function
        where
            Function: Fn($($name,)* &mut Emitter<'_>) -> Result<(), BoxError>
                + Send + Sync + 'static,
        {
            fn arguments(&self) -> Vec<ArgumentKind> {
                vec![$($name::KIND),*]
            }

            #[allow(non_snake_case, reason = "the type parameters name the variables")]
            #[allow(unused_mut, unused_variables, unused_assignments, reason = "none for none")]
            fn into_box(self) -> Arc<dyn BoxFunction> {
                Arc::new(Closure(move |inputs: Vec<Argument>, out: &mut Emitter<'_>| {
                    let mut inputs = inputs.into_iter();
                    let mut number = 0;
                    $(
                        number += 1;
                        let argument = inputs.next().ok_or("an argument is missing")?;
                        let $name = $name::from_argument(argument)
                            .map_err(|problem| format!("argument {number}: {problem}"))?;
                    )*
                    self($($name,)* out)
                }))
            }
        }
    };
}

closures! {}
closures! { A }
closures! { A B }
closures! { A B C }
closures! { A B C D }
closures! { A B C D E }
closures! { A B C D E F }
closures! { A B C D E F G }
closures! { A B C D E F G H }
