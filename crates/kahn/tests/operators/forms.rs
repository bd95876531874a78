//! Each operator has the form that may fail, and creators and parts have all: a table of them, which a new
//! operator must enter.

use super::schedules;
use kahn::testing::Verified;
use kahn::{BoxError, Network, Receiver, Scope};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Makes an operator that fails at a number that is not 0, and what reads it.
type Build = fn(&mut Scope<'_, 'static>, Receiver<u32>, Vec<u32>);

/// What an operator has for functions that may fail.
enum Form {
    /// A method whose name begins with `try_`, called `it`; where it fails: the process, and what it reads.
    Fails(&'static str, &'static str, Build),
    /// None, for this reason.
    None(&'static str),
}

use Form::{Fails, None as Never};

const IT: &str = "part/it";
const NUMBERS: &str = "numbers";
const NO_FUNCTION: &str = "it takes no function";
const SYSTEM: &str = "errors of its reader, its writer or the system are its failures";

fn no(n: u32) -> Result<u32, BoxError> {
    if n == 0 { Ok(0) } else { Err("no".into()) }
}

fn is_zero(n: u32) -> Result<bool, BoxError> {
    Ok(no(n)? == 0)
}

fn read<T: Send + 'static>(s: &mut Scope<'_, 'static>, made: Receiver<T>) {
    s.for_each("read", made, |_| {});
}

/// All operators.
const TABLE: &[(&str, Form)] = &[
    ("batch", Never(NO_FUNCTION)),
    ("blocks", Never(SYSTEM)),
    ("chain", Never(NO_FUNCTION)),
    (
        "chunk_by",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_chunk_by("it", n, |_, n| is_zero(*n));
            read(s, made);
        }),
    ),
    ("collect", Never(NO_FUNCTION)),
    (
        // The form that may fail is called `try_process`.
        "compute",
        Fails(IT, "", |s, n, _| {
            let _sum = s.try_process("it", n, async |mut n| {
                while let Some(n) = n.recv().await {
                    no(n)?;
                }
                Ok(())
            });
        }),
    ),
    ("dedup", Never(NO_FUNCTION)),
    ("delay", Never(NO_FUNCTION)),
    ("feedback", Never("its function is called once, when the network is written down")),
    (
        "filter",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_filter("it", n, |n| is_zero(*n));
            read(s, made);
        }),
    ),
    (
        "flat_map",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_flat_map("it", n, |n| Ok([no(n)?, 0]));
            read(s, made);
        }),
    ),
    ("folder", Never(SYSTEM)),
    (
        "fold",
        Fails(IT, NUMBERS, |s, n, _| {
            let _sum = s.try_fold("it", n, 0, |sum, n| Ok(sum + no(n)?));
        }),
    ),
    ("for_each", Fails(IT, NUMBERS, |s, n, _| s.try_for_each("it", n, |n| no(n).map(drop)))),
    ("gather", Never(NO_FUNCTION)),
    ("gather_weighted", Never(NO_FUNCTION)),
    (
        "group_by_key",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_group_by_key("it", n, |n| no(*n));
            read(s, made);
        }),
    ),
    (
        "inspect",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_inspect("it", n, |n| no(*n).map(drop));
            read(s, made);
        }),
    ),
    (
        "join_by_key",
        Fails(IT, NUMBERS, |s, n, _| {
            let none = s.source("none", []);
            let made = s.try_join_by_key("it", n, none, |n| no(*n), |n: &u32| no(*n));
            read(s, made);
        }),
    ),
    ("lines", Never(SYSTEM)),
    (
        "map",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_map("it", n, no);
            read(s, made);
        }),
    ),
    ("merge_sorted", Never(NO_FUNCTION)),
    (
        "merge_sorted_by_key",
        Fails(IT, NUMBERS, |s, n, _| {
            let none = s.source("none", []);
            let made = s.try_merge_sorted_by_key("it", vec![none, n], |n| no(*n));
            read(s, made);
        }),
    ),
    (
        "ordered_map",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_ordered_map("it", n, 2, 4, no);
            read(s, made);
        }),
    ),
    (
        "ordered_map_with",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_ordered_map_with("it", n, 2, 4, || (), |(), n| no(n));
            read(s, made);
        }),
    ),
    (
        "parallel_map",
        Fails("part/it 0", "part/it scatter 0", |s, n, _| {
            let made = s.try_parallel_map("it", n, 1, no);
            read(s, made);
        }),
    ),
    (
        "parallel_map_with",
        Fails("part/it 0", "part/it scatter 0", |s, n, _| {
            let made = s.try_parallel_map_with("it", n, 1, || (), |(), n| no(n));
            read(s, made);
        }),
    ),
    (
        "rates",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_rates("it", n, 1, 1, 1, |window, out| {
                out.push(no(window[0])?);
                Ok(())
            });
            read(s, made);
        }),
    ),
    ("records", Never(SYSTEM)),
    (
        "scan",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_scan("it", n, (), |(), n| no(n).map(Some));
            read(s, made);
        }),
    ),
    ("scatter", Never(NO_FUNCTION)),
    (
        "scatter_by_key",
        Fails(IT, NUMBERS, |s, n, _| {
            let parts = s.try_scatter_by_key("it", n, 2, |n| no(*n));
            let made = s.gather("all", parts);
            read(s, made);
        }),
    ),
    ("scatter_weighted", Never(NO_FUNCTION)),
    ("skip", Never(NO_FUNCTION)),
    ("sort", Never(NO_FUNCTION)),
    (
        "source",
        Fails(IT, IT, |s, n, numbers| {
            s.for_each("ignore", n, |_| {});
            let made = s.try_source("it", numbers.into_iter().map(no));
            read(s, made);
        }),
    ),
    ("take", Never(NO_FUNCTION)),
    (
        "take_while",
        Fails(IT, NUMBERS, |s, n, _| {
            let made = s.try_take_while("it", n, |n| is_zero(*n));
            read(s, made);
        }),
    ),
    ("tee", Never(NO_FUNCTION)),
    ("top_n", Never(NO_FUNCTION)),
    ("unbatch", Never(NO_FUNCTION)),
    ("window", Never(NO_FUNCTION)),
    ("write", Never(SYSTEM)),
    ("write_file", Never(SYSTEM)),
    ("zip", Never(NO_FUNCTION)),
];

/// A method as it stands in the sources.
struct Method {
    /// The first line of what it is a method of.
    of: String,
    name: String,
    signature: String,
}

/// The methods of networks in these files and folders of the library.
fn methods(of: &str) -> Vec<Method> {
    fn files(path: &Path, into: &mut Vec<PathBuf>) {
        if path.is_dir() {
            for entry in fs::read_dir(path).expect("a folder").flatten() {
                files(&entry.path(), into);
            }
        } else {
            into.push(path.to_owned());
        }
    }
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/network").join(of), &mut found);
    let mut methods = Vec::new();
    for file in found {
        let text = fs::read_to_string(file).expect("a file");
        for block in text.split("\nimpl").skip(1) {
            let of = block.lines().next().unwrap_or_default();
            if !of.contains("Network<") || of.contains(" for ") {
                continue;
            }
            let body = block.split("\n}").next().unwrap_or_default();
            methods.extend(body.split("\n    pub fn ").skip(1).map(|method| Method {
                of: format!("impl{of}"),
                name: method.split(['<', '(']).next().unwrap_or_default().to_owned(),
                signature: method.split("{\n").next().unwrap_or_default().to_owned(),
            }));
        }
    }
    methods
}

/// The head of what networks, creators and parts have.
const ALL: &str = "impl<'env, M: Making> Network<'env, M> {";

#[test]
fn every_operator_is_in_the_table_with_its_form_that_may_fail() {
    let methods = methods("process");
    assert!(methods.len() > TABLE.len(), "methods are found");
    let (forms, operators): (Vec<_>, Vec<_>) =
        methods.iter().partition(|method| method.name.starts_with("try_"));
    let names = |methods: &[&Method]| -> BTreeSet<String> {
        methods.iter().map(|method| method.name.clone()).collect()
    };
    let told: BTreeSet<String> = TABLE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&operators), told, "operators, and those of the table");

    let fails = TABLE.iter().filter(|(_, form)| matches!(form, Fails(..)));
    let expected: BTreeSet<_> = fails
        .map(|(name, _)| match *name {
            "compute" => "try_process".to_owned(),
            name => format!("try_{name}"),
        })
        .collect();
    assert_eq!(names(&forms), expected, "forms that may fail, and those of the table");

    for (name, form) in TABLE {
        let method = operators.iter().find(|method| method.name == *name).expect("it is there");
        if let Never(reason) = form {
            let takes_none = !method.signature.contains("Fn");
            assert!(takes_none || *name == "feedback", "`{name}`: {reason}, and takes a function");
        }
    }
}

#[test]
fn creators_and_parts_have_what_networks_have_for_making() {
    for method in methods("process") {
        assert_eq!(method.of, ALL, "of `{}`", method.name);
    }
    let of_networks = methods("").into_iter().filter(|method| method.of != ALL);
    let of_networks: BTreeSet<_> = of_networks.map(|method| method.name).collect();
    let expected = [
        "dot",
        "input",
        "inputs",
        "new",
        "outside",
        "replay",
        "run",
        "run_async",
        "run_on_rank",
        "run_with",
        "shape",
        "size",
        "stop_handle",
        "svg",
    ];
    assert_eq!(of_networks, expected.map(str::to_owned).into(), "of whole networks alone");
}

/// Runs what fails at certain numbers, in a part of a network or of what a process creates.
fn fails(build: Build, numbers: &[u32], is_created: bool) -> Verified<()> {
    let network = |network: &mut Network<'static>| {
        let items = network.source("numbers", numbers.to_vec());
        if is_created {
            let spawner = network.spawner();
            let list = numbers.to_vec();
            network.process("author", (items, spawner), async move |(items, mut create)| {
                build(&mut create.scope("part"), items, list);
            });
        } else {
            build(&mut network.scope("part"), items, numbers.to_vec());
        }
    };
    schedules().verify(network).expect("in every run the same")
}

#[test]
fn a_failure_is_told_at_the_message_that_led_to_it() {
    for (name, form) in TABLE {
        let Fails(process, channel, build) = form else { continue };
        // The first message, one of the first, and one for which channels have been full.
        for (at, again) in [(0, 3), (1, 1), (17, 30)] {
            // Of the first message no next one is asked.
            let at = if *name == "chunk_by" { at.max(1) } else { at };
            let numbers: Vec<u32> = (0..40).map(|i| u32::from(i == at || i == again)).collect();
            for is_created in [false, true] {
                let verified = fails(*build, &numbers, is_created);
                let failure = &verified.report.failures[0];
                let place = match *channel {
                    "" => String::new(),
                    channel => format!(" at message {} of `{channel}`", at + 1),
                };
                let told = format!("process `{process}` failed{place}: no");
                assert!(failure.to_string().starts_with(&told), "{name}: {failure}");
            }
        }
    }
}
