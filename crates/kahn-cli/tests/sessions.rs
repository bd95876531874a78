//! The command as typed, with what it prints and its exit code: see `tests/cmd`.

#[test]
fn the_command_does_what_the_sessions_show() {
    trycmd::TestCases::new()
        .case("tests/cmd/*.md")
        .case("tests/cmd/*.toml")
        // What the page shows is what the command says.
        .case("../../docs/ranks.md");
}
