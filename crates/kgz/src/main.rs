//! The program `kgz`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kgz::command::main(std::env::args_os().skip(1))
}
