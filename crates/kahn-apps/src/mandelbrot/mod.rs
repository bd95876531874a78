//! The Mandelbrot set, frame after frame, nearer and nearer: computing, choosing and giving way.
//!
//! ```text
//!                          ┌─► worker ─┐
//!   farmer ──jobs, claimed─┼─► worker ─┼─results, claimed──► harvester
//!     │                    └─► …      ─┘                       ▲ │
//!     └─────────────── tick: a frame begins ───────────────────┘ │
//!     ◄─────────────── tock: there is room for it ───────────────┘
//! ```
//!
//! The farmer makes a job of each row. The workers, 128 of them, share the receiving end: the one that has
//! the claim takes the frame, the row and the job. After each pixel, or each row, or never, a worker
//! gives way. The harvester alternates over results, the tick of a new frame, which it takes only if
//! that is not too far ahead, and the order to end; it keeps rows in a ring of eight frames. So
//! frames come out in their order, whichever worker computes them.
//!
//! A pixel is two bytes, a colour and a sign, as on a terminal; a frame is known by the sum of its
//! iteration counts and a hash of its bytes.
//!
//! Source: the benchmark of CCSP's tests; Ritson, Sampson and Barnes, "Multicore scheduling for
//! lightweight communicating processes", 2009, section 5.1.

mod frame;
mod kernel;
mod network;

use std::path::PathBuf;

use kahn_csp::Options;

pub use self::frame::{Frame, Keep};
pub use self::kernel::{Row, Zoom};
use crate::{
    Answer, Failure, Program, Progress, Ran, Settings, Stop, Variant, Writer, failed, whole,
};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run mandelbrot --size 256x256 --frames 16 --digest
  kahn run mandelbrot --size 640x480 --frames 64 --png frames     into a directory that is there
  kahn run mandelbrot --yield never --report                      what giving way costs";

/// How many workers there are unless said otherwise.
pub(crate) const DEFAULT_PARTS: usize = 128;

/// The most of them.
pub(crate) const MOST_PARTS: usize = 65_536;

/// What is typed after `mandelbrot`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Width and height of a frame in pixels, each 1 to 16384
    #[arg(long, value_name = "WxH", default_value = "1024x1024", value_parser = size)]
    size: (u32, u32),

    /// How many frames
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = whole(0..=100_000))]
    frames: u32,

    /// Writes a line for each frame: its number, the sum of its iterations, the hash of its bytes
    #[arg(long)]
    digest: bool,

    /// Writes each frame as a picture into a directory
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,

    /// After what a worker gives way to others
    #[arg(long = "yield", value_name = "WHEN", default_value = "pixel")]
    yields: Yield,
}

/// After what a worker gives way to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Yield {
    /// After each pixel, as in the paper
    Pixel,
    /// After each row
    Row,
    /// Not at all, but where it has to wait
    Never,
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=16_384).contains(side));
    let sides =
        text.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
    sides.ok_or_else(|| "expected two numbers from 1 to 16384: `640x480`".to_owned())
}

/// A film: how large, how long.
///
/// ```
/// use kahn_csp::Options;
/// use kahn_apps::mandelbrot::{Film, Keep, Yield};
///
/// let film = Film { width: 32, height: 24, frames: 3 };
/// let options = Options::new().workers(2);
/// let (frames, _report) = film.network(options, 5, Yield::Pixel, Keep::Hash, || {})?;
/// assert_eq!(frames, film.sequential(Keep::Hash));
/// # Ok::<(), kahn_csp::RunError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Film {
    /// The pixels of a row.
    pub width: u32,
    /// The rows of a frame.
    pub height: u32,
    /// How many frames.
    pub frames: u32,
}

impl Film {
    /// Computes the frames on one thread.
    pub fn sequential(self, keep: Keep) -> Vec<Frame> {
        let mut zoom = Zoom::default();
        let mut frames = Vec::new();
        for number in 0..self.frames {
            let mut open = frame::Open::new(number, self.height);
            for row in 0..self.height {
                let (bytes, sum) = self.row(row, zoom).compute(self.width);
                open.put(row, bytes, sum);
            }
            frames.push(open.close(keep));
            zoom.nearer();
        }
        frames
    }

    /// What has to be known to compute a row.
    fn row(self, row: u32, zoom: Zoom) -> Row {
        Row { offset: f64::from(row) - f64::from(self.height) / 2.0, zoom }
    }
}

/// A film with its result, as a program.
#[derive(Debug)]
pub struct MandelbrotProgram {
    film: Film,
    digest: bool,
    png: Option<PathBuf>,
    yields: Yield,
    workers: usize,
    progress: Progress,
}

impl MandelbrotProgram {
    /// Checks that pictures can be written.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if they cannot.
    pub fn prepare(arguments: Arguments, settings: &Settings) -> Result<Self, Failure> {
        let Arguments { size: (width, height), frames, digest, png, yields } = arguments;
        if let Some(folder) = &png
            && !folder.is_dir()
        {
            return Err(Failure::file(folder, "is no directory")
                .with_help("make it first: the pictures go there as frame-00000.png and so on"));
        }
        let film = Film { width, height, frames };
        let progress = Progress::new("frames", Some(frames.into()));
        Ok(Self { film, digest, png, yields, workers: settings.parts, progress })
    }

    fn keep(&self) -> Keep {
        match &self.png {
            Some(_) => Keep::Picture,
            None if self.digest => Keep::Hash,
            None => Keep::Sum,
        }
    }

    fn answer(&self, frames: Vec<Frame>) -> Answer<'_> {
        let Film { width, height, .. } = self.film;
        let lines: Vec<String> = if self.digest {
            frames.iter().map(ToString::to_string).collect()
        } else {
            let iterations: u64 = frames.iter().map(|frame| frame.sum).sum();
            let count = frames.len();
            vec![format!("{count} frames of {width}x{height}, {iterations} iterations")]
        };
        let mut answer =
            Answer::new(move |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")));
        if let Some(folder) = &self.png {
            for frame in frames {
                let path = folder.join(format!("frame-{:05}.png", frame.number));
                let picture: Writer<'_> = Box::new(move |out| frame.write_png(width, height, out));
                answer.files.push((path, picture));
            }
        }
        answer
    }
}

impl Program for MandelbrotProgram {
    fn communicate(
        &self,
        _variant: Variant,
        options: Options,
        stop: &Stop,
    ) -> Result<Ran<'_>, Failure> {
        let watch = || {
            self.progress.add(1);
            stop.obey();
        };
        let ran = self.film.network(options, self.workers, self.yields, self.keep(), watch);
        let (frames, report) = ran.map_err(failed)?;
        Ok(Ran { answer: self.answer(frames), report: Some(report) })
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.film.sequential(self.keep())))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
