//! The written forms of messages that come from outside, or from what acts there: what a recording of a run holds.
//!
//! | channel | a message | its written form |
//! |---|---|---|
//! | `chunks`, `blocks` | what was read | 0, and the bytes |
//! | `written` | that all is written | 0 |
//! | all of these | that the system said no | 1 for reading or 2 for writing, after how many bytes (u64), and what it said |
//! | `spare` | memory that comes back | how many bytes count as in flight for it (u64), or nothing |
//!
//! Numbers are little-endian. A recording is not trusted: what is no written form is refused, and memory is taken
//! for bytes that are there.

use super::piece::Buffers;
use crate::Error;
use kahn::{BoxError, Channel};
use std::io;

const WHOLE: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;

/// What can be written, and read again.
pub(super) trait Written: Sized + Send {
    /// Appends its written form.
    fn write(&self, into: &mut Vec<u8>);

    /// Reads what was appended.
    fn read(bytes: &[u8]) -> Result<Self, BoxError>;
}

/// A channel of such messages.
pub(super) fn channel<T: Written>(name: &'static str) -> Channel<T> {
    Channel::named(name).wire_with(T::write, T::read)
}

impl Written for () {
    fn write(&self, _: &mut Vec<u8>) {}

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        if bytes.is_empty() { Ok(()) } else { Err("something stands there".into()) }
    }
}

impl Written for Vec<u8> {
    fn write(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(self);
    }

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(bytes.to_vec())
    }
}

impl Written for Buffers {
    fn write(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.weight.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self { weight: u64::from_le_bytes(bytes.try_into()?), ..Self::default() })
    }
}

impl<T: Written> Written for Result<T, Error> {
    fn write(&self, into: &mut Vec<u8>) {
        let (kind, after, said) = match self {
            Ok(whole) => {
                into.push(WHOLE);
                return whole.write(into);
            }
            Err(Error::Read { at, source }) => (READ, *at, source.to_string()),
            Err(Error::Write { written, source }) => (WRITE, *written, source.to_string()),
            Err(other) => unreachable!("it is told where it is found: {other}"),
        };
        into.push(kind);
        into.extend_from_slice(&after.to_le_bytes());
        into.extend_from_slice(said.as_bytes());
    }

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        let (kind, rest) = bytes.split_first().ok_or("it is empty")?;
        if *kind == WHOLE {
            return T::read(rest).map(Ok);
        }
        let (after, said) = rest.split_first_chunk().ok_or("it ends within a number")?;
        let after = u64::from_le_bytes(*after);
        // The text, and not the system's number: another system has others.
        let source = io::Error::other(str::from_utf8(said)?);
        match *kind {
            READ => Ok(Err(Error::Read { at: after, source })),
            WRITE => Ok(Err(Error::Write { written: after, source })),
            _ => Err("nothing begins so".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written<T: Written>(message: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let chunk = Ok(b"bytes".to_vec());
        let read = Result::<Vec<u8>, Error>::read(&written(&chunk)).expect("it was written");
        assert_eq!(read.expect("a chunk"), b"bytes");
        let buffers = Buffers { weight: 1 << 40, plain: vec![1], ..Buffers::default() };
        assert_eq!(Buffers::read(&written(&buffers)).expect("it was written").weight, 1 << 40);
        let source = || io::Error::from(io::ErrorKind::StorageFull);
        for error in [
            Error::Read { at: 7, source: source() },
            Error::Write { written: 1 << 33, source: source() },
        ] {
            let told = error.to_string();
            let read =
                Result::<(), Error>::read(&written(&Err::<(), _>(error))).expect("it was written");
            assert_eq!(read.expect_err("an error").to_string(), told);
        }
    }

    #[test]
    fn what_is_no_written_form_is_refused() {
        for bytes in
            [&b""[..], b"\x03", b"\x01", b"\x02\0\0\0\0\0\0\0", b"\0x", b"\x01\0\0\0\0\0\0\0\0\xff"]
        {
            assert!(Result::<(), Error>::read(bytes).is_err(), "{bytes:?}");
        }
        assert!(Buffers::read(&[0; 7]).is_err());
    }
}
