//! The machine and the versions that a measurement belongs to.

use std::fs;
use std::io::{self, Read as _};
use std::num::NonZero;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What measured: figures of different ones are not mixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor, as the system names it.
    pub processor: String,
    /// Cores that this program may use.
    pub cores: usize,
    /// Memory, in MiB.
    pub memory: u64,
    /// The kernel.
    pub system: String,
    /// The version of Kahn.
    pub kahn: String,
    /// The compiler, and whether it optimised.
    pub compiler: String,
    /// What it was built from, a commit, if that is known.
    #[serde(default)]
    pub source: String,
    /// The SHA-256 of the program, for two builds of one version may differ.
    pub program: String,
}

impl Machine {
    /// Looks at the machine and at this program, which was built from `source`.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be read.
    pub fn here(source: &str) -> io::Result<Self> {
        let names = rustix::system::uname();
        let name = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        Ok(Self {
            processor: line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: std::thread::available_parallelism().map_or(1, NonZero::get),
            memory: line_of("/proc/meminfo", "MemTotal")
                .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kilobytes| kilobytes / 1024),
            system: format!("{} {}", name(names.sysname()), name(names.release())),
            kahn: env!("CARGO_PKG_VERSION").to_owned(),
            compiler: compiler(),
            source: source.to_owned(),
            program: sha256(&std::env::current_exe()?)?,
        })
    }

    /// Whether the program was built for finding errors and not for speed.
    pub fn is_development_build(&self) -> bool {
        self.compiler.ends_with(DEVELOPMENT)
    }
}

const DEVELOPMENT: &str = "development build";

fn compiler() -> String {
    let built = if cfg!(debug_assertions) { DEVELOPMENT } else { "release build" };
    format!("{}, {built}", env!("KAHN_COMPILER"))
}

/// Finds the value behind `name:` in a file of the system.
fn line_of(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The SHA-256 of a file, as `sha256sum` writes it.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            let bytes = hasher.finalize();
            return Ok(bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")));
        }
        hasher.update(&piece[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_sha256sum() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(file.path()).unwrap(), expected);
    }
}
