//! What `check` says about types: nothing that is wrong is hidden, and its advice breaks no program.

use kahn_snet::Program;
use kahn_snet::boxes::Boxes;
use kahn_snet::diagnostics::{Code, Diagnostic};
use kahn_snet::record::Record;
use kahn_snet::runtime::{Options, Ready, run};

fn read(source: &str) -> Program {
    Program::read("main.snet", source)
}

fn find(program: &Program, code: Code) -> Option<&Diagnostic> {
    program.diagnostics().iter().find(|one| one.code == code)
}

fn must_find(program: &Program, code: Code) -> &Diagnostic {
    find(program, code).unwrap_or_else(|| panic!("no {code:?}:\n{}", program.render(false)))
}

/// The text under the mark of a diagnostic.
fn marked<'a>(source: &'a str, diagnostic: &Diagnostic) -> &'a str {
    &source[diagnostic.span.start..diagnostic.span.end]
}

#[test]
fn a_network_whose_inputs_all_die_is_reported_wherever_it_stands_as_it_would_be_alone() {
    let dead = [
        "[{c} -> {d=c}] .. [{c} -> {e=c}]",
        "[{c} -> {d=c}] .. ([{c} -> {e=c}] | [{c, x} -> {e=c}])",
        "[{<c>} -> {<d=c>}] .. [{<c>} -> {<e=c>}]",
        "[{c} -> {<#d>}] .. [{<#e>} -> {}]",
        "([{c} -> {<#d>}] | [{f} -> {<#g>}]) .. [{<#e>} -> {}]",
    ];
    for network in dead {
        let alone = read(&format!("net main connect {network};"));
        let reason = find(&alone, Code::DoesNotFit).unwrap_or_else(|| panic!("{network}"));
        let places = [
            format!("net main connect [{{q}} -> {{r=q}}] | ({network});"),
            format!("net main connect ({network}) || [];"),
            format!("net main connect ({network}) * {{z}};"),
            format!("net main connect [{{q}} -> {{z=q}}] .. ({network}) ** {{z}};"),
            format!("net main connect [{{q}} -> {{r=q}}] | ({network}) ! <k>;"),
            format!("net main {{ net bad connect {network}; }} connect [{{q}} -> {{r=q}}] | bad;"),
            format!("net main ({{q}} -> {{r}}) connect [{{q}} -> {{r=q}}] | ({network});"),
            format!("net bad connect {network}; net main connect [{{q}} -> {{r=q}}];"),
        ];
        for source in places {
            let program = read(&source);
            let found = find(&program, Code::DoesNotFit);
            let found =
                found.unwrap_or_else(|| panic!("hidden: {source}\n{}", program.render(false)));
            assert_eq!(
                (&found.message, &found.label),
                (&reason.message, &reason.label),
                "{source}"
            );
        }
    }
}

#[test]
fn a_branch_whose_types_die_behind_the_choice_is_reported_with_where_they_die() {
    let source = "net main connect ([{a} -> {b=a}] | [{b, c} -> {d=c}]) .. [{b} -> {e=b}];";
    let program = read(source);
    let found = must_find(&program, Code::DoesNotFit);
    assert_eq!(marked(source, found), "[{b} -> {e=b}]");
    assert!(found.message.contains("{d}"), "{}", found.message);
}

#[test]
fn a_branch_that_only_records_with_more_labels_come_through_is_warned_of_and_they_come_through() {
    // What is declared takes the other branch; `{a}` dies behind the choice, `{a, c, x}` does not.
    let program = read(
        "net main ({c} -> ...)
         connect ([{a} -> {b=a}] | [{c} -> {b=c, x=c}]) .. [{b, x} -> {d=b}];",
    );
    assert!(program.is_valid(), "{}", program.render(false));
    must_find(&program, Code::Unreachable);
    let input = [Record::new().field("a", 1).field("c", 2).field("x", 3)];
    let mut output: Vec<Record> = Vec::new();
    let net = program.net(None).expect("a net");
    let boxes = Boxes::of(&program);
    run(&program, net, &boxes, &Options::default(), Ready(input.into_iter()), &mut output)
        .expect("it runs");
    assert_eq!(output, [Record::new().field("c", 2).field("d", 1)]);
}

#[test]
fn a_label_that_is_taken_and_made_nowhere_is_told_with_the_nearest_that_is_made() {
    let wrong = [
        // In a cell, a branch, a star, a feedback, a filter behind; as another kind of label.
        "net main ({<n>} -> ...) connect [{<n>} -> {<result=n>}] .. [| {<result>}, {<resutl>} |];",
        "net main connect [{<n>} -> {<n>, <result=n>}] .. ([{<n>, <resutl>} -> {<d=n>}] | []);",
        "net main connect [{<n>} -> {<n=n - 1>, <result=n>}] * {<resutl>};",
        "net main connect [{<n>} -> {<n=n - 1>, <result=n>}] \\ {<resutl>};",
        "net main connect [{<n>} -> {<result=n>}] .. [{<resutl>} -> {<d=resutl>}];",
        "box f ((a) -> (<result>)); box g ((result, b) -> (c)); net main connect f .. (g | []);",
    ];
    for source in wrong {
        let program = read(source);
        let messages = program.render(false);
        assert!(program.is_valid(), "{messages}");
        assert!(messages.contains("did you mean `<result>`"), "{source}\n{messages}");
    }
}

#[test]
fn what_initialisers_begin_in_replicas_is_in_the_inferred_types() {
    let types = |source: &str| {
        let program = read(source);
        assert!(program.is_valid(), "{}", program.render(false));
        program.signatures().last().expect("a net").to_string()
    };
    let star = "box init (-> (<s>));
        net main connect (init | [{<n>} -> {<n=n - 1>}]) * {<n>} if <n <= 0>, {<s>};";
    assert_eq!(types(star), "net main\n    {<n>} -> {<n>} | {<s>}\n    {<s>} -> {<s>}\n");
    let split = "box init (-> (<s>)); net main connect (init | [{a} -> {b=a}]) ! <k>;";
    assert_eq!(types(split), "net main\n    {a, <k>} -> {b, <k>} | {<s>}\n");
    // What they begin must fit the next replica too.
    let program = read("box init (-> (s)); net main connect (init | [{a} -> {a}]) * {z};");
    assert!(find(&program, Code::DoesNotFit).is_some(), "{}", program.render(false));
}

#[test]
fn a_correct_declaration_of_what_initialisers_begin_is_not_called_superfluous() {
    let program = read(
        "box init (-> (<s>));
         net main ({<k>} -> {<s>} | {<k>}) connect (init | []) ! <k>;",
    );
    assert_eq!(program.render(false), "");
    let program = read(
        "box init (-> (<s>));
         net main ({<k>} -> {<k>}) connect (init | []) ! <k>;",
    );
    assert!(find(&program, Code::UndeclaredOutput).is_some(), "{}", program.render(false));
}

#[test]
fn a_star_whose_replicas_make_each_other_by_initialisers_is_told() {
    let program = read(
        "box init (-> (<s>));
         net main connect (init | [{<n>} -> {<n=n - 1>}] | [{<s>} -> {}] .. [{} -> ]) * {<n>} if <n <= 0>;",
    );
    let found = must_find(&program, Code::NeverLeft);
    assert!(found.message.contains("begins with {<s>}"), "{}", found.message);
}

#[test]
fn advice_on_what_only_records_with_more_labels_do_breaks_no_program() {
    let source = "net main ({<n>} -> {<n>} | {<m>})
        connect [{<n>} -> {<n>}] | [{<n>, <x>} -> {<m=x>}];";
    let program = read(source);
    let net = program.net(None).expect("a net");
    let record = Record::new().tag("n", 1).tag("x", 7);
    let mut output = Vec::new();
    let boxes = Boxes::of(&program);
    let input = Ready(std::iter::once(record));
    run(&program, net, &boxes, &Options::default(), input, &mut output).expect("it runs");
    assert_eq!(output, [Record::new().tag("m", 7)], "the branch and the output are of use");
    let messages = program.render(false);
    assert!(!messages.contains("remove it"), "{messages}");
    // What is advised is done, and then all is well.
    assert!(messages.contains("declare {<n>, <x>} too"), "{messages}");
    let followed = source.replace("({<n>", "({<n>} | {<n>, <x>");
    assert_eq!(read(&followed).render(false), "");
}

#[test]
fn nets_that_use_nets_twice_are_checked_once_each() {
    for first in ["net n0 connect [{a} -> {a}];", "box n0 ((a) -> (a));"] {
        let more = (1..=140).map(|n| format!("net n{n} connect n{0} .. n{0};\n", n - 1));
        let source = format!("{first}\n{}", more.collect::<String>());
        let program = read(&source);
        assert_eq!(program.render(false), "");
        assert_eq!(
            program.signatures().last().map(ToString::to_string).as_deref(),
            Some("net n140\n    {a} -> {a}\n")
        );
    }
}

#[test]
fn types_that_double_at_every_stage_are_too_large_to_infer() {
    let stages = (0..60).map(|n| format!("[{{}} -> {{<a{n}>}}; {{}}]")).collect::<Vec<_>>();
    let program = read(&format!("net main connect {};", stages.join(" .. ")));
    assert!(find(&program, Code::TooLarge).is_some(), "{}", program.render(false));
}

#[test]
fn an_undeclared_output_is_shown_at_the_component_that_makes_it() {
    for (source, maker) in [
        ("box foo ((a) -> (b) | (c)); net main ({a} -> {b}) connect foo .. [];", "foo"),
        (
            "box foo ((a) -> (b) | (c)); net main ({a} -> {b}) connect [{a} -> {a}] .. (foo | []);",
            "foo",
        ),
        (
            "net main ({<n>, <k>} -> {<n>, <k>}) connect [{<n>} -> {<n>}; {<m=n>}] ! <k>;",
            "[{<n>} -> {<n>}; {<m=n>}]",
        ),
        (
            "net main ({<n>} -> {<n>}) connect [{<n>} -> {<n=n - 1>}; {<m=n>}] \\ {<n>} if <n >= 0>;",
            "[{<n>} -> {<n=n - 1>}; {<m=n>}]",
        ),
        (
            "box init (-> (<s>)); net main (-> {<t>}, {a} -> {a}) connect init | [{a} -> {a}];",
            "init",
        ),
    ] {
        let program = read(source);
        let found = must_find(&program, Code::UndeclaredOutput);
        assert_eq!(marked(source, found), maker, "{}", program.render(false));
        assert!(found.related.iter().any(|(_, words)| words == "not in this map"));
    }
}
