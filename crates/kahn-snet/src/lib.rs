//! S-Net: a language that joins sequential boxes into networks, and a runtime for it.
pub mod boxes;
pub mod command;
pub mod diagnostics;
pub mod plan;
mod program;
pub mod record;
pub mod runtime;
pub mod syntax;
pub mod types;

pub use program::Program;
