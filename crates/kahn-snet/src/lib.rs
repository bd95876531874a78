//! S-Net: a language that joins sequential boxes into networks, and a runtime for it.
//!
//! A program goes through these modules, each of which uses only those before it:
//!
//! | module          | from → to                                                                |
//! |-----------------|--------------------------------------------------------------------------|
//! | [`diagnostics`] | errors as data, and as text with the lines they speak of                 |
//! | [`syntax`]      | text → tokens → tree, and back: the formatter                            |
//! | [`types`]       | labels and variants                                                      |
//! | [`plan`]        | tree → parts with their names resolved: all that is static               |
//! | [`inference`]   | plan → what a network takes and makes, and what cannot happen            |
//! | [`record`]      | lines of JSON, elements of XML ↔ records                                 |
//! | [`boxes`]       | closures and C functions → boxes                                         |
//! | [`runtime`]     | plan, boxes, records → records                                           |
//! | [`command`]     | the command line → all of the above                                      |
//!
//! ```
//! use kahn_snet::boxes::{Boxes, Emitter};
//! use kahn_snet::record::Record;
//! use kahn_snet::runtime::{Options, Ready, run};
//! use kahn_snet::Program;
//!
//! let program = Program::read("main.snet", "
//!     box root ((x) -> (y) | (error));
//!     net main connect root .. ([{y} -> {y}] || [{error} -> {failed=error}]);
//! ");
//! let mut boxes = Boxes::of(&program);
//! boxes.add("root", |x: f64, out: &mut Emitter| {
//!     if x < 0.0 { out.emit(2, ("negative",)) } else { out.emit(1, (x.sqrt(),)) }
//! })?;
//! let input = [4.0, -1.0].map(|x| Record::new().field("x", x));
//! let mut output: Vec<Record> = Vec::new();
//! let net = program.net(None).unwrap();
//! run(&program, net, &boxes, &Options::default(), Ready(input.into_iter()), &mut output)?;
//! assert_eq!(output[0], Record::new().field("y", 2.0));
//! assert_eq!(output[1], Record::new().field("failed", "negative"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The language itself is described in `docs/snet.md`.

pub mod boxes;
pub mod command;
pub mod diagnostics;
pub mod inference;
pub mod plan;
mod program;
pub mod record;
pub mod runtime;
pub mod syntax;
pub mod types;

pub use program::{Invalid, Program};

// The program of the language document that is embedded in Rust is compiled and run too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/snet.md")]
mod document {}
