//! A program that was read: its plan, its types, and what is wrong with it.

use std::fmt;

use crate::diagnostics::{self, Code, Diagnostic, has_errors};
use crate::inference::check::{Inferred, check};
use crate::plan::{NetId, Plan, resolve};
use crate::syntax::{self, Span};

/// Says what is wrong with a program, with the lines it speaks of.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the program has errors\n{0}")]
pub struct Invalid(String);

/// What `main` prints if it returns the error: the message, for a person.
impl fmt::Debug for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A program, read and checked; whether it may run, [`Program::is_valid`] tells.
///
/// # Examples
///
/// ```
/// use kahn_snet::Program;
///
/// let program = Program::read("main.snet", "net main connect [{a} -> {b=a}];");
/// assert!(program.is_valid());
/// assert_eq!(program.signatures()[0].to_string(), "net main\n    {a} -> {b}\n");
/// ```
#[derive(Debug, Clone)]
pub struct Program {
    name: String,
    source: String,
    plan: Plan,
    signatures: Vec<Inferred>,
    diagnostics: Vec<Diagnostic>,
}

impl Program {
    /// Reads and checks the text of a program; `name` is what messages call it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::Program;
    ///
    /// let program = Program::read("main.snet", "net main connect [{a} -> {b=a}];");
    /// assert_eq!(program.name(), "main.snet");
    /// assert!(program.diagnostics().is_empty());
    /// ```
    pub fn read(name: impl Into<String>, source: impl Into<String>) -> Self {
        let (name, source) = (name.into(), source.into());
        let parsed = syntax::parse(&source);
        let mut diagnostics = parsed.diagnostics;
        let unread = has_errors(&diagnostics);
        let (plan, unresolved) = resolve(&parsed.definitions);
        diagnostics.extend(unresolved);
        let mut signatures = Vec::new();
        // What could not be read was perhaps the definition that seems to be missing.
        if unread {
            diagnostics.retain(|found| {
                found.code != Code::UnknownName
                    && found.code != Code::Unused
                    && found.code != Code::UnknownType
            });
        }
        if plan.outermost.is_empty() && !unread {
            let end = Span::new(source.trim_end().len(), source.trim_end().len());
            let message = "the file defines no net";
            let error = Diagnostic::new(Code::NoNet, end, message, "expected `net … connect …;`");
            diagnostics.push(error.help("the last net of a file is the program"));
        }
        if !has_errors(&diagnostics) {
            let (found, wrong) = check(&plan);
            signatures = found;
            diagnostics.extend(wrong);
        }
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
        Self { name, source, plan, signatures, diagnostics }
    }

    /// Returns what is wrong or doubtful, in the order of the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::Program;
    /// use kahn_snet::diagnostics::Code;
    ///
    /// let program = Program::read("main.snet", "net main connect [{a} -> {b=a}] .. invert;");
    /// assert_eq!(program.diagnostics()[0].code, Code::UnknownName);
    /// ```
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns whether it may run: nothing worse than warnings.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::Program;
    ///
    /// assert!(Program::read("main.snet", "net main connect [];").is_valid());
    /// assert!(!Program::read("main.snet", "net main connect invert;").is_valid());
    /// ```
    pub fn is_valid(&self) -> bool {
        !has_errors(&self.diagnostics)
    }

    /// Returns the program if it may run, or else its errors as text.
    ///
    /// # Errors
    /// Returns all that is wrong, with the lines it speaks of.
    ///
    /// # Examples
    ///
    /// ```
    /// let program = kahn_snet::Program::read("main.snet", "net main connect [{a} -> {b=a}]");
    /// let error = program.checked().unwrap_err();
    /// assert!(error.to_string().contains("the `;` of this net is missing"));
    /// ```
    pub fn checked(self) -> Result<Self, Invalid> {
        if self.is_valid() { Ok(self) } else { Err(Invalid(self.render(false))) }
    }

    /// Renders all diagnostics with the lines they speak of.
    ///
    /// # Examples
    ///
    /// ```
    /// let program = kahn_snet::Program::read("main.snet", "net main connect invert;");
    /// let text = program.render(false);
    /// assert!(text.contains("error[E010]") && text.contains("main.snet:1:18"), "{text}");
    /// ```
    pub fn render(&self, colour: bool) -> String {
        let render = |one: &Diagnostic| diagnostics::render(one, &self.name, &self.source, colour);
        self.diagnostics.iter().map(render).collect::<Vec<_>>().join("\n")
    }

    /// Returns the inferred signature of every net, inner nets first.
    pub fn signatures(&self) -> &[Inferred] {
        &self.signatures
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the name it was read under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Finds an outermost net by its name, or the last one.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::Program;
    ///
    /// let program = Program::read("main.snet", "net one connect []; net two connect one;");
    /// assert!(program.net(Some("one")).is_some());
    /// assert_eq!(program.net(None), program.net(Some("two")));
    /// assert!(program.net(Some("three")).is_none());
    /// ```
    pub fn net(&self, name: Option<&str>) -> Option<NetId> {
        self.plan.find_net(name)
    }
}
