//! What is made of a written form lives by itself: it is no part of what was read.

use kahn::Channel;

fn main() {
    let _words = Channel::<&str>::named("words").wire_with(
        |word, bytes| bytes.extend_from_slice(word.as_bytes()),
        |bytes| Ok(std::str::from_utf8(bytes)?),
    );
}
