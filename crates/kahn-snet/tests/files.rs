//! What the command makes of files: programs as they are, comments where they stood, pictures, XML.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::Parser;
use kahn_snet::boxes::Boxes;
use kahn_snet::command::{Command, Streams, perform};
use kahn_snet::record::{Record, XmlReader, write_xml};
use kahn_snet::runtime::{Options, Ready, Runtime, run};
use kahn_snet::{Program, syntax};
use parking_lot::Mutex;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What a stream got.
#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<u8>>>);

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Types a command; returns the exit code, the result and the messages.
fn typed(words: &[&str]) -> (u8, String, String) {
    let words = ["snet"].iter().chain(words);
    let arguments = Arguments::try_parse_from(words).expect("well typed");
    let (output, messages) = (Collected::default(), Collected::default());
    let mut streams = Streams {
        input: Box::new(std::io::empty()),
        output: Box::new(output.clone()),
        descriptor: None,
        messages: Box::new(messages.clone()),
        colour: false,
    };
    let code = perform(&arguments.command, &mut streams);
    drop(streams);
    let text = |stream: Collected| String::from_utf8_lossy(&stream.0.lock()).into_owned();
    (code, text(output), text(messages))
}

fn written(folder: &Path, text: &str) -> String {
    let path = folder.join("main.snet");
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn a_file_that_begins_with_a_byte_order_mark_is_a_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "\u{feff}net main connect [{a} -> {b=a}];\n");
    assert_eq!(typed(&["check", &file]), (0, String::new(), String::new()));
    assert_eq!(typed(&["fmt", &file]).1, "net main connect [{a} -> {b=a}];\n");
}

#[test]
fn a_picture_is_written_alone_and_may_be_read_by_whom_other_files_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "net main connect [{a} -> {b=a}];");
    let picture = folder.path().join("main.svg");
    let words = ["graph", &file, "--svg", &picture.display().to_string()];
    assert_eq!(typed(&words), (0, String::new(), String::new()));
    let text = std::fs::read_to_string(&picture).expect("drawn");
    assert!(text.contains("<svg"), "{text}");
    let usual = std::fs::metadata(&file).expect("there").permissions();
    assert_eq!(std::fs::metadata(&picture).expect("there").permissions(), usual);
}

#[test]
fn comments_stay_with_the_operands_they_stand_by() {
    let source = "net main connect // the whole
  [{a} -> {b=a}] // first
  .. /* middle */ [{b} -> {c=b}]; // last

net sig ( {a} -> {b} // why
 ) connect [{a} -> // inside
 {b=a}];
net deep ({a} -> ...) {
  // in the braces
  box f ((a) -> (b)); // behind the box
  // before the brace
} connect // a star
 ( f // works
   | [] /* waits */ ) * {b}, // done
   {c};
";
    let wanted = "net main
connect
    // the whole
    [{a} -> {b=a}]  // first
    /* middle */
    .. [{b} -> {c=b}];  // last

// why
net sig ({a} -> {b})
connect
    // inside
    [{a} -> {b=a}];
net deep ({a} -> ...)
{
    // in the braces
    box f ((a) -> (b));  // behind the box
    // before the brace
}
connect
    // a star
    // done
    (
        f  // works
            | []  /* waits */
    ) * {b}, {c};
";
    let printed = syntax::format(source).expect("a program");
    assert_eq!(printed, wanted);
    assert_eq!(syntax::format(&printed).expect("a program"), printed);
}

#[test]
fn a_long_sum_is_read_printed_and_computed() {
    let source = |terms: usize| {
        let sum = vec!["n"; terms].join(" + ");
        format!("net main connect [{{<n>}} -> {{<n={sum}>}}];\n")
    };
    let program = Program::read("main.snet", source(1000));
    assert_eq!(program.render(false), "");
    assert_eq!(syntax::format(&source(1000)).expect("a program").matches(" + ").count(), 999);
    for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
        let options = Options { runtime, ..Options::default() };
        let mut output = Vec::new();
        let input = Ready(std::iter::once(Record::new().tag("n", 3)));
        let net = program.net(None).expect("a net");
        run(&program, net, &Boxes::of(&program), &options, input, &mut output).expect("it runs");
        assert_eq!(output, [Record::new().tag("n", 3000)]);
    }
    let messages = Program::read("main.snet", source(2000)).render(false);
    assert!(messages.contains("more than 1000 operations"), "{messages}");
}

#[test]
fn reals_in_xml_are_short_and_read_as_they_were() {
    for real in [1e300, -1e-300, f64::MIN_POSITIVE, f64::MAX, 0.1, 1e16, 5e-324, 0.0, 1e17, 2.5] {
        let record = Record::new().field("r", real);
        let mut bytes = Vec::new();
        write_xml(&record, &mut bytes).expect("it has a form");
        let text = String::from_utf8(bytes.clone()).expect("text");
        assert!(text.len() < 180, "{} bytes: {text}", text.len());
        let read = XmlReader::new(bytes.as_slice()).next();
        assert_eq!(read.expect("a record").expect("well formed"), record, "{text}");
    }
}

#[test]
fn a_report_names_an_ordered_feedback_as_it_is_written() {
    for (slash, name) in [("\\", "feedback \\ {<n>}"), ("\\\\", "feedback \\\\ {<n>}")] {
        let program = Program::read(
            "main.snet",
            format!(
                "net main connect [{{<n>}} -> if <n > 0> then {{<n=n - 1>}} else {{<done>}}] {slash} {{<n>}};"
            ),
        );
        for runtime in [Runtime::Front, Runtime::Network { policy: None }] {
            let options = Options { runtime, ..Options::default() };
            let input = Ready(std::iter::once(Record::new().tag("n", 3)));
            let (net, boxes) = (program.net(None).expect("a net"), Boxes::of(&program));
            let report = run(&program, net, &boxes, &options, input, &mut Vec::<Record>::new());
            let report = format!("{:#}", report.expect("it runs"));
            let named = report.lines().any(|line| line.contains(&format!("  {name}")));
            assert!(named, "no `{name}` in\n{report}");
        }
    }
}

#[test]
fn a_bypass_that_names_its_type_costs_no_walk_through_replicas_that_are_done() {
    let program = Program::read(
        "main.snet",
        "net main connect ([| {<sum>}, {<n>} |] .. (step | [{<n>} -> {<n>}])) * {<out>};
         net step connect [{<sum>, <n>} -> {<sum=sum + n>}; {<out=sum>}];",
    );
    let input = std::iter::once(Record::new().tag("sum", 0));
    let input = input.chain((0..2000).map(|n| Record::new().tag("n", n)));
    let mut output = Vec::new();
    let (net, boxes) = (program.net(None).expect("a net"), Boxes::of(&program));
    let options = Options { workers: 1, ..Options::default() };
    let report = run(&program, net, &boxes, &options, Ready(input), &mut output).expect("it runs");
    assert_eq!(output.len(), 2000);
    let steps: u64 = report.components.iter().map(|component| component.records).sum();
    // A batch walks through the replicas of its own records, at most; all would be millions.
    assert!(steps < 500_000, "{steps} steps for 2000 records");
}

#[test]
fn too_few_or_too_many_arguments_of_an_emission_end_the_run() {
    let wrong = ["kahn_snet_out(box, 1)", "kahn_snet_out(box, 1, n, n)", "C4SNetOut(box, 2, n)"];
    for call in wrong {
        let folder = tempfile::tempdir().expect("a folder");
        let source = format!(
            "box f ((<n>) -> (<n>) | (<n>, <m>)) {{ <<< C |
                 void *f(void *box, int n) {{ {call}; return box; }} >>> }}
             net main connect f;"
        );
        let file = written(folder.path(), &source);
        let records = folder.path().join("records");
        std::fs::write(&records, "{\"tags\":{\"n\":1}}\n").expect("written");
        let words = ["run", &file, "--input", &records.display().to_string()];
        let (code, output, messages) = typed(&words);
        assert_eq!((code, output.as_str()), (1, ""), "{call}: {messages}");
        assert!(messages.contains("box `f` failed: it emits"), "{call}: {messages}");
        assert!(messages.contains("values as (<n>"), "{call}: {messages}");
    }
}

#[test]
fn an_error_that_main_returns_is_printed_for_a_person() {
    let program = Program::read("main.snet", "box f ((a) -> (b)); net main connect f;");
    let (net, boxes) = (program.net(None).expect("a net"), Boxes::of(&program));
    let input = Ready(std::iter::empty());
    let error = run(&program, net, &boxes, &Options::default(), input, &mut Vec::<Record>::new());
    assert_eq!(format!("{:?}", error.unwrap_err()), "no function for box `f`");
    let error = Program::read("main.snet", "net main connect f;").checked().unwrap_err();
    assert!(format!("{error:?}").contains("error[E010]: no box or net `f`"), "{error:?}");
}

/// Does nothing unless the next test starts this program again.
#[test]
#[expect(clippy::disallowed_methods, reason = "how the test tells its child what to do")]
fn child_of_the_next_test() {
    if std::env::var("KAHN_SNET_PRINT").is_err() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = "box f ((<n>) -> (<n>)) { <<< C |
            extern int printf(const char *, ...);
            extern int fflush(void *);
            void *f(void *box, int n)
            {
                printf(\"hello %d, \", n);
                fflush(0);
                kahn_snet_out(box, 1, n);
                return box;
            } >>> }
        net main connect f;";
    let file = written(folder.path(), source);
    let words = ["snet", "run", &file];
    let command = Arguments::try_parse_from(words).expect("well typed").command;
    let mut streams = Streams::of_process();
    streams.input = Box::new(std::io::Cursor::new("{\"tags\":{\"n\":1}}\n{\"tags\":{\"n\":2}}\n"));
    assert_eq!(perform(&command, &mut streams), 0);
}

#[test]
fn what_boxes_print_is_not_among_the_records() {
    let child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "child_of_the_next_test", "--nocapture"])
        .env("KAHN_SNET_PRINT", "1")
        .output()
        .expect("started");
    let output = String::from_utf8_lossy(&child.stdout);
    let messages = String::from_utf8_lossy(&child.stderr);
    assert!(
        output.contains("{\"tags\":{\"n\":1}}\n{\"tags\":{\"n\":2}}\n"),
        "{output}\n{messages}"
    );
    assert!(!output.contains("hello"), "{output}");
    assert!(messages.contains("hello 1, ") && messages.contains("hello 2, "), "{messages}");
}
