//! What used to be `kahn::csp` is the crate `kahn-csp`: the message names it.

fn main() {
    let _ = kahn::csp::run(kahn::Options::new(), async |_scope| ());
}
