//! Programs of communicating processes: their results do not depend on the schedule, because they
//! see to it; and what comes to a standstill is explained.

use kahn::{Options, Summary};
use kahn_apps::{App, Failure, Variant, run};
use kahn_policies::POLICIES;

/// Every policy, each with another number of workers.
fn ways() -> impl Iterator<Item = (String, Options)> {
    POLICIES.iter().enumerate().map(|(turn, policy)| {
        let workers = [2, 1, 3, 8][turn % 4];
        let options = Options::new().policy(policy.clone()).workers(workers).seed(turn as u64);
        (format!("{}, {workers} workers", policy.name()), options)
    })
}

/// What a program prints in a form, or why it does not.
fn printed(
    app: &str,
    arguments: &[&str],
    variant: Variant,
    options: Options,
) -> Result<String, Failure> {
    let app = App::named(app).expect("the program is in the table");
    let program = app.prepare_from(arguments, None, 1)?;
    let ran = run(&*program, variant, options, |_| {})?;
    assert!(ran.report.is_none_or(|report| report.chooses == variant.chooses()));
    let mut text = Vec::new();
    (ran.answer.lines)(&mut text).expect("memory takes it");
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Runs every form that chooses, except one that gets stuck, in every way, and compares with the
/// sequential form.
fn check(app: &str, arguments: &[&str]) -> String {
    let expected = printed(app, arguments, Variant::Sequential, Options::new()).expect("it ends");
    for &variant in App::named(app).expect("the program is in the table").variants {
        if variant.chooses() && variant != Variant::Deadlock {
            for (way, options) in ways() {
                let found = printed(app, arguments, variant, options).expect("it ends");
                let name = variant.name();
                assert!(found == expected, "{app} {name} {arguments:?} with {way}:\n{found}");
            }
        }
    }
    expected
}

/// Runs a form that must get stuck, in every way; returns the explanations.
fn stuck(app: &str, arguments: &[&str], variant: Variant) -> Vec<String> {
    let explain = |(way, options)| match printed(app, arguments, variant, options) {
        Err(error @ Failure::Run { .. }) => {
            let outcome = error.report().map(|report| report.outcome);
            assert_eq!(outcome, Some(Summary::Deadlock), "{way}");
            error.to_string()
        }
        other => panic!("{app} {arguments:?} did not get stuck with {way}: {other:?}"),
    };
    ways().map(explain).collect()
}

#[test]
fn a_rendezvous_ring_holds_a_token_less_than_processes() {
    for (processes, tokens, cycles) in [(2, 1, 9), (16, 1, 5), (16, 15, 5), (64, 7, 3)] {
        let numbers = [processes, tokens, cycles].map(|number: u32| number.to_string());
        let [processes, tokens, cycles] = numbers.each_ref();
        check("ring", &["--processes", processes, "--tokens", tokens, "--cycles", cycles]);
    }
}

#[test]
fn a_full_rendezvous_ring_is_a_deadlock_that_names_what_waits_for_what() {
    let arguments = ["--processes", "4", "--tokens", "4", "--cycles", "1"];
    for explanation in stuck("ring", &arguments, Variant::Rendezvous) {
        for wait in [
            "`root` waits to send message 5 to `from root`",
            "`element 1` waits to send message",
            "`element 2` waits to send message",
            "`element 3` waits to send message",
        ] {
            assert!(explanation.contains(wait), "`{wait}` is not in\n{explanation}");
        }
    }
}

#[test]
fn a_ring_of_one_cannot_meet_itself() {
    let explanations = stuck("ring", &["--processes", "1"], Variant::Rendezvous);
    assert!(explanations[0].contains("`root`"), "{}", explanations[0]);
}

#[test]
fn commstime_counts() {
    assert_eq!(check("commstime", &["--cycles", "1"]), "1 numbers, sum 0\n");
    assert_eq!(check("commstime", &["--cycles", "1000"]), "1000 numbers, sum 499500\n");
}

#[test]
fn philosophers_who_keep_an_order_all_eat() {
    for (seats, rounds) in [("2", "50"), ("5", "40"), ("100", "3"), ("3", "0")] {
        check("philosophers", &["--seats", seats, "--rounds", rounds]);
    }
}

#[test]
fn philosophers_who_all_take_the_left_fork_are_explained() {
    let arguments = ["--seats", "3", "--rounds", "2"];
    for explanation in stuck("philosophers", &arguments, Variant::Deadlock) {
        for seat in 0..3 {
            let right = (seat + 1) % 3;
            let line = explanation
                .lines()
                .find(|line| line.trim_start().starts_with(&format!("`philosopher {seat}`")))
                .unwrap_or_else(|| panic!("nothing about philosopher {seat} in\n{explanation}"));
            assert!(line.contains(&format!("`fork {right}`")), "{line}");
            assert!(line.contains(&format!("`philosopher {right}`")), "{line}");
        }
    }
}

#[test]
fn balances_do_not_depend_on_the_order_of_orders() {
    for (clients, accounts) in [("1", "1"), ("7", "3"), ("40", "5")] {
        let text =
            check("bank", &["--clients", clients, "--accounts", accounts, "--transfers", "20"]);
        let sum = 1000 * accounts.parse::<u32>().unwrap();
        assert!(text.ends_with(&format!("sum {sum}\n")), "{text}");
    }
}

#[test]
fn the_end_of_a_run_can_be_asked_for() {
    let app = App::named("commstime").unwrap();
    let program = app.prepare_from(&["--cycles", "4000000000"], None, 0).unwrap();
    let ran = run(&*program, Variant::Communicating, Options::new(), |stop| stop.stop());
    let Err(error @ Failure::Run { .. }) = ran else { panic!("it cannot have finished") };
    assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
}

#[test]
fn agents_end_where_the_sequential_ones_do_for_every_size_and_schedule() {
    for (grid, agents, cycles) in [("1", "1", "3"), ("2", "3", "6"), ("3", "4", "12")] {
        check("agents", &["--grid", grid, "--agents", agents, "--cycles", cycles]);
    }
}

#[test]
fn three_hundred_agents_end_where_the_sequential_ones_do() {
    let text = check("agents", &["--grid", "5", "--agents", "12", "--cycles", "2"]);
    assert_eq!(text.lines().count(), 300);
}

#[test]
fn frames_have_the_same_digests_whatever_computes_and_gives_way_when() {
    for (size, when) in [("16x12", "pixel"), ("9x7", "row"), ("40x1", "never")] {
        let text =
            check("mandelbrot", &["--digest", "--frames", "12", "--size", size, "--yield", when]);
        assert_eq!(text.lines().count(), 12);
    }
    assert_eq!(check("mandelbrot", &["--size", "4x4", "--frames", "0", "--digest"]), "");
}

#[test]
fn pictures_have_the_pixels_of_their_frames() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let app = App::named("mandelbrot").unwrap();
    let arguments = ["--size", "5x3", "--frames", "2", "--png", path];
    let program = app.prepare_from(&arguments, Some(3), 0).unwrap();
    let files = |variant| {
        let ran = run(&*program, variant, Options::new(), |_| {}).unwrap();
        let bytes = ran.answer.files.iter().map(|(path, picture)| {
            let mut bytes = Vec::new();
            picture(&mut bytes).unwrap();
            (path.clone(), bytes)
        });
        bytes.collect::<Vec<_>>()
    };
    let pictures = files(Variant::Communicating);
    assert_eq!(pictures, files(Variant::Sequential));
    assert!(pictures[1].0.ends_with("frame-00001.png"), "{pictures:?}");
    assert!(pictures[1].1.starts_with(b"\x89PNG"), "{pictures:?}");
    assert!(app.prepare_from(&["--png", "/no/such/directory"], None, 0).is_err());
}
