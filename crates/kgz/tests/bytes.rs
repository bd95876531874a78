//! What is written follows from input, format, level and block size alone.

mod common;

use common::{Draw, text};
use kahn::Options;
use kahn_policies::POLICIES;
use kgz::{Compress, Decompress, Format};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// What the inputs compress to. A new version of a codec may change it: the changelog then says so.
const CHECKSUMS: &str = include_str!("checksums.txt");

fn packed(text: &[u8], settings: &Compress, options: Options) -> Vec<u8> {
    let mut packed = Vec::new();
    kgz::compress_with(text, &mut packed, settings, options).expect("memory is read and written");
    packed
}

fn unpacked(packed: &[u8], parts: usize, options: Options) -> Vec<u8> {
    let mut text = Vec::new();
    kgz::decompress_with(packed, &mut text, &Decompress::new().parts(parts), options)
        .expect("what was compressed is right");
    text
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes it");
        text
    })
}

fn levels(format: Format) -> impl Iterator<Item = u8> {
    let lowest = u8::from(format == Format::Zstd);
    [lowest, 1, 3, 6, 9, 12].into_iter().filter(move |level| *level <= format.highest_level())
}

#[test]
fn the_bytes_are_those_of_the_table() {
    let mut found = String::new();
    for length in [0, 1, 65_279, 65_280, 65_281, 400_000] {
        let text = text(length as u64, length);
        for format in Format::ALL {
            for level in levels(format) {
                let settings = Compress::new().format(format).level(level).parts(2);
                let packed = packed(&text, &settings, Options::new().workers(2));
                assert_eq!(unpacked(&packed, 2, Options::new().workers(2)), text);
                writeln!(
                    found,
                    "{format} level {level}, {length} bytes: {} {}",
                    packed.len(),
                    hex(&packed)
                )
                .expect("a string takes it");
            }
        }
    }
    if std::env::var_os("KGZ_ACCEPT").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/checksums.txt"), &found)
            .expect("the table can be written");
    } else {
        assert!(found == CHECKSUMS, "KGZ_ACCEPT=1 writes the table anew; it is now:\n{found}");
    }
}

#[test]
fn the_bytes_are_the_same_for_each_number_of_parts_workers_and_capacity_under_each_policy() {
    let text = text(7, 300_000);
    for format in Format::ALL {
        for level in [1, 6] {
            let settings = Compress::new().format(format).level(level).block(20_000);
            let expected = packed(&text, &settings.clone().parts(1), Options::new().workers(1));
            for parts in [1, 2, 3, 8] {
                for capacity in [1, 64] {
                    for policy in POLICIES {
                        let options =
                            || Options::new().workers(2).capacity(capacity).policy(policy.clone());
                        let found = packed(&text, &settings.clone().parts(parts), options());
                        assert!(found == expected, "{format}, {parts} parts, capacity {capacity}");
                        assert!(unpacked(&found, parts, options()) == text);
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_compressed_is_what_comes_back() {
    let mut draw = Draw::new(11);
    for seed in 0..150 {
        let length = draw.below(150_000);
        let text = text(seed, length);
        let format = Format::ALL[draw.below(3)];
        let level = draw.level(format.highest_level());
        let block = 1024 + draw.below(60_000);
        let settings =
            Compress::new().format(format).level(level).block(block).parts(1 + draw.below(4));
        let packed = packed(&text, &settings, Options::new().workers(1 + draw.below(2)));
        let again = unpacked(&packed, 1 + draw.below(4), Options::new().workers(1 + draw.below(2)));
        assert!(again == text, "seed {seed}: {settings:?}");
    }
}

#[test]
fn what_does_not_compress_comes_back_and_grows_by_little() {
    let mut draw = Draw::new(5);
    let noise: Vec<u8> = (0..300_000).map(|_| draw.byte()).collect();
    // Those for which the fixed code of deflate has nine bits.
    let high: Vec<u8> = (0..300_000).map(|_| 144 + draw.byte() % 112).collect();
    for text in [noise, high] {
        for format in Format::ALL {
            for level in u8::from(format == Format::Zstd)..=format.highest_level() {
                for block in [1024, 60_000] {
                    let settings = Compress::new().format(format).level(level).block(block);
                    let packed = packed(&text, &settings, Options::new().workers(2));
                    assert!(unpacked(&packed, 2, Options::new()) == text, "{settings:?}");
                    let most = text.len() + text.len() / 100 + 72 * (text.len() / block + 1);
                    assert!(packed.len() <= most, "{settings:?}: {}", packed.len());
                }
            }
        }
    }
}

#[test]
fn members_of_all_formats_follow_one_another() {
    let texts = [text(1, 100_000), text(2, 70_000), text(3, 1), Vec::new(), text(4, 300_000)];
    let mut file = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let settings = Compress::new().format(Format::ALL[index % 3]);
        file.extend(packed(text, &settings, Options::new()));
    }
    // Zeros behind the end fill up blocks of devices.
    file.extend(packed(&[], &Compress::new(), Options::new()));
    file.extend([0; 512]);
    assert!(unpacked(&file, 3, Options::new()) == texts.concat());
}

#[test]
fn no_more_than_the_stated_memory_is_on_its_way() {
    use std::io::{self, Read};
    use std::sync::atomic::{AtomicUsize, Ordering};

    // A writer that counts, and a reader that sees how far it is ahead.
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    struct Ahead {
        read: usize,
        most: usize,
        blocks: usize,
    }
    impl Read for Ahead {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.read >= self.most {
                return Ok(0);
            }
            let ahead = self.read / 10_000 - WRITTEN.load(Ordering::SeqCst);
            assert!(ahead <= self.blocks, "{ahead} blocks are on their way");
            let length = buffer.len().min(10_000 - self.read % 10_000);
            buffer[..length].fill(3);
            self.read += length;
            Ok(length)
        }
    }
    struct Count;
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            WRITTEN.fetch_add(1, Ordering::SeqCst);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let parts = 3;
    let input = Ahead { read: 0, most: 3_000_000, blocks: 2 * parts + 2 };
    let settings = Compress::new().block(10_000).parts(parts);
    kgz::compress_with(input, Count, &settings, Options::new().workers(2))
        .expect("it is read and written");
}
