//! What `docs/replay.md` has for programs with a command line of their own, as a program.

use kahn::{BoxError, Channel};
use std::sync::Arc;

/// Makes a network whose `check` fails at what a process has sent that blocks its thread.
fn build(network: &mut Network<'_>) {
    let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    network.blocking("ask", out, |mut out| (0..9_u32).for_each(|n| out.send_blocking(n)));
    let checked =
        network.try_map("check", numbers, |n| if n < 5 { Ok(n) } else { Err("too much".into()) });
    network.for_each("show", checked, |_| {});
}

use kahn::{Network, Options};
use kahn_observe::{Observe as _, record::Replay};

/// Fails, and fails in the same way again; in the folder of this process.
#[expect(clippy::clone_on_ref_ptr, reason = "as one would write it")]
pub(crate) fn fails_again() -> Result<(), BoxError> {
    let mut network = Network::new();
    build(&mut network);
    let error = network.run_with(Options::new().bundle("crash")).expect_err("it fails");

    let replay = Arc::new(Replay::open("crash/run.rec")?);
    let mut network = Network::new();
    network.replay(replay.clone());
    build(&mut network);
    let same = network.run_with(Options::new().workers(8).observer(replay)).expect_err("again");
    assert_eq!(same.to_string(), error.to_string());
    assert!(same.to_string().contains("too much"), "{same}");
    Ok(())
}
