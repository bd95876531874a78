//! Boxes in C: shared libraries, and C files that the system's compiler makes into one.
//!
//! | file     | says                                                      |
//! |----------|-----------------------------------------------------------|
//! | here     | which library has which box                               |
//! | `build`  | how C files are compiled, with our headers                |
//! | `call`   | how a C function is called                               |
//! | `crash`  | what is told when one crashes                            |
//! | `rescue` | the output that is written even then                     |
//! | `value`  | which value is which data of C                            |

mod build;
mod call;
mod crash;
mod rescue;
mod value;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Boxes;
use call::{CBox, Library};
pub(crate) use crash::leave_process;
pub(crate) use rescue::{Rescued, set_apart};

/// A library or C file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CError {
    /// The compiler is missing.
    #[error("cannot run the C compiler `cc`: {0}")]
    NoCompiler(std::io::Error),
    /// The compiler refused a file.
    #[error("the C compiler refused {files}:\n{messages}")]
    Refused {
        /// The files.
        files: String,
        /// What it said.
        messages: String,
    },
    /// A file could not be written for the compiler.
    #[error("cannot prepare the C files: {0}")]
    Files(std::io::Error),
    /// A library could not be loaded.
    #[error("cannot load {}: {problem}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A box in the file is in another language.
    #[error("box `{path}` has code in `{language}`; only C can be compiled")]
    Language {
        /// The box.
        path: String,
        /// The language.
        language: String,
    },
    /// A box has more labels than a C function can be called with here.
    #[error("box `{path}` has more than {limit} labels in a tuple")]
    TooManyLabels {
        /// The box.
        path: String,
        /// The most.
        limit: usize,
    },
}

impl Boxes {
    /// Gives every box that has no function yet the one of its name in these files.
    ///
    /// C files are compiled together; code inside the program is compiled with them. A box is
    /// looked for by its name, or by `boxname` in its metadata.
    ///
    /// # Errors
    /// Returns an error if a file cannot be compiled or loaded; a box that is in none of them is
    /// no error here.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_snet::boxes::Boxes;
    /// use kahn_snet::Program;
    ///
    /// let program = Program::read("main.snet", "
    ///     box twice ((<n>) -> (<n>)) { <<< C |
    ///         void *twice(void *box, int n) { C4SNetOut(box, 1, 2 * n); return box; }
    ///     >>> }
    ///     net main connect twice;
    /// ");
    /// let mut boxes = Boxes::of(&program);
    /// // Code in the program needs no file.
    /// boxes.add_c_files(&[])?;
    /// assert_eq!(boxes.missing().count(), 0);
    /// # Ok::<(), kahn_snet::boxes::CError>(())
    /// ```
    pub fn add_c_files(&mut self, files: &[PathBuf]) -> Result<(), CError> {
        let is_source =
            |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "c");
        let sources: Vec<&PathBuf> = files.iter().filter(is_source).collect();
        let mut inline = String::new();
        for plan in self.missing() {
            let Some((language, text)) = &plan.code else { continue };
            if !["C", "C4SNet"].contains(&language.as_str()) {
                let (path, language) = (plan.path.clone(), language.clone());
                return Err(CError::Language { path, language });
            }
            inline.push_str(text);
            inline.push('\n');
        }
        crash::watch();
        let mut libraries = Vec::new();
        if !sources.is_empty() || !inline.is_empty() {
            let built = build::compile(&sources, &inline).map_err(|error| self.blame(error))?;
            self.warnings.push_str(&built.warnings);
            libraries.push(Arc::new(Library::load(&built.path)?));
            // The library is mapped now, so its file may go.
        }
        for path in files.iter().filter(|path| !is_source(path)) {
            libraries.push(Arc::new(Library::load(&absolute(path))?));
        }
        let missing: Vec<_> = self.missing().cloned().collect();
        for plan in missing {
            let name = plan.metadata("boxname").unwrap_or(&plan.name).to_owned();
            let found = libraries.iter().find_map(|library| CBox::find(library, &name, &plan));
            if let Some(found) = found {
                // The box is declared, or it would not be missing.
                let function: Arc<dyn super::BoxFunction> = Arc::new(found?);
                let _ = self.add_function(&plan.path, &function);
            }
        }
        Ok(())
    }

    /// Names the boxes whose functions the compiler or the linker complains about.
    fn blame(&self, error: CError) -> CError {
        let CError::Refused { files, mut messages } = error else { return error };
        let said = messages.clone();
        for plan in self.missing() {
            let name = plan.metadata("boxname").unwrap_or(&plan.name);
            // As `ld` quotes names, and as `gcc` does.
            let quoted = [format!("n function `{name}'"), format!("n function ‘{name}’")];
            if quoted.iter().any(|name| said.contains(name)) {
                let path = &plan.path;
                let _ = write!(messages, "\n   `{name}` is the function of box `{path}`");
            }
        }
        CError::Refused { files, messages }
    }
}

/// A path that the loader does not look for in its own folders.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
