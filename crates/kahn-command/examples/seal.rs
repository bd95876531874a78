//! A program that is slower than its workers, for two causes: `docs/slow.md` finds them.
//!
//! ```sh
//! seq 1 10000 > lines.txt
//! cargo run --release -p kahn-command --example seal -- run lines.txt --report > sealed.txt
//! ```

use kahn::{Channel, process};
use kahn_command::Answer;
use std::path::PathBuf;
use std::process::ExitCode;

/// Seals each line of a file, so that it is seen whether one was changed or is at another place.
#[derive(clap::Args)]
struct Arguments {
    /// The file
    file: PathBuf,

    /// How many of the two causes are repaired
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    repaired: u8,
}

/// Lines of a page.
const PAGE: u32 = 64;

/// Mixes what is sealed so often that nobody tries out many.
fn seal(text: &str, from: u64, times: u32) -> u64 {
    let mut seal = from;
    for _ in 0..times {
        for byte in text.bytes() {
            seal = (seal ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    seal
}

pub(crate) fn main() -> ExitCode {
    kahn_command::main(|Arguments { file, repaired }: &Arguments, network| {
        let lines = network.lines("lines", process::open(file));
        let pages = network.batch("pages", lines, PAGE as usize);
        let stamped = match repaired {
            // Lines may be long.
            0 => Channel::named("stamped").capacity(1),
            // A page, and the next.
            _ => Channel::named("stamped").capacity(2 * PAGE),
        };
        let stamped = network.flat_map(stamped, pages, |page: Vec<String>| {
            let stamp = seal(&page.concat(), 1, 1000);
            page.into_iter().map(move |line| (line, stamp))
        });
        let sealed = |(line, stamp): (String, u64)| (seal(&line, stamp, 2000), line);
        let sealed = match repaired {
            0 | 1 => network.map("sealed", stamped, sealed),
            _ => network.ordered_map("sealed", stamped, 4, PAGE as usize, sealed),
        };
        let all = network.collect("all", sealed);
        Ok(Answer::new(move |out| {
            let all = all.take().into_iter().flatten();
            all.into_iter().try_for_each(|(seal, line)| writeln!(out, "{seal:016x} {line}"))
        }))
    })
}
