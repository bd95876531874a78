//! A file that a network depends on, as a rank has it: which file it is, and what its bytes are summed up to.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// A file that a network depends on, as a rank has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Input {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    mapped: Option<Mapped>,
}

/// Of which file bytes are mapped, and from where on: all of them, and none was changed here.
///
/// Two ranks that tell the same have the same bytes. Both hold the mapping while they are compared, so its file is there,
/// and the kernel of one machine has no other with that device and number, in whatever container the ranks are: they see
/// the same pages. A file that is replaced has another number, and one that is changed in its place is changed for
/// both, now or later. What was read into memory is no mapping: the file may have changed since.
///
/// Two machines that go on from one snapshot tell the same `machine`, and two file systems may be snapshots of one, with the
/// same numbers: there a file that was changed in one of them tells another time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Mapped {
    /// Which machine, since which start.
    machine: String,
    /// The device, as the mapping and as the path tell it: file systems with snapshots have two.
    device: (String, u64),
    number: u64,
    from: u64,
    /// When it was changed last, in seconds and nanoseconds.
    changed: (i64, i64),
}

/// The SHA-256 of those of the blocks of a file.
pub(crate) type Sum = [u8; 32];

/// The bytes of a block.
const BLOCK: usize = 1 << 20;

impl Input {
    pub(crate) fn of(path: &Path, contents: &[u8]) -> Self {
        let mapped = Mapped::of(path, contents);
        let path = path.to_string_lossy().into_owned();
        Self { path, bytes: contents.len() as u64, mapped }
    }

    /// Whether it is known to be the same on another rank, without reading it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.bytes == 0 || self.mapped.is_some() && self.mapped == other.mapped
    }
}

#[cfg(test)]
impl Input {
    /// One that is mapped from the file of this number, or not.
    pub(crate) fn known(bytes: u64, number: Option<u64>) -> Self {
        let mapped = number.map(|number| Mapped {
            machine: String::new(),
            device: (String::new(), 0),
            number,
            from: 0,
            changed: (0, 0),
        });
        Self { path: "poem.txt".to_owned(), bytes, mapped }
    }
}

impl Mapped {
    /// Of which file these bytes are mapped, if they are and the system tells.
    #[cfg(target_os = "linux")]
    fn of(path: &Path, contents: &[u8]) -> Option<Self> {
        use std::{fs, os::unix::fs::MetadataExt as _};
        let range = contents.as_ptr_range();
        let (start, end) = (range.start.addr() as u64, range.end.addr() as u64);
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let smaps = fs::read_to_string("/proc/self/smaps").ok()?;
        // As `7f00-7f08 r--p 00001000 fe:01 4711 /data/big.txt`, and behind that lines as `Anonymous: 0 kB`.
        let mut lines = smaps.lines();
        let (first, mapping) = lines.find_map(|line| {
            let (range, mapping) = line.split_once(' ')?;
            let (first, last) = range.split_once('-')?;
            let first = number(first)?;
            (first <= start && end <= number(last)?).then_some((first, mapping))
        })?;
        let mut fields = mapping.split_ascii_whitespace();
        let (rights, offset) = (fields.next()?, number(fields.next()?)?);
        let (device, inode) = (fields.next()?, fields.next()?.parse().ok()?);
        // Pages of its own are what was written here, be it before it was made to be read alone.
        let own = |line: &&str| line.starts_with("Anonymous:") || line.starts_with("Swap:");
        let is_none = |line: &str| line.split_ascii_whitespace().nth(1) == Some("0");
        let own: Vec<&str> =
            lines.take_while(|line| !line.starts_with("VmFlags:")).filter(own).collect();
        if rights.contains('w') || own.len() != 2 || !own.into_iter().all(is_none) {
            return None;
        }
        let file = fs::metadata(path).ok().filter(|file| inode != 0 && file.ino() == inode)?;
        Some(Self {
            machine: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?,
            device: (device.to_owned(), file.dev()),
            number: inode,
            from: offset + (start - first),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_path: &Path, _contents: &[u8]) -> Option<Self> {
        None
    }
}

/// Sums up these contents, by as many threads as may run at once; `None` if they were not to go on.
pub(crate) fn sum(contents: &[u8], goes_on: impl Fn() -> bool + Sync) -> Option<Sum> {
    let blocks: Vec<&[u8]> = contents.chunks(BLOCK).collect();
    let (next, sums) = (AtomicUsize::new(0), Mutex::new(vec![Sum::default(); blocks.len()]));
    let work = || {
        // Relaxed: each number is given once, and the threads are joined.
        while let number = next.fetch_add(1, Relaxed)
            && let Some(block) = blocks.get(number)
            && goes_on()
        {
            let sum = Sha256::digest(block).into();
            sums.lock()[number] = sum;
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(blocks.len());
        for _ in 1..threads {
            // One that is refused is not needed.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    goes_on().then(|| Sha256::digest(sums.into_inner().as_flattened()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both are mapped from the program's file.
    static TEXT: &[u8] = b"to be or not to be, in the file of this program";
    /// The loader writes the address of the first, and has the rest of the page read alone after that.
    static BESIDE_AN_ADDRESS: (&[u8], [u8; 16]) = (TEXT, *b"to be or not to ");

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_mapped_and_was_not_written_is_known_by_its_file_and_place() {
        let program = std::env::current_exe().expect("the system tells");
        let mapped = |contents| Mapped::of(&program, contents);
        let text = mapped(TEXT);
        assert!(text.is_some() && text == mapped(TEXT));
        assert_ne!(text, mapped(&TEXT[1..]));
        assert_eq!(Mapped::of(Path::new("/proc/self/maps"), TEXT), None, "it is another file's");
        assert_eq!(Mapped::of(Path::new("no such file"), TEXT), None);
        let read = TEXT.to_vec();
        assert_eq!(mapped(&read), None, "it was read");
        assert_eq!(mapped(&BESIDE_AN_ADDRESS.1), None, "it was written beside {:?}", TEXT.as_ptr());
    }

    #[test]
    fn a_file_is_the_same_where_it_is_mapped_alike_or_empty() {
        let (none, one, two) = (None, Some(1), Some(2));
        let is_same =
            |bytes, own, other| Input::known(bytes, own).is_same(&Input::known(bytes, other));
        assert!(is_same(12, one, one) && is_same(0, none, none));
        assert!(!is_same(12, none, none) && !is_same(12, one, none) && !is_same(12, one, two));
    }

    #[test]
    fn a_sum_is_that_of_the_sums_of_blocks_however_many_threads_there_are() {
        let bytes: Vec<u8> = (0..2 * BLOCK + 5).map(|at| at.to_le_bytes()[at % 3]).collect();
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, bytes.len()] {
            let contents = &bytes[..length];
            let blocks = contents.chunks(BLOCK).flat_map(Sha256::digest).collect::<Vec<u8>>();
            let expected: Sum = Sha256::digest(blocks).into();
            assert_eq!(sum(contents, || true), Some(expected), "{length} bytes");
        }
        assert_eq!(sum(&bytes, || false), None);
    }
}
