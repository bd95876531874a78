//! A terminal while a run is shown there, and after it. This file is both: the program, which runs a network on
//! a screen, and the tests, which start it on a terminal that `script` makes.

use std::env;
use std::process::ExitCode;

use kahn::{Network, Options, Summary};
use kahn_live::{Live as _, Screen};

/// Runs a network on a screen, and ends in one of several ways.
fn program(how: &str) -> ExitCode {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0_u64..);
    network.for_each("ignore", numbers, |_| {});
    if how == "options" {
        let stopped = network.run_with(Options::new().live("test")).expect_err("by a key");
        let report = stopped.report().expect("it has run");
        assert_eq!(report.outcome, Summary::Stopped);
        // Nothing was to be said.
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        return ExitCode::SUCCESS;
    }
    let (by_key, by_program) = (network.stop_handle(), network.stop_handle());
    let screen = Screen::start("test", network.stop_handle(), move || by_key.stop());
    let screen = screen.expect("there is a terminal");
    match how {
        // Until a key stops it.
        "key" => drop(network.run()),
        "end" => {
            by_program.stop();
            drop(network.run());
        }
        "panic" => panic!("on purpose"),
        "leave" => {
            kahn_live::leave();
            kahn::process::exit(3);
        }
        other => panic!("{other}"),
    }
    drop(screen);
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    if let Some(how) = env::args().nth(1).filter(|word| !word.starts_with('-')) {
        return program(&how);
    }
    #[cfg(target_os = "linux")]
    tests::all();
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
mod tests {
    use std::env;
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    const TAKEN: &str = "\u{1b}[?1049h";
    const GIVEN_BACK: &str = "\u{1b}[?1049l";

    /// Skips all where there is no program that makes terminals.
    pub(super) fn all() {
        if Command::new("script").arg("--version").output().is_err() {
            return;
        }
        for (how, keys, told) in [
            ("end", "", "ended: 0"),
            ("key", "q", "ended: 0"),
            // Ctrl-C as a terminal has it, which is no signal while a screen has that.
            ("key", "\u{3}", "ended: 0"),
            ("key", "xe\tq", "ended: 0"),
            ("options", "q", "ended: 0"),
            ("panic", "", "on purpose"),
            ("leave", "", "ended: 3"),
        ] {
            let shown = on_a_terminal(how, keys);
            let (during, after) = shown.rsplit_once(GIVEN_BACK).expect("it is given back");
            assert_eq!(during.matches(TAKEN).count(), 1, "{how}: {shown}");
            assert!(!during.contains(GIVEN_BACK), "once: {how}: {shown}");
            assert!(after.contains(told), "what is said is seen: {how}: {shown}");
            // What `stty` says of it at the end: lines, and what is typed is seen.
            assert!(after.contains(" icanon ") && after.contains(" echo "), "{how}: {after}");
        }
    }

    /// What a terminal shows on which this program runs, and `stty` after it.
    fn on_a_terminal(how: &str, keys: &str) -> String {
        let program = env::current_exe().expect("it runs");
        let line = format!("'{}' {how}; echo ended: $?; stty -a | tr '\\n' ' '", program.display());
        let mut script = Command::new("script")
            .args(["--quiet", "--command", &line, "/dev/null"])
            .env("TERM", "xterm")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (mut keyboard, mut output) =
            (script.stdin.take().expect("a pipe"), script.stdout.take().expect("a pipe"));
        let (mut shown, mut bytes, mut is_typed) = (Vec::new(), [0; 4096], false);
        loop {
            let count = output.read(&mut bytes).expect("it shows something");
            if count == 0 {
                break;
            }
            shown.extend_from_slice(&bytes[..count]);
            // When the screen is there: until then the terminal has its lines.
            if !is_typed && String::from_utf8_lossy(&shown).contains(TAKEN) {
                is_typed = true;
                keyboard.write_all(keys.as_bytes()).expect("it is typed");
            }
        }
        script.wait().expect("it ends");
        // Open until now: the end of what is typed is an end of the terminal.
        drop(keyboard);
        String::from_utf8_lossy(&shown).into_owned()
    }
}
