//! The command as it is typed: what it prints, what it tells, and its exit codes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use kahn_snet::command::{Command, Streams, perform};
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

impl Collected {
    fn text(&self) -> String {
        let bytes = self.0.lock();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Types a command; returns the exit code, the result and the messages.
fn typed(words: &[&str], input: &str) -> (u8, String, String) {
    let words = ["snet"].iter().chain(words);
    let arguments = Arguments::try_parse_from(words).expect("well typed");
    let (output, messages) = (Collected::default(), Collected::default());
    let mut streams = Streams {
        input: Box::new(std::io::Cursor::new(input.to_owned())),
        output: Box::new(output.clone()),
        descriptor: None,
        messages: Box::new(messages.clone()),
        colour: false,
    };
    let code = perform(&arguments.command, &mut streams);
    drop(streams);
    (code, output.text(), messages.text())
}

/// A file with this text, in a folder of its own.
struct Written {
    folder: tempfile::TempDir,
}

impl Written {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("main.snet"), text).expect("written");
        Self { folder }
    }

    fn path(&self) -> String {
        self.folder.path().join("main.snet").display().to_string()
    }
}

fn c_file(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "c", name].iter().collect();
    path.display().to_string()
}

const FACTORIAL: &str = "
    <metadata> <boxdefault> <interface value=\"C4SNet\" /> </boxdefault> </metadata>
    net factorial
    {
        box leq1 ((x) -> (x, p));
        box condif ((p) -> (<T>) | (<F>));
        net compute
        {
            box minus ((x) -> (xx));
            box mult ((xm, rm) -> (rrm));
        }
        connect [{<F>, x, r} -> {xm=x, rm=r}; {x=x}] .. (minus | mult @ 2)
            .. ([| {xx}, {rrm} |] @ 2 * {xx, rrm}) .. [{xx, rrm} -> {x=xx, r=rrm}];
    }
    connect (leq1 .. condif .. ([{<T>} -> {<stop>}] | compute)) * {<stop>};
    <metadata> <box name=\"minus\"> <boxname value=\"sub\" /> </box> </metadata>
";

#[test]
fn box_sources_for_the_old_interface_run_unchanged() {
    let file = Written::new(FACTORIAL);
    let input = "{\"fields\":{\"x\":5,\"r\":2}}\n{\"fields\":{\"x\":3,\"r\":2}}\n";
    let words = ["run", &file.path(), "--boxes", &c_file("old.c")];
    let (code, output, messages) = typed(&words, input);
    assert_eq!(code, 0, "{messages}");
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let expected = [
        r#"{"fields":{"p":1,"r":12,"x":1},"tags":{"stop":0}}"#,
        r#"{"fields":{"p":1,"r":240,"x":1},"tags":{"stop":0}}"#,
    ];
    // `p` is consumed by `condif`.
    let expected: Vec<String> = expected.iter().map(|line| line.replace("\"p\":1,", "")).collect();
    assert_eq!(lines, expected, "{messages}");
}

#[test]
fn the_old_interface_is_read_and_written_as_xml() {
    let file = Written::new(FACTORIAL);
    let input = "<?xml version=\"1.0\" ?>\n<record xmlns=\"snet-home.org\" type=\"data\" \
        mode=\"textual\" interface=\"C4SNet\">\n<field label=\"x\">(int)4</field> <field \
        label=\"r\" interface=\"C4SNet\">(int)2</field>\n</record>\n<record type=\"terminate\" />";
    let words = ["run", &file.path(), "--boxes", &c_file("old.c"), "--format", "xml"];
    let (code, output, messages) = typed(&words, input);
    assert_eq!(code, 0, "{messages}");
    assert!(output.starts_with("<?xml"), "{output}");
    assert!(output.contains("<field label=\"r\">(int)48</field>"), "{output}");
    assert!(output.contains("<tag label=\"stop\">0</tag>"), "{output}");
    assert!(output.ends_with("type=\"terminate\" />\n"), "{output}");
}

const NEW: &str = "
    box scale ((values, <factor>) -> (values) | (<count>));
    box check_text ((text) -> (text));
    box many ((<a>, <b>, <c>, <d>, <e>, <f>, <g>, <h>, <i>, <j>) -> (<sum>));
    box wrong ((<n>) -> (<n>));
    net main connect scale | check_text | many | wrong;
";

fn new_boxes(input: &str) -> (u8, String, String) {
    let file = Written::new(NEW);
    typed(&["run", &file.path(), "--boxes", &c_file("new.c"), "--workers", "2"], input)
}

#[test]
fn c_boxes_take_arrays_and_many_tags() {
    let (code, output, messages) =
        new_boxes("{\"fields\":{\"values\":[1.5,2]},\"tags\":{\"factor\":3}}");
    assert_eq!(code, 0, "{messages}");
    assert_eq!(output, "{\"fields\":{\"values\":[4.5,6.0]}}\n{\"tags\":{\"count\":2}}\n");
    let (code, output, messages) = new_boxes(
        "{\"tags\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":-5}}",
    );
    assert_eq!(code, 0, "{messages}");
    assert_eq!(output, "{\"tags\":{\"sum\":50}}\n");
}

#[test]
fn a_c_box_that_does_wrong_is_named_with_its_record() {
    let (code, _, messages) = new_boxes("{\"fields\":{\"text\":\"\"}}");
    assert_eq!(code, 1);
    assert!(messages.contains("box `check_text` failed: the text is empty"), "{messages}");
    assert!(messages.contains("record: {\"fields\":{\"text\":\"\"}}"), "{messages}");
    let (code, _, messages) = new_boxes("{\"tags\":{\"n\":1}}");
    assert_eq!(code, 1);
    assert!(messages.contains("box `wrong` failed: it emits output tuple 7"), "{messages}");
    let (code, _, messages) = new_boxes("{\"tags\":{\"n\":3000000000}}");
    assert_eq!(code, 1);
    assert!(messages.contains("the tag `<n>` is 3000000000, which does not fit"), "{messages}");
}

#[test]
fn code_of_a_box_may_stand_in_the_program() {
    let file = Written::new(
        "box twice ((<n>) -> (<n>)) { <<< C |
             void *twice(void *hnd, int n) { C4SNetOut(hnd, 1, 2 * n); return hnd; } >>> }
         net main connect twice;",
    );
    let (code, output, messages) = typed(&["run", &file.path()], "{\"tags\":{\"n\":21}}");
    assert_eq!((code, output.as_str()), (0, "{\"tags\":{\"n\":42}}\n"), "{messages}");
}

#[test]
fn a_c_file_that_does_not_compile_is_refused_with_the_words_of_the_compiler() {
    let file = Written::new("box f ((<n>) -> (<n>)) { <<< C | int f( >>> } net main connect f;");
    let (code, output, messages) = typed(&["run", &file.path()], "{\"tags\":{\"n\":1}}");
    assert_eq!((code, output.as_str()), (2, ""));
    assert!(messages.contains("the C compiler refused"), "{messages}");
}

#[test]
fn a_box_without_function_is_named_before_anything_runs() {
    let file = Written::new("box f ((a) -> (b)); net main connect f;");
    let (code, output, messages) = typed(&["run", &file.path()], "nonsense");
    assert_eq!((code, output.as_str()), (2, ""));
    assert!(messages.contains("no function for box `f`"), "{messages}");
    assert!(messages.contains("--boxes"), "{messages}");
}

#[test]
fn a_malformed_record_ends_the_run_with_its_place() {
    let file = Written::new("net main connect [{<n>} -> {<n=n + 1>}];");
    let input = "{\"tags\":{\"n\":1}}\n\n{\"tags\":{\"n\":\"x\"}}\n{\"tags\":{\"n\":3}}\n";
    let (code, output, messages) = typed(&["run", &file.path(), "--workers", "1"], input);
    assert_eq!(code, 2);
    assert!(messages.contains("standard input: line 3, column 16"), "{messages}");
    assert!(messages.contains("expected a signed 64-bit integer"), "{messages}");
    assert!(!output.contains('4'), "{output}");
}

#[test]
fn records_that_match_no_branch_are_shown_with_what_the_branches_take_before_anything_runs() {
    // With more labels than declared a record takes another way than those that are declared.
    let file = Written::new(
        "net main ({a} -> ...) connect ([{a} -> {a}] | [{a, <t>} -> {c=a}])
            .. ([{a} -> {c=a}] | [{b, <t>} -> {c=b}]);",
    );
    let input = "{\"fields\":{\"a\":1},\"tags\":{\"t\":1}}";
    let (code, output, messages) = typed(&["run", &file.path()], input);
    assert_eq!((code, output.as_str()), (2, ""));
    assert!(messages.contains("records of type {c} do not fit any branch"), "{messages}");
    assert!(messages.contains("takes {a} | {b, <t>}"), "{messages}");
}

#[test]
fn a_record_that_the_net_does_not_take_is_bad_input_and_the_nearest_label_is_named() {
    let file = Written::new("net main connect [{add} -> {c=add}] | [{b, <t>} -> {c=b}];");
    let input = "{\"fields\":{\"add\":1}}\n{\"fields\":{\"ad\":5}}\n";
    for runtime in ["front", "network"] {
        let words = ["run", &file.path(), "--runtime", runtime];
        let (code, output, messages) = typed(&words, input);
        assert_eq!((code, output.as_str()), (2, "{\"fields\":{\"c\":1}}\n"), "{messages}");
        for part in [
            "net `main` does not take record 2 of the input",
            "it has no `add`; is `ad` meant to be it?",
            "record: {\"fields\":{\"ad\":5}}",
            "takes: {add} | {b, <t>}",
        ] {
            assert!(messages.contains(part), "{messages}");
        }
    }
}

#[test]
fn a_tag_without_value_stops_the_run_and_names_the_component() {
    let file = Written::new("net main connect [{<n>, <d>} -> {<q=n / d>}];");
    let (code, _, messages) = typed(&["run", &file.path()], "{\"tags\":{\"n\":1,\"d\":0}}");
    assert_eq!(code, 1);
    assert!(messages.contains("divided by zero in filter [{<d>, <n>} -> …]"), "{messages}");
    let file = Written::new("net main connect [{<n>} -> {<q=n * n>}];");
    let (code, _, messages) = typed(&["run", &file.path()], "{\"tags\":{\"n\":4294967296}}");
    assert_eq!(code, 1);
    assert!(messages.contains("overflows 64 bits"), "{messages}");
}

#[test]
fn half_filled_cells_are_listed_and_an_error_if_strict() {
    let file = Written::new("net main connect [| {a}, {b} |] * {a, b};");
    let words = ["run", &file.path()];
    let (code, output, messages) = typed(&words, "{\"fields\":{\"a\":1}}");
    assert_eq!((code, output.as_str()), (0, ""));
    assert!(messages.contains("holds {\"fields\":{\"a\":1}}"), "{messages}");
    let (code, _, messages) = typed(&["run", &file.path(), "--strict"], "{\"fields\":{\"a\":1}}");
    assert_eq!(code, 1, "{messages}");
}

#[test]
fn checking_is_silent_or_tells_what_is_wrong() {
    let good = Written::new("net main connect [{a} -> {b=a}];");
    assert_eq!(typed(&["check", &good.path()], ""), (0, String::new(), String::new()));
    let (code, types, _) = typed(&["check", &good.path(), "--types"], "");
    assert_eq!((code, types.as_str()), (0, "net main\n    {a} -> {b}\n"));
    let bad = Written::new("net main connect nothing;");
    let (code, output, messages) = typed(&["check", &bad.path()], "");
    assert_eq!((code, output.as_str()), (2, ""));
    assert!(messages.contains("error[E010]"), "{messages}");
    let (code, _, messages) = typed(&["check", "/nowhere/main.snet"], "");
    assert_eq!(code, 2);
    assert!(messages.contains("cannot read /nowhere/main.snet"), "{messages}");
}

#[test]
fn printing_can_check_and_write() {
    let file = Written::new("net  main connect[]..[];");
    let (code, output, _) = typed(&["fmt", &file.path()], "");
    assert_eq!((code, output.as_str()), (0, "net main connect [] .. [];\n"));
    assert_eq!(typed(&["fmt", &file.path(), "--check"], "").0, 1);
    assert_eq!(typed(&["fmt", &file.path(), "--write"], "").0, 0);
    assert_eq!(typed(&["fmt", &file.path(), "--check"], ""), (0, String::new(), String::new()));
    let text = std::fs::read_to_string(Path::new(&file.path())).expect("readable");
    assert_eq!(text, "net main connect [] .. [];\n");
}

#[test]
fn the_hierarchy_is_drawn() {
    let file = Written::new(
        "net main { net inner connect [{<n>} -> {<n=n - 1>}]; } connect inner * {<n>} if <n <= 0>;",
    );
    let (code, output, _) = typed(&["graph", &file.path()], "");
    assert_eq!(code, 0);
    assert!(output.starts_with("digraph \"main\" {"), "{output}");
    assert!(output.contains("label=\"inner\""), "{output}");
    let picture = file.folder.path().join("main.svg");
    let picture = picture.display().to_string();
    assert_eq!(typed(&["graph", &file.path(), "--svg", &picture], "").0, 0);
    let text = std::fs::read_to_string(&picture).expect("drawn");
    assert!(text.contains("<svg"), "{text}");
}

#[test]
fn an_unknown_net_is_answered_with_the_nearest() {
    let file = Written::new("net first connect []; net second connect [];");
    let (code, _, messages) = typed(&["run", &file.path(), "--net", "secnod"], "");
    assert_eq!(code, 2);
    assert!(messages.contains("did you mean `second`?"), "{messages}");
}

#[test]
fn initialisers_run_before_any_record_also_without_one() {
    let file = Written::new(
        "box start (-> (<s>)) { <<< C |
             void *start(void *hnd) { C4SNetOut(hnd, 1, 7); return hnd; } >>> }
         net main connect start | [];",
    );
    for runtime in ["front", "network"] {
        let words = ["run", &file.path(), "--runtime", runtime];
        let (code, output, messages) = typed(&words, "");
        assert_eq!((code, output.as_str()), (0, "{\"tags\":{\"s\":7}}\n"), "{messages}");
        let (_, output, _) = typed(&words, "{\"tags\":{\"n\":1}}\n");
        assert_eq!(output, "{\"tags\":{\"s\":7}}\n{\"tags\":{\"n\":1}}\n");
    }
}

#[test]
fn a_report_says_how_many_records_came_where() {
    let file = Written::new("net main connect [{<n>} -> {<n=n + 1>}];");
    let (code, _, messages) =
        typed(&["run", &file.path(), "--report"], "{\"tags\":{\"n\":1}}\n{\"tags\":{\"n\":2}}\n");
    assert_eq!(code, 0);
    assert!(messages.contains("records read 2, written 2"), "{messages}");
    let filter = messages.lines().find(|line| line.contains("filter [{<n>} -> …]"));
    let figures: Vec<&str> = filter.expect("its line").split_whitespace().take(2).collect();
    assert_eq!(figures, ["2", "1"], "{messages}");
}

#[test]
fn both_runtimes_can_be_asked_for_and_only_processes_have_a_policy() {
    let file = Written::new("net main connect [{<n>} -> {<n=n + 1>}] ** {<n>} if <n >= 3>;");
    let path = file.path();
    let input = "{\"tags\":{\"n\":1}}\n{\"tags\":{\"n\":7}}\n";
    let wanted = "{\"tags\":{\"n\":3}}\n{\"tags\":{\"n\":7}}\n";
    for words in [&["--runtime", "front"][..], &["--runtime", "network", "--policy", "threads"]] {
        let words = [&["run", &path, "--report"], words].concat();
        let (code, output, messages) = typed(&words, input);
        assert_eq!((code, output.as_str()), (0, wanted), "{messages}");
        assert!(messages.contains("records read 2, written 2"), "{messages}");
    }
    let (code, _, messages) = typed(&["run", &path, "--policy", "threads"], input);
    assert_eq!(code, 2);
    assert!(messages.contains("add `--runtime network`"), "{messages}");
    let wrong = ["run", &path, "--runtime", "network", "--policy", "nothing"];
    let (code, _, messages) = typed(&wrong, input);
    assert_eq!(code, 2);
    assert!(messages.contains("there is no policy `nothing`"), "{messages}");
}

#[test]
fn a_failure_ends_a_network_of_processes_in_order() {
    let file = Written::new("net main connect [{<n>, <d>} -> {<q=n / d>}] | [{a} -> {b=a}];");
    let words = ["run", &file.path(), "--runtime", "network"];
    let (code, _, messages) = typed(&words, "{\"tags\":{\"n\":1,\"d\":0}}");
    assert_eq!(code, 1);
    assert!(messages.contains("divided by zero in filter [{<d>, <n>} -> …]"), "{messages}");
    let (code, _, messages) = typed(&words, "{\"tags\":{\"k\":1}}");
    assert_eq!(code, 2);
    assert!(messages.contains("takes: {<d>, <n>} | {a}"), "{messages}");
    let (code, _, messages) = typed(&words, "{\"tags\":{\"k\":");
    assert_eq!(code, 2, "{messages}");
}

#[test]
fn an_observer_shows_what_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = folder.path().join("seen.json");
    let file = Written::new(&format!(
        "<metadata> <net name=\"step\"> <observer /> <observer_file value=\"{}\" /> </net>
         </metadata>
         net main {{ net step connect [{{<n>}} -> {{<n=n + 1>}}]; }} connect step;",
        seen.display()
    ));
    let (code, _, messages) = typed(&["run", &file.path()], "{\"tags\":{\"n\":1}}");
    assert_eq!(code, 0, "{messages}");
    let text = std::fs::read_to_string(&seen).expect("written");
    let expected = "{\"observer\":\"main/step\",\"at\":\"before\",\"record\":{\"tags\":{\"n\":1}}}\n\
        {\"observer\":\"main/step\",\"at\":\"after\",\"record\":{\"tags\":{\"n\":2}}}\n";
    assert_eq!(text, expected);
}

/// Does nothing unless the tests below start this program again to see it die.
#[test]
#[expect(clippy::disallowed_methods, reason = "how the tests tell their child what to do")]
#[expect(clippy::exit, reason = "the child tells its code as the command would")]
fn child_of_the_next_tests() {
    let Ok(doing) = std::env::var("KAHN_SNET_DIE") else { return };
    let file = Written::new(&format!(
        "box f ((a, <n>) -> (<n>)) {{ <<< C |
             void *f(void *h, c4snet_data_t *a, int n)
             {{
                 if (n == 3) {{ {doing} }}
                 C4SNetOut(h, 1, n);
                 return h;
             }} >>> }}
         net main connect f;"
    ));
    let runtime = std::env::var("KAHN_SNET_RUNTIME").expect("the other");
    let path = file.path();
    let mut words = vec!["snet", "run", &path, "--workers", "1", "--box-limit", "0.2"];
    words.extend(["--runtime", &runtime]);
    let command = Arguments::try_parse_from(words).expect("well typed").command;
    let mut streams = Streams::of_process();
    let input =
        "{\"fields\":{\"a\":5},\"tags\":{\"n\":2}}\n{\"fields\":{\"a\":5},\"tags\":{\"n\":3}}";
    streams.input = Box::new(std::io::Cursor::new(input));
    let code = perform(&command, &mut streams);
    assert_ne!(code, 0, "it did what it should not");
    std::process::exit(i32::from(code));
}

/// Starts this program again, in each runtime, with a box that does so for its second record; it ends with
/// code 1, the record before comes out, and these words are said.
fn die(doing: &str, wanted: &[&str]) {
    for runtime in ["front", "network"] {
        let program = std::env::current_exe().expect("this program");
        let child = std::process::Command::new(program)
            .args(["--exact", "child_of_the_next_tests", "--nocapture"])
            .env("KAHN_SNET_DIE", doing)
            .env("KAHN_SNET_RUNTIME", runtime)
            .output()
            .expect("started");
        let messages = String::from_utf8_lossy(&child.stderr);
        assert_eq!(child.status.code(), Some(1), "{runtime}: {doing}: {messages}");
        let output = String::from_utf8_lossy(&child.stdout);
        let before = "{\"tags\":{\"n\":2}}\n";
        assert!(output.contains(before), "{runtime}: what came before is lost: {output}{messages}");
        for words in wanted {
            assert!(messages.contains(words), "{runtime}: {doing}: {words} is not in {messages}");
        }
    }
}

/// How a box is named that failed, with its record.
const RECORD: &str = "record: {\"fields\":{\"a\":5},\"tags\":{\"n\":3}}";

#[test]
fn a_c_box_that_crashes_is_named_with_what_it_was_given() {
    die("*(volatile int *)0 = n;", &["error: box `f` crashed\n   given: a=5 <n>=3\n"]);
}

#[test]
fn a_c_box_that_ends_the_process_is_named_with_what_it_was_given() {
    for end in ["exit", "_exit", "_Exit", "quick_exit"] {
        let doing = format!("extern void {end}(int); {end}(0);");
        die(&doing, &["error: box `f` ended the process\n   given: a=5 <n>=3\n"]);
    }
}

#[test]
fn a_c_box_that_closes_the_output_is_named_and_the_output_is_whole() {
    let what = "box `f` failed: descriptor 1, the standard output";
    die("extern int close(int); close(1);", &[what, RECORD]);
}

#[test]
fn a_c_box_that_fails_is_named_with_its_record_and_the_output_is_whole() {
    let doing = "C4SNetOut(h, 1, 7); kahn_snet_fail(h, \"no luck\"); return h;";
    die(doing, &["box `f` failed: no luck", RECORD]);
}

#[test]
fn a_c_box_that_emits_without_end_is_named_with_its_record_once_its_time_is_over() {
    die("for (;;) C4SNetOut(h, 1, n);", &["error: box `f` has not returned for 0.2 s", RECORD]);
}

#[test]
fn a_c_box_that_calls_what_does_not_exist_is_refused_before_the_run() {
    let file = Written::new(
        "<metadata> <box name=\"main/f\"> <boxname value=\"call\" /> </box> </metadata>
         net main { box f ((<n>) -> (<n>)) { <<< C | void lost(void);
            void *call(void *box, int n) { if (n) lost(); C4SNetOut(box, 1, n); return box; } >>> }
         } connect f;",
    );
    let (code, output, messages) = typed(&["run", &file.path()], "{\"tags\":{\"n\":0}}");
    assert_eq!((code, output.as_str()), (2, ""), "{messages}");
    assert!(messages.contains("undefined reference to `lost'"), "{messages}");
    assert!(messages.contains("`call` is the function of box `main/f`"), "{messages}");
}

#[test]
fn what_the_c_compiler_warns_of_is_shown() {
    let file = Written::new(
        "box f ((<n>) -> (<n>)) { <<< C |
            void *f(void *box, int n) { int *p = (long *)0; C4SNetOut(box, 1, n + (p != 0)); }
            >>> }
         net main connect f;",
    );
    let (_, _, messages) = typed(&["run", &file.path()], "");
    assert!(messages.contains("incompatible pointer type"), "{messages}");
}

#[test]
fn an_array_stays_one_and_a_string_stays_one_were_it_of_one_element() {
    let file = Written::new(
        "box again ((values) -> (values)); box first ((text) -> (text, first, string));
         net main connect again | first;",
    );
    let input = "{\"fields\":{\"values\":[7]}}\n{\"fields\":{\"values\":[7,8]}}\n\
        {\"fields\":{\"text\":\"a\"}}\n";
    let words = ["run", &file.path(), "--boxes", &c_file("new.c"), "--workers", "1"];
    let (code, output, messages) = typed(&words, input);
    assert_eq!(code, 0, "{messages}");
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let wanted = [
        r#"{"fields":{"first":"a","string":"a","text":"a"}}"#,
        r#"{"fields":{"values":[7,8]}}"#,
        r#"{"fields":{"values":[7]}}"#,
    ];
    assert_eq!(lines, wanted, "{messages}");
}

#[test]
fn a_c_box_that_never_returns_is_named_with_its_record() {
    let doing = "for (volatile int i = 0;; i = 1 - i) { }";
    die(doing, &["error: box `f` has not returned for 0.2 s", RECORD]);
}
