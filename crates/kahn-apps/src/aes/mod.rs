//! AES-128: a file or a block of memory, encrypted by many processes.
//!
//! ```text
//!            ┌──► worker 0 ──┐
//!   ┌─ root ─┼──► …          ├─┐      a part of the text to each in turn, and back
//!   │        └──► worker n ──┘ │
//!   └──────────────────────────┘
//! ```
//!
//! A message says where a part is and how long (Vrba and others: the Nornir run-time system, section
//! 5.3.2; "Evaluating the run-time performance of Kahn process network implementation techniques",
//! section 4.2). There are two forms: a file, for use, with the bytes that `openssl enc` would write;
//! and the papers' own, a generated block that is encrypted in its place several times over by up to
//! 16384 workers.

mod block;
mod cipher;
mod file;
mod network;
mod portable;

use std::fs;
use std::path::{Path, PathBuf};

pub use self::block::{Encryption, Part};
use self::cipher::parse_block;
pub use self::cipher::{BLOCK, Block, Cipher, Direction, Mode};
use crate::{Failure, Program, Settings, at_least_one, output};
use kahn_command::size;

/// How many workers there are, unless the caller says otherwise.
pub(crate) const DEFAULT_PARTS: usize = 8;

/// The most workers, those of the paper.
pub(crate) const MOST_PARTS: usize = 16_384;

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run aes photo.jpg --key-file key --mode ctr --iv 000102030405060708090a0b0c0d0e0f -o photo.aes
  kahn run aes photo.aes --key-file key --mode ctr --iv 000102030405060708090a0b0c0d0e0f -o photo.jpg
  kahn run aes text.txt --key 00112233445566778899aabbccddeeff -o text.aes
  openssl enc -d -aes-128-ecb -K 00112233445566778899aabbccddeeff -in text.aes
  kahn run aes --size 256M --passes 8 --parts 2048 --report       the papers' measurement

Nobody is kept from changing what is encrypted: neither mode shows it. ECB shows which blocks are
equal; CTR is safe as long as no two texts under one key have the same IV, or IVs that are near.";

/// What is typed after `aes`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The file to encrypt, `-` is standard input; without one, a generated block in memory, as in the
    /// papers
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The key: 32 hexadecimal digits. Others can see it while the program runs: see --key-file
    #[arg(long, value_name = "HEX", conflicts_with = "key_file")]
    key: Option<String>,

    /// Reads the key from a file: 32 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// How blocks are joined: `ecb`, as in the papers, or `ctr`, as it should be
    #[arg(long, value_name = "ecb|ctr", default_value = "ecb", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    mode: ModeName,

    /// Where the counter of `ctr` starts: 32 hexadecimal digits, others for each text
    #[arg(long, value_name = "HEX")]
    iv: Option<String>,

    /// Writes to OUT, once all is done, and not to standard output
    #[arg(short, long, value_name = "OUT", requires = "file")]
    output: Option<PathBuf>,

    /// Decrypts instead
    #[arg(long, requires = "file")]
    decrypt: bool,

    /// Adds or expects nothing at the end in `ecb`: the text must be made of whole blocks
    #[arg(long, requires = "file")]
    no_padding: bool,

    /// Without a file: how large the block is, in bytes or with K, M, G
    #[arg(long, value_name = "SIZE", default_value = "256K", value_parser = size::parse)]
    #[arg(conflicts_with = "file")]
    size: u64,

    /// Without a file: how often the block is encrypted
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one::<u32>)]
    #[arg(conflicts_with = "file")]
    passes: u32,

    /// Without a file: encrypts without the processor's own instructions, as the papers' machines did
    #[arg(long, conflicts_with_all = ["file", "iv"])]
    portable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ModeName {
    Ecb,
    Ctr,
}

/// Opens the file, or makes the block ready.
///
/// # Errors
///
/// Returns [`Failure::Input`] if a file is missing, a key or a counter is none, or a text cannot be
/// what it is said to be.
pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Box<dyn Program>, Failure> {
    let mode = mode(arguments)?;
    let workers = settings.parts;
    let Some(file) = &arguments.file else {
        let key = key(arguments)?.unwrap_or_default();
        let cipher = Cipher::new(key, mode, Direction::Encrypt);
        let cipher = match (arguments.portable, mode) {
            (true, Mode::Ecb) => cipher.portable(),
            (true, Mode::Ctr(_)) => {
                return Err(Failure::input("--portable is for --mode ecb, which the papers have"));
            }
            (false, _) => cipher,
        };
        let encryption = Encryption { cipher, passes: arguments.passes, workers };
        let block = block::BlockProgram::prepare(encryption, arguments.size, settings.seed)?;
        return Ok(Box::new(block));
    };
    let missing = || Failure::input("a file needs a key: --key HEX or --key-file FILE");
    let key = key(arguments)?.ok_or_else(missing)?;
    if let Some(path) = &arguments.output {
        output::check_writable(path)?;
    }
    let direction = if arguments.decrypt { Direction::Decrypt } else { Direction::Encrypt };
    let (padding, output) = (!arguments.no_padding, arguments.output.clone());
    let task = file::Task { key, mode, direction, padding, workers, output };
    Ok(Box::new(file::FileProgram::prepare(file, task)?))
}

fn key(arguments: &Arguments) -> Result<Option<Block>, Failure> {
    let parsed = match (&arguments.key, &arguments.key_file) {
        (Some(text), _) => {
            parse_block(text).map_err(|what| Failure::input(format!("--key: {what}")))?
        }
        (None, Some(path)) => key_of(path)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(parsed))
}

fn key_of(path: &Path) -> Result<Block, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|cause| Failure::file(path, format_args!("cannot read the key: {cause}")))?;
    parse_block(text.trim()).map_err(|what| Failure::file(path, what))
}

fn mode(arguments: &Arguments) -> Result<Mode, Failure> {
    let start = match &arguments.iv {
        Some(text) => {
            Some(parse_block(text).map_err(|what| Failure::input(format!("--iv: {what}")))?)
        }
        None => None,
    };
    match (arguments.mode, start) {
        (ModeName::Ecb, None) => Ok(Mode::Ecb),
        (ModeName::Ecb, Some(_)) => {
            Err(Failure::input("--iv is for --mode ctr: there is no counter in ecb"))
        }
        (ModeName::Ctr, Some(start)) => Ok(Mode::Ctr(start)),
        // What is generated is no secret.
        (ModeName::Ctr, None) if arguments.file.is_none() => Ok(Mode::Ctr([0; BLOCK])),
        (ModeName::Ctr, None) => Err(Failure::input("--mode ctr needs --iv HEX")
            .with_help("any 32 hexadecimal digits, others for each text: `openssl rand -hex 16`")),
    }
}
