//! The command with all its features, as typed: see `tests/cmd/full`.

#[test]
fn the_full_command_does_what_the_sessions_show() {
    trycmd::TestCases::new().case("tests/cmd/full/*.md");
}
