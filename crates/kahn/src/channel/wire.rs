//! The written form of messages: what is kept of them, or compared, outside of the program that made
//! them.
//!
//! A channel has it if it was created with one: two functions, whose types are forgotten, beside the
//! word of the sender. So such a channel is roomy; others pay nothing.

use super::Digester;
use super::observer::ObserverHandle;
use super::raw::{ChannelRef, End, kind};
use kahn_engine::sync::panics;
use kahn_report::BoxError;
use std::any::type_name;
use std::fmt;
use std::mem::transmute;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Appends the written form of a message.
pub(crate) type Encode<T> = fn(&T, &mut Vec<u8>);

/// Makes a message of its written form.
pub(crate) type Decode<T> = fn(&[u8]) -> Result<T, BoxError>;

/// How the messages of a channel are written and read, without their type.
#[derive(Clone, Copy)]
pub(crate) struct Wire {
    encode: unsafe fn(*const (), &mut Vec<u8>),
    /// A [`Decode`] of the type.
    decode: fn(),
    of: &'static OfType,
}

/// Makes a message of its written form, in a slot.
type Into = unsafe fn(Wire, &[u8], *mut u8) -> Result<(), BoxError>;

/// Reads what was written, and writes it again.
type Again = unsafe fn(Wire, &[u8], &mut Vec<u8>) -> Result<(), BoxError>;

/// What must know the type.
struct OfType {
    again: Again,
    into: Into,
    name: fn() -> &'static str,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wire").field(&(self.of.name)()).finish()
    }
}

impl Wire {
    pub(crate) fn new<T>(encode: Encode<T>, decode: Decode<T>) -> Self {
        // SAFETY: a function of a reference to a `T` is called with the address of one: see `encode`.
        // References and pointers to sized types are passed alike.
        let encode = unsafe { transmute::<Encode<T>, unsafe fn(*const (), &mut Vec<u8>)>(encode) };
        // SAFETY: not called before `Wire::decode` turns it back.
        let decode = unsafe { transmute::<Decode<T>, fn()>(decode) };
        let of = &const { OfType { again: again::<T>, into: into::<T>, name: type_name::<T> } };
        Self { encode, decode, of }
    }

    /// Appends the written form of a message.
    ///
    /// # Safety
    /// `message` points to one of the type that this was made for.
    pub(crate) unsafe fn encode(self, message: *const (), into: &mut Vec<u8>) {
        // SAFETY: said by the caller.
        unsafe { (self.encode)(message, into) };
    }

    /// The written form of the message in a slot; none if it cannot be written. It does not unwind: it is the
    /// user's function, and its callers are about to publish or to drop.
    ///
    /// # Safety
    /// As for [`encode`](Self::encode).
    unsafe fn written(self, slot: *mut u8, bytes: &mut Vec<u8>) -> Option<&[u8]> {
        let written = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: said by the caller.
            unsafe { self.encode(slot.cast_const().cast(), bytes) };
        }));
        match written {
            Ok(()) => Some(bytes),
            Err(payload) => {
                panics::discard(payload);
                None
            }
        }
    }

    /// Makes a message of its written form.
    ///
    /// # Safety
    /// This was made for messages of this type.
    unsafe fn decode<T>(self, bytes: &[u8]) -> Result<T, BoxError> {
        // SAFETY: said by the caller: it was one.
        let decode = unsafe { transmute::<fn(), Decode<T>>(self.decode) };
        decode(bytes)
    }

    /// Makes a message of its written form, where there is none. If it fails or panics, there is none still.
    ///
    /// # Safety
    /// `slot` has room for one of the type that this was made for.
    pub(super) unsafe fn decode_into(self, bytes: &[u8], slot: *mut u8) -> Result<(), BoxError> {
        // SAFETY: said by the caller; it was made with this.
        unsafe { (self.of.into)(self, bytes, slot) }
    }

    /// Sums up the written form of a message, as [`Digester`] does.
    ///
    /// # Safety
    /// As for [`encode`](Self::encode).
    ///
    /// # Panics
    /// Panics if what is written is not read as what it was.
    pub(crate) unsafe fn digest(self, message: *const ()) -> u64 {
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        // SAFETY: said by the caller.
        unsafe { self.encode(message, &mut bytes) };
        let name = (self.of.name)();
        // SAFETY: it was made with this.
        if let Err(error) = unsafe { (self.of.again)(self, &bytes, &mut again) } {
            panic!("the written form of a `{name}` is not read: {error}");
        }
        assert!(bytes == again, "the written form of a `{name}` is read as another");
        Digester::of(&bytes[..])
    }
}

impl ChannelRef {
    /// Writes its messages so, or not. No process knows the channel yet.
    pub(super) fn write_by(self, wire: Option<Wire>) {
        self.sender.set_kind(kind::WIRED, wire.is_some());
        if wire.is_some() {
            self.line(End::Sender).wire.set(wire);
        }
    }

    /// Whether its messages have a written form.
    pub(crate) fn is_wired(self) -> bool {
        self.sender.is_kind(kind::WIRED)
    }

    /// Calls `f` with the written form of each of these messages, none if it cannot be written.
    ///
    /// What the sender has not published lies in its present row: it goes to another when it looks at its
    /// peer for credit, and what there was credit for before is published then.
    ///
    /// # Safety
    /// The caller holds the process at the sender, which has put these messages into their slots and not
    /// published them.
    pub(super) unsafe fn for_each_written(
        self,
        numbers: Range<u64>,
        mut f: impl FnMut(Option<&[u8]>),
    ) {
        if !self.is_wired() {
            return;
        }
        let Some(wire) = self.line(End::Sender).wire.get() else { return };
        let (row, mask) = (self.sender.row.get(), self.sender.mask.get());
        let stride = self.types.get().stride;
        let mut bytes = Vec::new();
        for number in numbers {
            #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
            let index = (number as u32 & mask) as usize;
            let slot = row.wrapping_add(index * stride);
            bytes.clear();
            // SAFETY: the message stands there, as the caller says.
            f(unsafe { wire.written(slot, &mut bytes) });
        }
    }

    /// Tells the observer of a message that is left in the channel, if it is to be told.
    ///
    /// # Safety
    /// It stands in this slot, and the channel is not in use.
    pub(super) unsafe fn tell_what_is_left(self, number: u64, slot: *mut u8) {
        let table = self.table();
        if !self.is_wired() || !table.tells_of_left(self) {
            return;
        }
        if let (Some(ObserverHandle(observer)), Some(wire)) =
            (table.observer(), self.line(End::Sender).wire.get())
            && observer.wants_contents()
        {
            let mut bytes = Vec::new();
            // SAFETY: said by the caller.
            let message = unsafe { wire.written(slot, &mut bytes) };
            observer.left(self.subject(), self.before(number), message);
        }
    }
}

/// # Safety
/// `wire` was made for messages of this type, and `slot` has room for one.
unsafe fn into<T>(wire: Wire, bytes: &[u8], slot: *mut u8) -> Result<(), BoxError> {
    // SAFETY: said by the caller.
    let message = unsafe { wire.decode::<T>(bytes) }?;
    // SAFETY: said by the caller.
    unsafe { slot.cast::<T>().write(message) };
    Ok(())
}

/// # Safety
/// `wire` was made for messages of this type.
unsafe fn again<T>(wire: Wire, bytes: &[u8], into: &mut Vec<u8>) -> Result<(), BoxError> {
    // SAFETY: said by the caller.
    let message = unsafe { wire.decode::<T>(bytes) }?;
    // SAFETY: said by the caller.
    unsafe { wire.encode((&raw const message).cast(), into) };
    Ok(())
}

/// What serde writes, in postcard's format.
#[cfg(feature = "wire")]
pub(crate) fn of_serde<T: serde::Serialize + serde::de::DeserializeOwned>() -> Wire {
    Wire::new::<T>(
        |message, into| {
            let written = postcard::to_extend(message, std::mem::take(into));
            *into = written.unwrap_or_else(|error| panic!("a `{}`: {error}", type_name::<T>()));
        },
        |bytes| {
            let (message, rest) = postcard::take_from_bytes(bytes)?;
            match rest.len() {
                0 => Ok(message),
                more => Err(too_long::<T>(more)),
            }
        },
    )
}

/// Plain values as they lie in memory.
#[cfg(feature = "wire-raw")]
pub(crate) fn of_plain<T: bytemuck::Pod, C: AsRef<[T]> + From<Vec<T>>>() -> Wire {
    Wire::new::<C>(
        |message, into| into.extend_from_slice(bytemuck::cast_slice(message.as_ref())),
        |bytes| match bytes.len().checked_rem(size_of::<T>()) {
            Some(0) => Ok(bytemuck::pod_collect_to_vec::<u8, T>(bytes).into()),
            Some(more) => Err(too_long::<T>(more)),
            None => Err(format!("a `{}` takes no bytes", type_name::<T>()).into()),
        },
    )
}

#[cfg(any(feature = "wire", feature = "wire-raw"))]
fn too_long<T>(more: usize) -> BoxError {
    format!("{more} bytes are left over behind a `{}`", type_name::<T>()).into()
}
