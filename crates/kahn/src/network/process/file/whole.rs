//! Writing a file so that its name means the old one or the new one, and never a part.
//!
//! | step | if it fails, or the program is ended before the last |
//! |---|---|
//! | a file beside the target, which did not exist (`O_EXCL`), gets the target's mode | nothing is there |
//! | all is written to it, and to the disk (`fsync`) | it is removed |
//! | it is renamed to the target; the folder's entry is written to the disk | it is removed; the target is as it was |
//!
//! A target that is there and is no plain file (a link, a device, a pipe) is opened and written as it is: to
//! rename over it would put a file in its place.
//!
//! What is beside a target stands in `UNFINISHED` from before it is there until after it is gone, since
//! both change under its lock. [`exit`] takes the lock and never gives it back: from then on nothing is
//! begun, renamed or removed but by it.

use kahn_engine::sync::StaticMutex;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Names that are tried for the file beside the target.
const TRIES: u32 = 10_000;

/// The files that are written and are no results yet.
static UNFINISHED: StaticMutex<Vec<PathBuf>> = StaticMutex::new(Vec::new());

/// A file that is there with all its content when it is finished, and as it was before.
///
/// What is written goes to a file beside the target, which gets the target's mode, and takes its place in
/// [`finish`](Self::finish). Without that, when this is dropped, it is removed; so it is by
/// [`process::exit`](exit). A target that is a link, a device or a pipe is written in place instead, for a
/// file in its place is not what it was; what has been written then stays.
///
/// Many small pieces want a [`BufWriter`](io::BufWriter) around it. Errors do not name the file, as those of
/// [`std::fs`] do not. In a network, [`write_file`](crate::Network::write_file) does all this.
///
/// # Examples
///
/// ```
/// use kahn::process::WholeFile;
/// use std::io::Write as _;
///
/// # let folder = tempfile::tempdir()?;
/// let target = folder.path().join("answer");
/// let mut file = WholeFile::create(&target)?;
/// writeln!(file, "42")?;
/// assert!(!target.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read_to_string(&target)?, "42\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct WholeFile {
    out: Out,
    /// The file that is written and its target, if it is not the target; removed unless it is renamed.
    beside: Option<Beside>,
}

#[derive(Debug)]
enum Out {
    File(File),
    /// Opened anew, a file behind it would be written from its beginning.
    Stdout(io::Stdout),
}

#[derive(Debug)]
struct Beside {
    path: PathBuf,
    target: PathBuf,
}

impl WholeFile {
    /// Begins to write a file.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::process::WholeFile;
    ///
    /// let error = WholeFile::create("there/is/none").expect_err("there is no such folder");
    /// assert!(error.to_string().starts_with("no file can be made beside it: "));
    /// ```
    ///
    /// # Errors
    /// Returns what the system said if no file can be made beside the target, or if what is written in place
    /// cannot be opened.
    pub fn create(target: impl AsRef<Path>) -> io::Result<Self> {
        Self::create_told(target.as_ref(), |_| {})
    }

    /// Begins to write a file, and tells what the file beside it will be called before it is there: so if it is, it
    /// has been told. More than one name is told if one is taken.
    pub(super) fn create_told(target: &Path, tell: impl FnMut(&str)) -> io::Result<Self> {
        if target == Path::new("/dev/stdout") {
            return Ok(Self { out: Out::Stdout(io::stdout()), beside: None });
        }
        let found = match fs::symlink_metadata(target) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if is_in_place(target, found.as_ref()) {
            return Ok(Self { out: Out::File(open_in_place(target)?), beside: None });
        }
        let (beside, file) = create_beside(target, found.as_ref(), tell).map_err(|error| {
            let kind = error.kind();
            io::Error::new(kind, NotBeside(error))
        })?;
        let whole = Self { out: Out::File(file), beside: Some(beside) };
        if let (Some(found), Out::File(file)) = (found, &whole.out) {
            // Before there is anything in it.
            file.set_permissions(found.permissions())?;
        }
        Ok(whole)
    }

    /// Removes what a program that was killed has left beside a target: the one that had this number, of which
    /// the caller knows that it is gone and wrote this target.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::process::WholeFile;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let target = folder.path().join("answer");
    /// // Never finished, and never dropped, as in a program that is killed.
    /// std::mem::forget(WholeFile::create(&target)?);
    /// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    /// WholeFile::remove_left(&target, std::process::id());
    /// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn remove_left(target: impl AsRef<Path>, program: u32) {
        let target = target.as_ref();
        let Some(name) = target.file_name() else { return };
        for number in 0..TRIES {
            // The first name that is not taken was taken.
            if fs::remove_file(target.with_file_name(name_beside(name, program, number))).is_err() {
                return;
            }
        }
    }

    /// Has all that was written on the disk, and returns the file beside the target and its name; none if it is
    /// written in place, or its name is no text.
    pub(super) fn save(&self) -> io::Result<Option<(&str, &File)>> {
        let (Some(beside), Out::File(file)) = (&self.beside, &self.out) else { return Ok(None) };
        let Some(name) = beside.path.file_name().and_then(OsStr::to_str) else { return Ok(None) };
        system::sync(file)?;
        Ok(Some((name, file)))
    }

    /// Puts what has been written in the target's place, when all of it is on the disk.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::process::WholeFile;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let empty = folder.path().join("empty");
    /// WholeFile::create(&empty)?.finish()?;
    /// assert!(std::fs::read(empty)?.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns what the system said; the target is then as it was, unless it was written in place.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        let (Some(beside), Out::File(file)) = (&self.beside, &self.out) else { return Ok(()) };
        system::sync(file)?;
        let mut unfinished = UNFINISHED.lock();
        system::rename(&beside.path, &beside.target)?;
        unfinished.retain(|path| *path != beside.path);
        drop(unfinished);
        let beside = self.beside.take();
        // The name's turn. Not every system opens folders, and the file is whole without.
        if let Some(Ok(folder)) = beside.map(|beside| File::open(folder_of(&beside.target))) {
            let _ = system::sync(&folder);
        }
        Ok(())
    }
}

/// What another run has left beside a target. Nothing is done to it unless a run [goes on](Self::go_on) with it.
#[derive(Debug)]
pub(super) struct LeftBeside {
    pub(super) file: File,
    beside: Beside,
}

impl LeftBeside {
    /// Opens a file beside the target, of which is known only what somebody says it is called: it has a name that
    /// is given here, is no link and has no other name.
    pub(super) fn open(target: &Path, name: &str) -> io::Result<Self> {
        let refused = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if is_in_place(target, fs::symlink_metadata(target).ok().as_ref()) {
            return refused("it is written in place");
        }
        if !is_name_beside(target, name) {
            return refused("a file beside it is called otherwise");
        }
        let path = target.with_file_name(name);
        let found = fs::symlink_metadata(&path)?;
        if !found.is_file() {
            return refused("the file beside it is no plain file");
        }
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        if !is_that_alone(&found, &file.metadata()?) {
            return refused("the file beside it has another name as well");
        }
        Ok(Self { file, beside: Beside { path, target: target.to_owned() } })
    }

    /// Cuts it, and goes on behind what is left.
    pub(super) fn go_on(mut self, bytes: u64) -> io::Result<WholeFile> {
        UNFINISHED.lock().push(self.beside.path.clone());
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::Start(bytes)));
        let whole = WholeFile { out: Out::File(self.file), beside: Some(self.beside) };
        cut.map(|_| whole)
    }
}

/// Whether a file that was opened is the one that was looked at before, and has no other name.
#[cfg(unix)]
fn is_that_alone(before: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    (before.dev(), before.ino(), 1) == (opened.dev(), opened.ino(), opened.nlink())
}

#[cfg(not(unix))]
fn is_that_alone(_before: &Metadata, _opened: &Metadata) -> bool {
    true
}

/// Ends the program, as [`std::process::exit`] does, after the files are removed that are half written.
///
/// For what ends a program that does not come to its end, such as a second Ctrl-C while a run stops. No
/// [`WholeFile`] is begun or takes its target's place any more, and none is left beside it.
///
/// # Examples
///
/// ```no_run
/// fn second_ctrl_c() -> ! {
///     kahn::process::exit(130)
/// }
/// ```
#[expect(clippy::exit, reason = "it is what this is asked for")]
pub fn exit(code: i32) -> ! {
    let mut unfinished = UNFINISHED.lock();
    for path in unfinished.drain(..) {
        // Nothing can be done about what cannot be removed.
        let _ = fs::remove_file(path);
    }
    // The lock is held until the end.
    std::process::exit(code)
}

/// Whether a name leads to a file that another has opened, and which is not to be replaced or emptied.
fn is_lent(target: &Path) -> bool {
    ["/dev/fd", "/dev/stderr", "/proc"].iter().any(|lent| target.starts_with(lent))
}

/// Whether what is there is written as it is, for a file in its place is not what it was.
fn is_in_place(target: &Path, found: Option<&Metadata>) -> bool {
    found.is_some_and(|found| !found.is_file()) || is_lent(target)
}

fn open_in_place(target: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    if is_lent(target) {
        options.append(true);
    } else {
        // A link that leads nowhere makes what it leads to.
        options.write(true).truncate(true).create(true);
    }
    options.open(target)
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What a file beside a target is called, by the program that makes it.
fn name_beside(name: &OsStr, program: u32, number: u32) -> OsString {
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{program}-{number}.part"));
    beside
}

/// Creates a file beside the target, of a name that is not taken.
fn create_beside(
    target: &Path,
    found: Option<&Metadata>,
    mut tell: impl FnMut(&str),
) -> io::Result<(Beside, File)> {
    let Some(name) = target.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no name"));
    };
    let options = for_eyes_of(found);
    for number in 0..TRIES {
        let beside = name_beside(name, std::process::id(), number);
        let path = target.with_file_name(&beside);
        if let Some(beside) = beside.to_str()
            && !path.exists()
        {
            tell(beside);
        }
        let mut unfinished = UNFINISHED.lock();
        match options.open(&path) {
            Ok(file) => {
                unfinished.push(path.clone());
                return Ok((Beside { path, target: target.to_owned() }, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "all names are taken"))
}

/// Whether [`name_beside`] gives such names.
fn is_name_beside(target: &Path, name: &str) -> bool {
    let target = target.file_name().and_then(OsStr::to_str);
    let rest =
        name.strip_prefix('.').and_then(|rest| rest.strip_prefix(target?)?.strip_prefix('.'));
    let numbers = rest.and_then(|rest| rest.strip_suffix(".part")?.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(program, number)| is_number(program) && is_number(number))
}

/// How a file is made that is never open to more than its target is.
fn for_eyes_of(found: Option<&Metadata>) -> OpenOptions {
    let mut options = OpenOptions::new();
    // Read by those that sum it up.
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if let Some(found) = found {
        use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

        options.mode(found.mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _ = found;
    options
}

/// Why a file cannot be replaced whose folder takes no other.
#[derive(Debug)]
struct NotBeside(io::Error);

impl fmt::Display for NotBeside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no file can be made beside it: {}", self.0)
    }
}

impl Error for NotBeside {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::File(file) => file.write(bytes),
            Out::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::File(file) => file.flush(),
            Out::Stdout(stdout) => stdout.flush(),
        }
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let mut unfinished = UNFINISHED.lock();
            // Nothing can be done about what cannot be removed.
            let _ = fs::remove_file(&beside.path);
            unfinished.retain(|path| *path != beside.path);
        }
    }
}

/// What the system is asked to do at the end. Tests look at the order.
mod system {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    #[cfg(test)]
    thread_local! {
        pub(super) static ASKED: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
    }

    #[cfg(test)]
    fn note(what: io::Result<String>) {
        ASKED.with_borrow_mut(|asked| asked.push(what.expect("it can be told")));
    }

    pub(super) fn sync(file: &File) -> io::Result<()> {
        #[cfg(test)]
        note(file.metadata().map(|found| {
            let file = || format!("sync a file of {} bytes", found.len());
            if found.is_dir() { "sync the folder".to_owned() } else { file() }
        }));
        file.sync_all()
    }

    pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
        #[cfg(test)]
        note(fs::metadata(from).map(|found| format!("rename {} bytes", found.len())));
        fs::rename(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_beside_a_target_has_a_name_that_is_given_here() {
        let is_one = |name| is_name_beside(Path::new("folder/a.b"), name);
        assert!(is_one(".a.b.12-0.part") && is_one(".a.b.1-123.part"));
        for other in ["", "a.b", ".a.b.12.part", ".a.b.-0.part", ".a.b.1-.part", ".a.b.1-0.parts"] {
            assert!(!is_one(other), "{other}");
        }
        for other in [".a.c.1-0.part", "../.a.b.1-0.part", ".a.b.1-0/.part", ".a.b.+1-0.part"] {
            assert!(!is_one(other), "{other}");
        }
    }

    #[test]
    fn all_is_on_the_disk_before_it_is_told() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut file = WholeFile::create(folder.path().join("target"))?;
        file.write_all(b"a part")?;
        system::ASKED.take();
        let told = file.save()?.map(|(name, _)| name.to_owned());
        assert_eq!(system::ASKED.take(), ["sync a file of 6 bytes"]);
        assert!(told.is_some_and(|name| is_name_beside(Path::new("target"), &name)));
        Ok(())
    }

    #[test]
    fn all_is_on_the_disk_before_the_name_is() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut file = WholeFile::create(folder.path().join("target"))?;
        file.write_all(b"all of it")?;
        file.finish()?;
        let asked = system::ASKED.take();
        assert_eq!(asked, ["sync a file of 9 bytes", "rename 9 bytes", "sync the folder"]);
        Ok(())
    }
}
