//! What was asked for.

use crate::{Compress, Decompress, Format, SettingError};
use lexopt::{Arg, ValueExt};
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

pub(super) const VERSION: &str = concat!("kgz ", env!("CARGO_PKG_VERSION"), "\n");

pub(super) const HELP: &str = "\
Compresses and decompresses files on all cores, with the same bytes for any number of them.

usage: kgz [options] [FILE...]

FILE becomes FILE.gz, and is removed after success. Without FILE, or for -, standard input
becomes standard output.

what to do
  -d, --decompress         decompress, whatever the format: bgzf, gzip, zstd
  -t, --test               decompress and check, and write nothing
  -l, --list               list sizes
      --range A-B          decompress the bytes from A up to B, B not included, to standard output

how to compress
      --format FORMAT      bgzf (usual), gzip, zstd
  -0 ... -9, -11           faster ... smaller; also --fast, --best
      --level N            0 to 12, zstd 1 to 19 [6]
  -b, --blocksize KIB      input of a block [bgzf 63.75, gzip 128, zstd 1024]
      --index              also write FILE.gz.gzi (bgzf), or end with a seekable table (zstd)
  -N, --name               tell name and time in the header (gzip); with -d: restore them
  -n, --no-name            do not (usual)

files
  -c, --stdout             write to standard output, keep FILE
  -o, --output FILE        write to FILE, keep the input
  -k, --keep               keep FILE
  -f, --force              replace existing files; take links and files with several names
  -r, --recursive          go into folders
  -S, --suffix SUF         suffix of compressed files [gz, zst]

limits
  -p, --processes N        blocks worked on at once [cores]; does not change what is written
      --memory SIZE        for decompressing: windows, and blocks on their way [e.g. 256M]
      --max-output SIZE    end with an error before more than this is written
      --keep-going         leave damaged blocks out, list them, exit with 1

recordings
      --record FILE        also write what is read of one input into the new FILE
      --bundle DIR         the same into the new DIR, which is removed if all goes well
  kgz replay FILE [-p N]   do the same again, from FILE alone and on N threads; write nothing

messages
  -v, --verbose            tell what was saved, and how much memory it takes at most
  -q, --quiet              no warnings
      --stats json         a line of figures for each file, to standard error
  -h, --help               this text
  -V, --version            the version

exit codes: 0 all went well, 1 an error, 2 a warning
";

/// What is to be done.
#[derive(Debug)]
pub(super) enum Asked {
    Help,
    Version,
    Work(Box<Arguments>),
}

/// What is to be done with files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    Compress,
    Decompress,
    Test,
    List,
    Range(Range<u64>),
}

/// Where a recording is kept.
#[derive(Debug)]
pub(super) enum Kept {
    /// In a new file.
    File(PathBuf),
    /// In a new folder, if all does not go well.
    Folder(PathBuf),
}

/// All that was asked for.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) task: Task,
    pub(super) compress: Compress,
    pub(super) format: Format,
    pub(super) decompress: Decompress,
    pub(super) index: bool,
    pub(super) name: bool,
    pub(super) to_stdout: bool,
    pub(super) output: Option<PathBuf>,
    pub(super) keep: bool,
    pub(super) force: bool,
    pub(super) recursive: bool,
    /// With its dot.
    pub(super) suffix: String,
    pub(super) verbose: bool,
    pub(super) quiet: bool,
    pub(super) stats: bool,
    pub(super) kept: Option<Kept>,
    pub(super) files: Vec<PathBuf>,
}

/// Reads arguments.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(arguments.into_iter().map(spell_out));
    let (mut level, mut suffix, mut processes, mut block) = (None, None, None, None);
    let mut format = Format::Bgzf;
    let mut parsed = Arguments {
        task: Task::Compress,
        compress: Compress::new(),
        format,
        decompress: Decompress::new(),
        index: false,
        name: false,
        to_stdout: false,
        output: None,
        keep: false,
        force: false,
        recursive: false,
        suffix: String::new(),
        verbose: false,
        quiet: false,
        stats: false,
        kept: None,
        files: Vec::new(),
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Asked::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Asked::Version),
            Arg::Short('d') | Arg::Long("decompress" | "uncompress") => {
                parsed.task = Task::Decompress;
            }
            Arg::Short('t') | Arg::Long("test") => parsed.task = Task::Test,
            Arg::Short('l') | Arg::Long("list") => parsed.task = Task::List,
            Arg::Long("range") => parsed.task = Task::Range(parser.value()?.parse_with(range)?),
            Arg::Long("format") => format = parser.value()?.parse()?,
            Arg::Short(digit @ '0'..='9') => level = digit.to_string().parse().ok(),
            Arg::Long("fast") => level = Some(1),
            Arg::Long("best") => level = Some(9),
            Arg::Long("level") => level = Some(parser.value()?.parse()?),
            Arg::Short('b') | Arg::Long("blocksize") => {
                block = Some(parser.value()?.parse::<usize>()?);
            }
            Arg::Long("index") => parsed.index = true,
            Arg::Short('N') | Arg::Long("name") => parsed.name = true,
            Arg::Short('n') | Arg::Long("no-name") => parsed.name = false,
            Arg::Short('c') | Arg::Long("stdout" | "to-stdout") => parsed.to_stdout = true,
            Arg::Short('o') | Arg::Long("output") => parsed.output = Some(parser.value()?.into()),
            Arg::Short('k') | Arg::Long("keep") => parsed.keep = true,
            Arg::Short('f') | Arg::Long("force") => parsed.force = true,
            Arg::Short('r') | Arg::Long("recursive") => parsed.recursive = true,
            Arg::Short('S') | Arg::Long("suffix") => suffix = Some(parser.value()?.string()?),
            Arg::Short('p') | Arg::Long("processes") => processes = Some(parser.value()?.parse()?),
            Arg::Long("memory") => {
                parsed.decompress = parsed.decompress.memory(parser.value()?.parse_with(size)?);
            }
            Arg::Long("max-output") => {
                parsed.decompress = parsed.decompress.max_output(parser.value()?.parse_with(size)?);
            }
            Arg::Long("keep-going") => parsed.decompress = parsed.decompress.keep_going(true),
            Arg::Short('v') | Arg::Long("verbose") => parsed.verbose = true,
            Arg::Short('q') | Arg::Long("quiet") => parsed.quiet = true,
            Arg::Long("stats") => {
                let kind = parser.value()?.string()?;
                if kind != "json" {
                    return Err(
                        format!("figures are printed as `--stats json`, not `{kind}`").into()
                    );
                }
                parsed.stats = true;
            }
            Arg::Long(kept @ ("record" | "bundle")) => {
                let kind = if kept == "record" { Kept::File } else { Kept::Folder };
                if parsed.kept.replace(kind(parser.value()?.into())).is_some() {
                    return Err("a run is recorded once: `--record FILE` or `--bundle DIR`".into());
                }
            }
            Arg::Value(file) => parsed.files.push(file.into()),
            other => return Err(other.unexpected()),
        }
    }
    parsed.format = format;
    parsed.compress = parsed.compress.format(format);
    if let Some(level) = level {
        parsed.compress = parsed.compress.level(level);
    }
    if let Some(kib) = block {
        parsed.compress = parsed.compress.block(kib.saturating_mul(1024));
    }
    if let Some(parts) = processes {
        parsed.compress = parsed.compress.parts(parts);
        parsed.decompress = parsed.decompress.parts(parts);
    }
    if parsed.task == Task::Compress {
        if parsed.name {
            parsed.compress = parsed.compress.name([], 0);
        }
        parsed.compress = parsed.compress.seekable(parsed.index && format != Format::Bgzf);
    }
    parsed.suffix = format!(
        ".{}",
        suffix.unwrap_or_else(|| format.suffix().to_owned()).trim_start_matches('.')
    );
    check(&parsed).map_err(|error| lexopt::Error::Custom(error.to_string().into()))?;
    Ok(Asked::Work(Box::new(parsed)))
}

impl Arguments {
    /// How many blocks are worked on at once.
    pub(super) fn parts(&self) -> usize {
        match self.task {
            Task::Compress => self.compress.parts,
            Task::Decompress | Task::Test | Task::List | Task::Range(_) => self.decompress.parts,
        }
    }
}

/// Refuses what does not fit each other.
fn check(arguments: &Arguments) -> Result<(), SettingError> {
    let refuse = |text: &str| Err(SettingError(text.to_owned()));
    arguments.compress.check()?;
    arguments.decompress.check()?;
    let to_one = arguments.output.is_some();
    if to_one && arguments.files.len() > 1 {
        return refuse("`-o` takes the output of one file, and there are several");
    }
    if to_one && arguments.to_stdout {
        return refuse("`-o` and `-c` are two places to write to");
    }
    if to_one && arguments.recursive {
        return refuse("`-o` takes the output of one file, and `-r` finds several");
    }
    let has_file = to_one || !arguments.files.is_empty() && !arguments.to_stdout;
    if arguments.index
        && arguments.task == Task::Compress
        && arguments.format == Format::Bgzf
        && !has_file
    {
        return refuse(
            "`--index` writes a file beside the output, which standard output has not: use `-o`",
        );
    }
    if arguments.kept.is_some() {
        if arguments.files.len() > 1 || arguments.recursive {
            return refuse(
                "one input is recorded: that of `kgz --record run.rec FILE`, or of `< FILE`",
            );
        }
        if arguments.task == Task::Compress && arguments.name && !arguments.files.is_empty() {
            return refuse(
                "a recording has what is in a file, and not the name and time that `-N` keeps",
            );
        }
    }
    if arguments.suffix == "." || arguments.suffix.contains('/') {
        return refuse("a suffix has a letter at least, and no `/`");
    }
    Ok(())
}

/// Spells `-11` out, for options of one letter or digit have one.
fn spell_out(argument: OsString) -> OsString {
    if argument == "-11" { "--level=11".into() } else { argument }
}

/// Reads a size: a number of bytes, or of K, M or G of them.
fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(digits) => (digits, text[digits.len()..].to_ascii_uppercase()),
        None => (text, String::new()),
    };
    let shift = match unit.as_str() {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 0,
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| format!("`{text}` is no size: write 1000, 64K, 256M or 2G"))
}

/// Reads a range of bytes: from the first, up to the second, which may be missing.
fn range(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("`{text}` is no range: write 100-200, or 100- for all from there");
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let from = size(from).map_err(|_| wrong())?;
    let to = if to.is_empty() { u64::MAX } else { size(to).map_err(|_| wrong())? };
    if from > to {
        return Err(format!("the range `{text}` ends before it begins"));
    }
    Ok(from..to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Arguments, String> {
        match parse(arguments.iter().map(OsString::from)) {
            Ok(Asked::Work(arguments)) => Ok(*arguments),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn options_of_gzip_and_pigz_stand_together() {
        let arguments = parsed(&["-kcp4", "-9", "-b", "32", "file"]).expect("they fit");
        assert!(arguments.keep && arguments.to_stdout);
        assert_eq!(arguments.compress.parts, 4);
        assert_eq!(arguments.compress.level, 9);
        assert_eq!(arguments.compress.block, Some(32 << 10));
        assert_eq!(parsed(&["-11"]).expect("pigz has it").compress.level, 11);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (arguments, text) in [
            (&["-o", "a", "b", "c"][..], "several"),
            (&["--format", "lz4"], "there is no format `lz4`"),
            (&["-b", "1000000"], "blocks of bgzf have"),
            (&["-N"], "no place for a name"),
            (&["--range", "9-3"], "ends before it begins"),
            (&["--max-output", "many"], "is no size"),
            (&["--index"], "use `-o`"),
            (&["--record", "a", "b", "c"], "one input"),
            (&["--record", "a", "-r", "b"], "one input"),
            (&["--record", "a", "--format", "gzip", "-N", "b"], "name and time"),
            (&["--record", "a", "--bundle", "b"], "once"),
            (&["--stats", "xml"], "--stats json"),
            (&["-p", "0"], "at least one block"),
            (&["-S", ""], "a suffix has"),
            (&["--frobnicate"], "--frobnicate"),
        ] {
            let error = parsed(arguments).expect_err("it is refused");
            assert!(error.contains(text), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("3"), Ok(3));
        assert_eq!(size("64K"), Ok(64 << 10));
        assert_eq!(size("2g"), Ok(2 << 30));
        assert!(size("").is_err() && size("K").is_err() && size("99999999999G").is_err());
    }
}
