//! Compiling C files with our headers.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::CError;

/// The headers that a C file may include.
const HEADERS: &[(&str, &str)] = &[
    ("kahn_snet.h", include_str!("../include/kahn_snet.h")),
    ("C4SNet.h", include_str!("../include/C4SNet.h")),
    ("bool.h", include_str!("../include/bool.h")),
];

/// The ways of C to end a process at once, which nothing in it sees: in what is compiled here each is `exit`,
/// which is seen.
const ENDS: [&str; 3] = ["_exit", "_Exit", "quick_exit"];

/// A library just compiled; its folder goes when this goes.
pub(super) struct Built {
    pub(super) path: PathBuf,
    /// What the compiler warned of.
    pub(super) warnings: String,
    _folder: TempDir,
}

/// Compiles C files, and code of boxes inside the program, into one library.
pub(super) fn compile(sources: &[&PathBuf], inline: &str) -> Result<Built, CError> {
    let folder = tempfile::Builder::new().prefix("kahn-snet-").tempdir().map_err(CError::Files)?;
    for (name, text) in HEADERS {
        fs::write(folder.path().join(name), text).map_err(CError::Files)?;
    }
    let path = folder.path().join("boxes.so");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&path);
    if cfg!(target_os = "linux") {
        // What no library has is an error now, and not when a box calls it.
        command.arg("-Wl,-z,defs");
        let mut ends = "#include <stdlib.h>\n".to_owned();
        for end in ENDS {
            command.arg(format!("-Wl,--wrap={end}"));
            let _ = writeln!(ends, "void __wrap_{end}(int code) {{ exit(code); }}");
        }
        let file = folder.path().join("ends.c");
        fs::write(&file, ends).map_err(CError::Files)?;
        command.arg(file);
    }
    command.arg("-I").arg(folder.path());
    command.args(sources);
    if !inline.is_empty() {
        let file = folder.path().join("inline.c");
        fs::write(&file, format!("#include <C4SNet.h>\n{inline}")).map_err(CError::Files)?;
        command.arg(file);
    }
    command.arg("-lm");
    let output = command.output().map_err(CError::NoCompiler)?;
    let messages = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    if output.status.success() {
        return Ok(Built { path, warnings: messages, _folder: folder });
    }
    let mut names: Vec<String> = sources.iter().map(|path| path.display().to_string()).collect();
    if !inline.is_empty() {
        names.push("the code in the program".to_owned());
    }
    Err(CError::Refused { files: names.join(", "), messages })
}
