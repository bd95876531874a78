//! Runs an S-Net program with boxes in Rust at any size, and checks what comes out.
//!
//! ```text
//! cargo run --release -p kahn-apps --example snet_program -- NAME SIZE [WORKERS [POLICY]]
//! cargo run --release -p kahn-apps --example snet_program -- cholesky 4096 2
//! ```
//!
//! With a policy of `kahn list` its components are processes, else workers follow its records. The
//! report goes to standard error, the relative error that is left to standard output.

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;

use kahn_apps::snet::{PROGRAMS, SnetProgram};
use kahn_snet::runtime::{Options, Runtime};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let Some((program, size, options)) = asked(&words) else {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        tell(&format!("usage: snet_program NAME SIZE [WORKERS [POLICY]]\nof {}", names.join(" ")));
        return ExitCode::from(2);
    };
    match run(program, size, &options) {
        Ok(error) => {
            let written = writeln!(io::stdout(), "relative error {error:e}");
            written.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        Err(error) => {
            tell(&format!("snet_program: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn asked(words: &[String]) -> Option<(&'static SnetProgram, usize, Options)> {
    let (name, size) = (words.first()?, words.get(1)?.parse().ok()?);
    let mut options = Options::default();
    if let Some(workers) = words.get(2) {
        options.workers = workers.parse().ok().filter(|workers| *workers > 0)?;
    }
    if let Some(policy) = words.get(3) {
        options.runtime = Runtime::Network { policy: Some(kahn_policies::named(policy)?) };
    }
    Some((SnetProgram::named(name)?, size, options))
}

fn run(
    program: &SnetProgram,
    size: usize,
    options: &Options,
) -> Result<f64, Box<dyn std::error::Error>> {
    let case = program.case(size);
    let (output, report) = program.run(&case, options)?;
    tell(&report.to_string());
    Ok(case.check(&output)?)
}

fn tell(text: &str) {
    // Nobody is left to tell that standard error is closed.
    let _ = writeln!(io::stderr(), "{text}");
}

#[test]
fn a_small_program_runs_and_is_right() {
    let words = ["factorial", "5", "2"].map(str::to_owned);
    let (program, size, options) = asked(&words).expect("it is in the table");
    assert!(run(program, size, &options).expect("it runs").abs() < 1e-12);
    assert!(asked(&["factorial".to_owned()]).is_none());
}
