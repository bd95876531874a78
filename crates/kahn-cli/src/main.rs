//! The command `kahn`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kahn_cli::main(None)
}
