//! The command `kahn`.
fn main() {}
