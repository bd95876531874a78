//! Where blocks begin: `.gzi` files as bgzip writes them, seekable tables of zstd, and finding them anew.

use crate::format::{Parsed, bgzf, gzip, u32_at, u64_at, zstd};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Where a block begins.
///
/// # Examples
///
/// ```
/// let entry = kgz::Entry { packed: 100, plain: 65_280 };
/// assert_eq!(entry.plain, 65_280);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    /// The byte of the compressed file.
    pub packed: u64,
    /// The byte of what it decompresses to.
    pub plain: u64,
}

/// Where the blocks of a file begin, and where its data ends.
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Index};
///
/// let mut packed = Vec::new();
/// let done = kgz::compress(&[1; 200_000][..], &mut packed, &Compress::new())?;
/// let mut file = Vec::new();
/// done.index.write_gzi(&mut file).expect("memory takes it");
/// let again = Index::read_gzi(&file[..]).expect("it was written as one");
/// assert_eq!(again.find(70_000), done.index.find(70_000));
/// # Ok::<(), kgz::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    /// The beginnings of blocks that hold data, in order.
    entries: Vec<Entry>,
    /// Where the last of them ends.
    end: Entry,
}

impl Index {
    /// Notes the next block: how many bytes it has and how many it decompresses to.
    pub(crate) fn push(&mut self, packed: u64, plain: u64) {
        if plain > 0 {
            self.entries.push(self.end);
        }
        self.end.packed += packed;
        self.end.plain += plain;
    }

    /// Returns the beginnings of all blocks that hold data.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Compress, Entry};
    ///
    /// let done = kgz::compress(&b"text"[..], Vec::new(), &Compress::new())?;
    /// assert_eq!(done.index.entries(), [Entry { packed: 0, plain: 0 }]);
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the last block that begins at this byte of the plain text or before it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::Compress;
    ///
    /// let done = kgz::compress(&[1; 200_000][..], Vec::new(), &Compress::new())?;
    /// assert_eq!(done.index.find(70_000).plain, 65_280);
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn find(&self, plain: u64) -> Entry {
        let after = self.entries.partition_point(|entry| entry.plain <= plain);
        after.checked_sub(1).map_or(Entry::default(), |at| self.entries[at])
    }

    /// Writes a `.gzi` file: the number of blocks behind the first, and where each of them begins.
    ///
    /// # Errors
    ///
    /// What the writer says.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut file = Vec::new();
    /// kgz::Index::default().write_gzi(&mut file)?;
    /// assert_eq!(file, [0; 8]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_gzi(&self, mut to: impl Write) -> io::Result<()> {
        let entries = self.entries.get(1..).unwrap_or_default();
        to.write_all(&(entries.len() as u64).to_le_bytes())?;
        for entry in entries {
            to.write_all(&entry.packed.to_le_bytes())?;
            to.write_all(&entry.plain.to_le_bytes())?;
        }
        Ok(())
    }

    /// Reads a `.gzi` file. It is believed only as far as its numbers grow.
    ///
    /// # Errors
    ///
    /// If it is cut off, if its numbers do not grow, or what the reader says.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kgz::Index::read_gzi(&[1, 0, 0][..]).is_err());
    /// ```
    pub fn read_gzi(mut from: impl Read) -> io::Result<Self> {
        let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
        let mut number = [0; 8];
        from.read_exact(&mut number)?;
        let count = u64::from_le_bytes(number);
        let mut index = Self { entries: vec![Entry::default()], end: Entry::default() };
        let mut pair = [0; 16];
        for _ in 0..count {
            from.read_exact(&mut pair)?;
            let entry = Entry { packed: u64_at(&pair, 0), plain: u64_at(&pair, 8) };
            if entry.packed <= index.end.packed || entry.plain < index.end.plain {
                return Err(wrong("the index is damaged: its offsets do not grow"));
            }
            index.entries.push(entry);
            index.end = entry;
        }
        Ok(index)
    }

    /// Writes the seekable table of a zstd file, a frame without data. Frames hold less than 4 GiB.
    pub(crate) fn write_table(&self, to: &mut Vec<u8>) {
        let ends = self.entries.iter().skip(1).chain([&self.end]);
        let frames = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        to.extend(zstd::table_header(frames));
        for (begin, end) in self.entries.iter().zip(ends) {
            for size in [end.packed - begin.packed, end.plain - begin.plain] {
                to.extend(u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
            }
        }
        to.extend(zstd::table_footer(frames));
    }

    /// Finds the blocks of a file by their headers, without decompressing them: of a BGZF file by its
    /// blocks, of a zstd file by its table or its frames.
    ///
    /// Returns `None` if blocks cannot be found this way: in plain gzip, in frames that do not tell
    /// their size, and behind damage.
    ///
    /// # Errors
    ///
    /// What the reader says.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Compress, Index};
    /// use std::io::Cursor;
    ///
    /// let mut packed = Vec::new();
    /// let done = kgz::compress(&[1; 200_000][..], &mut packed, &Compress::new())?;
    /// assert_eq!(Index::scan(Cursor::new(&packed)).expect("memory reads"), Some(done.index));
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn scan(mut file: impl Read + Seek) -> io::Result<Option<Self>> {
        file.seek(SeekFrom::Start(0))?;
        let mut index = Self::default();
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            file.by_ref().take(SCAN).read_to_end(&mut buffer)?;
            if buffer.is_empty() {
                return Ok((index.end.packed > 0).then_some(index));
            }
            let Some((packed, plain)) = block_at(&buffer, &mut file, index.end.packed)? else {
                return Ok(None);
            };
            index.push(packed, plain);
            file.seek(SeekFrom::Start(index.end.packed))?;
        }
    }
}

/// How much of a block is looked at first.
const SCAN: u64 = 4 << 10;

/// The size of the block at `at`, whose beginning is in `bytes`, and of what it decompresses to.
fn block_at(
    bytes: &[u8],
    file: &mut (impl Read + Seek),
    at: u64,
) -> io::Result<Option<(u64, u64)>> {
    if let Parsed::Whole(header) = gzip::parse(bytes) {
        let Some(size) = bgzf::size(&header, bytes) else { return Ok(None) };
        let mut length = [0; 4];
        file.seek(SeekFrom::Start(at + size as u64 - 4))?;
        if file.read_exact(&mut length).is_err() {
            return Ok(None);
        }
        return Ok(Some((size as u64, u64::from(u32_at(&length, 0)))));
    }
    match zstd::parse(bytes) {
        Parsed::Whole(zstd::Frame::Skippable(size)) => Ok(Some((size, 0))),
        Parsed::Whole(zstd::Frame::Data(header)) => {
            let Some(content) = header.content else { return Ok(None) };
            let mut end = at + header.length as u64;
            let mut block = [0; 3];
            loop {
                file.seek(SeekFrom::Start(end))?;
                if file.read_exact(&mut block).is_err() {
                    return Ok(None);
                }
                let block = u32::from_le_bytes([block[0], block[1], block[2], 0]);
                end += 3 + if block >> 1 & 3 == 1 { 1 } else { u64::from(block >> 3) };
                if block & 1 != 0 {
                    break;
                }
            }
            Ok(Some((end + 4 * u64::from(header.has_checksum) - at, content)))
        }
        _ => Ok(None),
    }
}
