//! What the output of a file is called.

use super::arguments::Arguments;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Suffixes of compressed files, and what stands in their place after decompressing.
const SUFFIXES: [(&str, &str); 9] = [
    (".gz", ""),
    (".bgz", ""),
    (".bgzf", ""),
    (".zst", ""),
    (".z", ""),
    ("-gz", ""),
    (".tgz", ".tar"),
    (".taz", ".tar"),
    (".tzst", ".tar"),
];

/// The name of the compressed form of a file; `None` if it has the suffix already.
pub(super) fn compressed(path: &Path, arguments: &Arguments) -> Option<PathBuf> {
    if ends_with(path, &arguments.suffix)
        || SUFFIXES.iter().any(|(suffix, _)| ends_with(path, suffix))
    {
        return None;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(&arguments.suffix);
    Some(name.into())
}

/// The name of what a file decompresses to; `None` if its own tells nothing.
pub(super) fn decompressed(path: &Path, arguments: &Arguments) -> Option<PathBuf> {
    let given = (arguments.suffix.as_str(), "");
    let (suffix, instead) =
        [given].iter().chain(&SUFFIXES).find(|(suffix, _)| ends_with(path, suffix)).copied()?;
    let bytes = path.as_os_str().as_bytes();
    let mut name = OsString::from_vec(bytes[..bytes.len() - suffix.len()].to_vec());
    name.push(instead);
    Some(name.into())
}

/// The name that a header tells, in the folder of the file. It is a name and no path: one that has a
/// `/`, or means a folder, is not used.
pub(super) fn told(path: &Path, name: &[u8]) -> Option<PathBuf> {
    let is_name = !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/');
    is_name.then(|| path.with_file_name(OsStr::from_bytes(name)))
}

/// Whether the name has the suffix, and something before it.
fn ends_with(path: &Path, suffix: &str) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.len() > suffix.len()
        && name[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_header_leads_to_no_other_folder() {
        let path = Path::new("folder/file.gz");
        assert_eq!(told(path, b"name"), Some("folder/name".into()));
        for name in [&b"../name"[..], b"/etc/passwd", b"..", b".", b"", b"a/b"] {
            assert_eq!(told(path, name), None);
        }
    }
}
