//! A damaged file never hangs, and never gives other bytes than a true beginning without saying so.

mod common;

use common::{Draw, text};
use kahn::Options;
use kgz::{Compress, Decompress, Error, Format};
use std::io::{self, Read, Write};

fn file(format: Format, level: u8) -> (Vec<u8>, Vec<u8>) {
    let mut length = 60_000;
    loop {
        let text = text(5, length);
        let mut packed = Vec::new();
        let settings = Compress::new().format(format).level(level).block(16 << 10);
        kgz::compress(&text[..], &mut packed, &settings).expect("memory is read and written");
        if packed.len() >= 64 << 10 {
            return (text, packed);
        }
        length += 20_000;
    }
}

/// Decompresses, and checks what came out against what is right.
fn check(what: &dyn std::fmt::Display, packed: &[u8], text: &[u8], parts: usize) {
    let mut found = Vec::new();
    let settings = Decompress::new().parts(parts).max_output(1 << 20);
    match kgz::decompress_with(packed, &mut found, &settings, Options::new().workers(2)) {
        Ok(done) if done.garbage.is_none() => {
            assert!(found == text, "{what}: other bytes, and no error");
        }
        // A file of several members whose next one begins with other bytes: told, as gzip tells it.
        Ok(_) => assert!(text.starts_with(&found), "{what}: other bytes before what is ignored"),
        Err(error) => {
            let unchecked = usize::try_from(error.unchecked()).expect("it was in memory");
            assert!(unchecked <= found.len());
            let checked = &found[..found.len() - unchecked];
            assert!(text.starts_with(checked), "{what}: {error}, and other bytes before it");
            assert!(!matches!(error, Error::Run(_)), "{what}: {error}");
        }
    }
}

const FILES: [(Format, u8); 4] =
    [(Format::Bgzf, 6), (Format::Gzip, 6), (Format::Gzip, 12), (Format::Zstd, 3)];

/// Each place of a file, or some of them unless `KGZ_ALL` asks for all.
fn places(length: usize, seed: u64) -> Vec<usize> {
    if std::env::var_os("KGZ_ALL").is_some() {
        return (0..length).collect();
    }
    let mut draw = Draw::new(seed);
    // The first bytes are headers, where a change means most.
    (0..60).chain((0..190).map(|_| draw.below(length))).chain(length - 40..length).collect()
}

#[test]
fn a_changed_byte_is_noticed_or_means_nothing() {
    for (format, level) in FILES {
        let (text, packed) = file(format, level);
        let mut draw = Draw::new(17);
        for at in places(packed.len(), 3) {
            for change in [0xff, 1 << draw.below(8)] {
                let mut changed = packed.clone();
                changed[at] ^= change;
                let what = format!("{format} level {level}, byte {at} changed by {change:#x}");
                check(&what, &changed, &text, 1 + at % 3);
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_off_is_an_error() {
    for (format, level) in FILES {
        let (text, packed) = file(format, level);
        for length in places(packed.len(), 4) {
            let mut found = Vec::new();
            let done = kgz::decompress(&packed[..length], &mut found, &Decompress::new().parts(2));
            // A file of whole members may end behind any of them.
            let is_whole = done.is_ok() && format != Format::Bgzf && level != 6;
            assert!(done.is_err() || is_whole, "{format} level {level} of {length} bytes");
            assert!(text.starts_with(&found), "{format} of {length} bytes");
        }
    }
}

#[test]
fn errors_say_where() {
    let (text, packed) = file(Format::Bgzf, 6);
    let second = usize::from(u16::from_le_bytes([packed[16], packed[17]])) + 1;
    let mut changed = packed;
    changed[second + 100] ^= 0xff;
    let mut found = Vec::new();
    let error =
        kgz::decompress(&changed[..], &mut found, &Decompress::new()).expect_err("it is damaged");
    let text_of_error = error.to_string();
    assert!(text_of_error.starts_with("block 1 at byte "), "{text_of_error}");
    assert!(text_of_error.ends_with("; 16 384 bytes written"), "{text_of_error}");
    assert!(found == text[..16 << 10]);
}

#[test]
fn all_blocks_but_the_damaged_ones_are_there_if_it_keeps_going() {
    let (text, packed) = file(Format::Bgzf, 6);
    let size = |at: usize| usize::from(u16::from_le_bytes([packed[at + 16], packed[at + 17]])) + 1;
    let (second, third) = (size(0), size(0) + size(size(0)));
    for at in [second, second + 1, second + 3, second + 12, second + 16, second + 60, third - 1] {
        let mut changed = packed.clone();
        changed[at] ^= 0xff;
        let mut found = Vec::new();
        let settings = Decompress::new().keep_going(true);
        let done = kgz::decompress(&changed[..], &mut found, &settings).expect("it keeps going");
        if done.damaged.is_empty() {
            // Without its size a block is a gzip member like any other.
            assert!(at == second + 12 && found == text, "byte {at}");
            continue;
        }
        let expected = [&text[..16 << 10], &text[32 << 10..]].concat();
        assert!(found == expected, "byte {at}: {} of {} bytes", found.len(), expected.len());
    }
}

#[test]
fn a_bomb_takes_no_memory_and_ends_where_it_may() {
    // 64 MiB of zeros in a gzip member, 8 GiB in a header of zstd.
    let mut packed = Vec::new();
    let zeros = io::repeat(0).take(64 << 20);
    kgz::compress(zeros, &mut packed, &Compress::new().format(Format::Gzip))
        .expect("it compresses");
    assert!(packed.len() < 1 << 20);
    let done = kgz::decompress(&packed[..], io::sink(), &Decompress::new().max_output(1 << 20));
    assert!(matches!(done, Err(Error::TooLarge { most: 0x10_0000 })));
    let mut frame = 0xfd2f_b528_u32.to_le_bytes().to_vec();
    frame.push(0xe4);
    frame.extend((8_u64 << 30).to_le_bytes());
    frame.extend([1, 0, 0]);
    let done = kgz::decompress(&frame[..], io::sink(), &Decompress::new());
    let error = done.expect_err("the window is too large").to_string();
    assert!(error.contains("it needs a window of 8 589 934 592 bytes"), "{error}");
}

/// A writer that takes so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let length = bytes.len().min(self.0);
        self.0 -= length;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reader that fails behind so many bytes.
struct Broken<'a>(&'a [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.0.read(buffer)
    }
}

#[test]
fn a_reader_or_writer_that_fails_ends_it_with_its_own_error() {
    let (text, packed) = file(Format::Bgzf, 1);
    for room in [0, 1, 5000, 70_000] {
        for parts in [1, 4] {
            let done = kgz::decompress(
                &packed[..],
                Full(room.min(text.len() - 1)),
                &Decompress::new().parts(parts),
            );
            assert!(matches!(done, Err(Error::Write { .. })), "{done:?}");
            let done =
                kgz::compress(&text[..], Full(room.min(60_000)), &Compress::new().parts(parts));
            assert!(matches!(done, Err(Error::Write { .. })), "{done:?}");
            let part = &packed[..room.min(packed.len())];
            let mut found = Vec::new();
            let done = kgz::decompress(Broken(part), &mut found, &Decompress::new().parts(parts));
            assert!(matches!(done, Err(Error::Read { .. })), "{done:?}");
            assert!(text.starts_with(&found));
            let done =
                kgz::compress(Broken(&text[..room]), io::sink(), &Compress::new().parts(parts));
            assert!(matches!(done, Err(Error::Read { .. })), "{done:?}");
        }
    }
}

/// A writer that takes all, until it is asked whether that is safe.
struct Unsafe;

impl Write for Unsafe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn damage_is_told_although_what_came_before_it_cannot_be_kept() {
    let (text, packed) = file(Format::Bgzf, 1);
    let cut = &packed[..packed.len() / 2];
    let done = kgz::decompress(cut, Unsafe, &Decompress::new());
    assert!(matches!(done, Err(Error::Damaged { .. })), "{done:?}");
    let done = kgz::decompress(&packed[..], Unsafe, &Decompress::new());
    assert!(matches!(done, Err(Error::Write { .. })), "{done:?}");
    let done = kgz::compress(Broken(&text), Unsafe, &Compress::new());
    assert!(matches!(done, Err(Error::Read { .. })), "{done:?}");
    let done = kgz::compress(&text[..], Unsafe, &Compress::new());
    assert!(matches!(done, Err(Error::Write { .. })), "{done:?}");
}
