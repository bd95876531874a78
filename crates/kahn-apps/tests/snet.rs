//! The programs in S-Net: each against its direct computation, in both runtimes, for 1, 2 and 8
//! workers, and in one order where the program has one.

use kahn_apps::snet::image::{Image, case_of, result};
use kahn_apps::snet::{PROGRAMS, SnetProgram};
use kahn_snet::Program;
use kahn_snet::boxes::Boxes;
use kahn_snet::record::Record;
use kahn_snet::runtime::{Options, Ready, Runtime, run};

fn ways() -> impl Iterator<Item = Options> {
    let network =
        |policy: Option<&str>| Runtime::Network { policy: policy.and_then(kahn_policies::named) };
    let runtimes = [Runtime::Front, network(None)];
    let all = runtimes.into_iter().flat_map(|runtime| [1, 2, 8].map(|n| (runtime.clone(), n)));
    all.map(|(runtime, workers)| Options { runtime, workers, ..Options::default() })
}

fn lines(output: &[Record]) -> Vec<String> {
    output.iter().map(ToString::to_string).collect()
}

fn check(program: &SnetProgram) {
    let read = program.program();
    assert!(read.is_valid() && read.diagnostics().is_empty(), "{}", read.render(false));
    let case = program.case(program.small);
    let mut first: Option<Vec<String>> = None;
    for options in ways() {
        let name = program.name;
        let (output, report) = program.run(&case, &options).expect("it runs");
        case.check(&output).unwrap_or_else(|wrong| panic!("{name}, {options:?}: {wrong}"));
        assert_eq!(report.half_filled, Vec::<String>::new(), "{name}, {options:?}");
        if program.ordered {
            let found = lines(&output);
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "{name}, {options:?}");
        }
    }
}

macro_rules! each {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(SnetProgram::named(stringify!($name)).expect("it is in the table"));
        })*

        #[test]
        fn every_program_of_the_table_is_tested() {
            let tested = [$(stringify!($name)),*];
            let all: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            assert_eq!(all, tested);
        }
    };
}

each! {
    factorial fibonacci fibonacci_ordered poweroftwo poweroftwo_masks sieve matrix cannon cholesky
    image des dictionary filters choices choices_ordered busy
}

/// Runs the sieve, as it is written or changed, many times on several workers.
fn sieve_often(change: impl Fn(&'static str) -> String) {
    let sieve = SnetProgram::named("sieve").expect("it is in the table");
    let program = Program::read("sieve.snet", change(sieve.source));
    assert!(program.is_valid(), "{}", program.render(false));
    let net = program.net(None).expect("it has a net");
    let boxes = Boxes::of(&program);
    let case = sieve.case(sieve.small);
    for _ in 0..30 {
        for workers in [2, 8] {
            let options = Options { workers, ..Options::default() };
            let mut output = Vec::new();
            let input = case.input.clone().into_iter();
            let report = run(&program, net, &boxes, &options, Ready(input), &mut output);
            assert_eq!(report.expect("it runs").half_filled, Vec::<String>::new());
            case.check(&output).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
}

/// What comes past collected replicas of an ordered star keeps its order: they lie in a net that
/// declares what it takes.
#[test]
fn records_keep_their_order_past_collected_replicas() {
    sieve_often(str::to_owned);
}

/// The same where each record is made anew in each replica that it comes past.
#[test]
fn records_keep_their_order_through_collected_replicas() {
    sieve_often(|source| source.replace("(test || [])", "(test || [{<i>} -> {<i=i + 0>}] || [])"));
}

/// Records go towards the output first, so a recursion is not unfolded before it is folded: what
/// waits is a few batches for each level, however many calls there are.
#[test]
fn few_records_wait_on_one_worker() {
    let most_waiting = |name: &str, size: usize| {
        let program = SnetProgram::named(name).expect("it is in the table");
        let options = Options { workers: 1, ..Options::default() };
        let (_, report) = program.run(&program.case(size), &options).expect("it runs");
        report.components.iter().map(|component| component.waited).max()
    };
    for (name, size) in [("fibonacci", 24), ("fibonacci_ordered", 24), ("poweroftwo", 15)] {
        let most = most_waiting(name, size);
        assert!(most < Some(3000), "{name}: {most:?} records waited at one place");
    }
}

#[test]
fn an_image_goes_from_file_to_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (before, after) = (folder.path().join("before.ppm"), folder.path().join("after.ppm"));
    let noise = (0_u32..40 * 30 * 3).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]);
    let pixmap = [b"P6\n40 30\n255\n".to_vec(), noise.collect()].concat();
    std::fs::write(&before, pixmap).expect("written");
    let image = Image::read(&std::fs::read(&before).expect("read")).expect("a pixmap");
    let wanted = image.filtered();
    let program = SnetProgram::named("image").expect("it is in the table");
    let (output, _) = program.run(&case_of(vec![image]), &Options::default()).expect("it runs");
    std::fs::write(&after, result(&output[0]).expect("an image").write()).expect("written");
    let found = Image::read(&std::fs::read(&after).expect("read")).expect("a pixmap");
    assert_eq!(found, wanted);
}

#[test]
fn what_is_no_pixmap_is_refused() {
    for wrong in [&b"P5\n1 1\n255\nx"[..], b"P6\n2 2\n255\nabc", b"P6\n1 1\n65535\nabcabc", b"P6 x"]
    {
        assert!(Image::read(wrong).is_err());
    }
}
