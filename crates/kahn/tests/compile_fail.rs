//! Programs that must not compile, and what the compiler says of them: what the types forbid, the
//! runtime need not find out.
//!
//! Messages are those of the toolchain that `rust-toolchain.toml` names; after a change of it,
//! `TRYBUILD=overwrite cargo test -p kahn --test compile_fail` accepts new ones: read the difference.

#[test]
fn what_would_let_the_schedule_leak_or_outlive_the_run_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
