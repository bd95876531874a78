//! A command for a network, as typed. This file is both: the program, if the first word is one of its
//! subcommands, and the tests, which start it.

use kahn_command::{Answer, Parts};
use std::env;
use std::process::{Command, ExitCode, Output};

/// Tells of each word how many characters of its beginning the word before it has, too.
#[derive(clap::Args)]
struct Arguments {
    /// The words
    words: Vec<String>,

    /// Forgets to clear what is used again
    #[arg(long)]
    planted: bool,
}

/// A compressor that writes what a word has in common with what it has seen since it was reset.
#[derive(Clone, Default)]
struct Deflate {
    seen: String,
}

impl Deflate {
    fn deflate(&mut self, word: &str, is_planted: bool) -> String {
        // The reset.
        if !is_planted {
            self.seen.clear();
        }
        let common = word.chars().zip(self.seen.chars()).take_while(|(a, b)| a == b).count();
        word.clone_into(&mut self.seen);
        format!("{common}{}", word.chars().skip(common).collect::<String>())
    }
}

fn program() -> ExitCode {
    kahn_command::main_with_parts(
        Parts { default: 2, most: 8 },
        |arguments: Arguments| Ok(arguments),
        |arguments, parts, network| {
            let is_planted = arguments.planted;
            let words = network.source("words", arguments.words.iter().map(String::as_str));
            let make = Deflate::default;
            let deflated =
                network.parallel_map_with("deflate", words, parts, make, move |state, word| {
                    state.deflate(word, is_planted)
                });
            let all = network.collect("all", deflated);
            Ok(Answer::new(move |out| {
                all.take().iter().flatten().try_for_each(|word| writeln!(out, "{word}"))
            }))
        },
    )
}

fn main() -> ExitCode {
    if matches!(env::args().nth(1).as_deref(), Some("run" | "verify" | "graph")) {
        return program();
    }
    state_that_was_reset_is_found_and_named_and_all_else_is_equal();
    numbers_of_parts_are_checked();
    ExitCode::SUCCESS
}

fn typed(line: &str) -> Output {
    let program = env::current_exe().expect("it runs");
    Command::new(program).args(line.split(' ')).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn state_that_was_reset_is_found_and_named_and_all_else_is_equal() {
    let right = typed("verify --parts 2,3,8 aa ab ac ad");
    let told = text(&right.stdout);
    assert_eq!(right.status.code(), Some(0), "{}", text(&right.stderr));
    assert!(told.contains(" with 2, 3 and 8 parts: equal under "), "{told}");

    let planted = typed("verify --parts 2,3,8 aa ab ac ad --planted");
    let told = text(&planted.stderr);
    assert_eq!((planted.status.code(), text(&planted.stdout)), (Some(1), String::new()));
    let expected = "with 2 parts the result is that of the first run, and with 3 parts `0ac` in line 3 \
                    instead of `1c`: message 3 on channel `deflate gather`, written by process \
                    `deflate gather`, is the first that is another; something influences results that \
                    depends on which part does what, such as memory that is used again";
    assert!(told.contains(expected), "{told}");

    // With one number alone there is nothing to see: each run deals out in the same way.
    assert_eq!(typed("verify aa ab ac ad --planted").status.code(), Some(0));
    for (parts, line) in [("2", "1c"), ("3", "0ac")] {
        let run = typed(&format!("run --parts {parts} aa ab ac ad --planted"));
        assert_eq!(text(&run.stdout).lines().nth(2), Some(line));
    }
}

fn numbers_of_parts_are_checked() {
    for (line, what) in [
        ("verify --parts 2,9 a", "--parts 9 is more than"),
        ("verify --parts 2,,3 a", "expected a whole number, 1 or more"),
        ("run --parts 2,3 a", "expected a whole number, 1 or more"),
    ] {
        let output = typed(line);
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(what), "{line}: {told}");
    }
    let help = text(&typed("verify --help").stdout);
    assert!(help.contains("--parts <N,…>") && help.contains("default: 2, at most 8"), "{help}");
}
