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
    /// The compiler, and the profile of the build.
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
            cores: Self::cores(),
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

    /// How many cores this program may use now.
    pub fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, NonZero::get)
    }

    /// What a reader must know of the build, if it was not made to be measured.
    pub fn remark(&self) -> Option<&'static str> {
        match self.compiler.rsplit_once(", ")?.1 {
            DEVELOPMENT => Some("A development build was measured: the figures mean nothing."),
            // Older measurements have the second, and do not say of which profile.
            MEASURED | "release build" => None,
            _ => Some(
                "The program was not built with `--profile dist`, which alone optimises all crates \
                 together: what is ours may take three times as long.",
            ),
        }
    }
}

const DEVELOPMENT: &str = "development build";

/// The profile whose builds are measured.
const MEASURED: &str = "profile dist";

fn compiler() -> String {
    let (compiler, profile) = (env!("KAHN_COMPILER"), env!("KAHN_PROFILE"));
    if cfg!(debug_assertions) {
        format!("{compiler}, {DEVELOPMENT}")
    } else {
        format!("{compiler}, profile {profile}")
    }
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

    #[test]
    fn only_what_was_not_built_to_be_measured_is_remarked() {
        let remark = |compiler: &str| {
            let here = Machine::here("").unwrap();
            Machine { compiler: compiler.to_owned(), ..here }.remark()
        };
        assert_eq!(remark("rustc 1.95.0 (a, b), profile dist"), None);
        assert_eq!(remark("rustc 1.95.0 (a, b), release build"), None);
        assert!(remark("rustc 1.95.0 (a, b), profile release").unwrap().contains("--profile dist"));
        assert!(remark("rustc 1.95.0 (a, b), development build").unwrap().contains("mean nothing"));
        // The profile of this build is known.
        assert!(!compiler().ends_with("profile "), "{}", compiler());
    }
}
