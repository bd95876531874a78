//! Channels with a written form: runs are compared by it, and it must be read as what it was.

use kahn::testing::verify;
use kahn::{BoxError, Channel, Digest, Digester, Network};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Of no ordinary type.
struct Own(u8);

/// Sends two messages on a channel that is written so.
fn sends(
    network: &mut Network<'_>,
    second: u8,
    decode: fn(&[u8]) -> Result<Own, BoxError>,
    capacity: u32,
) {
    let own = Channel::named("own").capacity(capacity);
    let own = own.wire_with(|own: &Own, bytes| bytes.push(own.0), decode);
    let (out, received) = network.channel_with(own);
    network.process("send", out, async move |mut out| {
        out.send(Own(1)).await;
        out.send(Own(second)).await;
    });
    network.for_each("receive", received, |_| {});
}

fn decode(bytes: &[u8]) -> Result<Own, BoxError> {
    match bytes {
        [byte] => Ok(Own(*byte)),
        _ => Err("not one byte".into()),
    }
}

#[test]
fn runs_are_compared_by_what_is_written() {
    // Also in a channel that would else be one piece of memory.
    for capacity in [1, 64] {
        let verified = verify(|network| sends(network, 2, decode, capacity)).expect("the same");
        assert_eq!((verified.by_contents, verified.by_count), (1, 0));
        let calls = AtomicU8::new(0);
        let error = verify(|network| {
            sends(network, 1 + calls.fetch_add(1, Relaxed), decode, capacity);
        });
        let text = error.expect_err("the second message differs").to_string();
        assert!(text.contains("`own`"), "{text}");
    }
}

#[test]
fn what_is_written_must_be_read_as_what_it_was() {
    // The receiver fails, at the same message under each schedule.
    let fails = |decode| {
        let verified = verify(|network| sends(network, 7, decode, 8)).expect("the same failure");
        let failure = &verified.report.failures[0];
        (verified.report.channels[0].received, format!("{failure:?}"))
    };
    let (received, text) = fails(|_| Err("unreadable".into()));
    assert!(text.contains("is not read: unreadable"), "{text}");
    assert_eq!(received, 1);
    let (received, text) = fails(|bytes| Ok(Own(bytes[0] + u8::from(bytes[0] == 7))));
    assert!(text.contains("is read as another"), "{text}");
    assert_eq!(received, 2);
}

/// Of a type whose digest does not like its contents.
struct Shy;

impl Digest for Shy {
    fn digest(&self, _: &mut Digester) {
        panic!("not me")
    }
}

#[test]
fn a_digest_that_panics_fails_its_receiver() {
    let verified = verify(|network| {
        let (out, received) = network.channel_with(Channel::named("shy").capacity(8).digest());
        network.process("send", out, async |mut out| out.send_all([Shy, Shy]).await);
        network.for_each("receive", received, |_| {});
    });
    let verified = verified.expect("the same failure");
    assert!(format!("{:?}", verified.report.failures).contains("not me"));
}
