//! Writes a text with words as in natural language: few are frequent, many are rare.
//!
//! ```text
//! cargo run --release --example zipf -- BYTES [VOCABULARY [SEED]] > text.txt
//! ```

use std::env;
use std::io::{self, BufWriter};
use std::process::ExitCode;

use kahn_apps::zipf::write_text;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default)).ok();
    let (bytes, vocabulary, seed) = (next(0), next(260_000), next(1));
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let vocabulary = vocabulary.and_then(|vocabulary| u32::try_from(vocabulary).ok());
    let (Some(bytes @ 1..), Some(vocabulary @ 1..), Some(seed)) = (bytes, vocabulary, seed) else {
        report("usage: zipf BYTES [VOCABULARY [SEED]]");
        return ExitCode::from(2);
    };
    match write_text(bytes, vocabulary, seed, &mut BufWriter::new(io::stdout().lock())) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            report(&format!("zipf: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

#[expect(clippy::print_stderr, reason = "an example speaks to its user")]
fn report(message: &str) {
    eprintln!("{message}");
}
