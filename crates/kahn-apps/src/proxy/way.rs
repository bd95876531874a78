//! One direction of a connection: a buffer between two sockets.
//!
//! | the buffer | the side that sends | a step waits until |
//! |---|---|---|
//! | is empty | may say more | something can be received from it |
//! | is not | - | something can be sent on |
//! | is empty | has said all | never: the way is over, and the other side was told |
//!
//! A step that is dropped before it is done has done nothing: it only waits, and then makes one call
//! that does not.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use async_io::Async;

/// How many bytes are received at once.
const ROOM: usize = 16 * 1024;

/// Where a way leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) from: &'a Async<TcpStream>,
    pub(super) to: &'a Async<TcpStream>,
}

/// What is under way, and whether more comes.
#[derive(Debug)]
pub(super) struct Way {
    buffer: Box<[u8]>,
    /// What of the buffer was received.
    end: usize,
    /// What of that was sent.
    sent: usize,
    has_said_all: bool,
}

impl Way {
    pub(super) fn new() -> Self {
        Self { buffer: vec![0; ROOM].into(), end: 0, sent: 0, has_said_all: false }
    }

    fn is_empty(&self) -> bool {
        self.sent == self.end
    }

    /// Nothing more is received; what was received is still sent.
    pub(super) fn say_no_more(&mut self) {
        self.has_said_all = true;
    }

    /// Everything was sent, and nothing will be received.
    pub(super) fn is_over(&self) -> bool {
        self.has_said_all && self.is_empty()
    }

    /// Receives or sends once; returns how many bytes were sent.
    pub(super) async fn step(&mut self, sides: Sides<'_>) -> io::Result<u64> {
        if self.is_empty() {
            let buffer = &mut self.buffer;
            let received = sides.from.read_with(|mut socket| socket.read(buffer)).await?;
            (self.sent, self.end) = (0, received);
            if self.end == 0 {
                self.has_said_all = true;
                tell_the_end(sides.to)?;
            }
            return Ok(0);
        }
        let unsent = &self.buffer[self.sent..self.end];
        let sent = sides.to.write_with(|mut socket| socket.write(unsent)).await?;
        if sent == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.sent += sent;
        Ok(sent as u64)
    }
}

/// Tells a side that nothing more will be sent to it. That it has gone is no failure.
fn tell_the_end(side: &Async<TcpStream>) -> io::Result<()> {
    match side.get_ref().shutdown(Shutdown::Write) {
        Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
        _ => Ok(()),
    }
}
