//! The written form of messages: what is kept of them, or compared, outside of the program that made
//! them.
//!
//! A channel has it if it was created with one: two functions, whose types are forgotten, beside the
//! word of the sender. So such a channel is roomy; others pay nothing.

use super::Digester;
use super::raw::{ChannelRef, End, kind};
use kahn_engine::sync::panics;
use kahn_report::BoxError;
use kahn_report::observe::WrittenForms;
use kahn_report::ranks::Beside;
use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, transmute};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Appends the written form of a message.
pub(crate) type Encode<T> = fn(&T, &mut Vec<u8>);

/// Makes a message of its written form.
pub(crate) type Decode<T> = fn(&[u8]) -> Result<T, BoxError>;

/// How the messages of a channel are written and read, without their type: what it takes for that, and what
/// knows how to use it.
#[derive(Clone, Copy)]
pub(crate) struct Wire {
    /// An [`Encode`] and a [`Decode`] of the type; or what each message is beside.
    by: By,
    of: &'static OfType,
}

/// Two words, not all of them written by what is smaller or has padding.
type By = [MaybeUninit<*const ()>; 2];

// SAFETY: functions, or what is borrowed for as long as there are messages and may be used by several threads.
unsafe impl Send for Wire {}
// SAFETY: as above.
unsafe impl Sync for Wire {}

/// Writes a message.
type Write = unsafe fn(Wire, *const (), &mut Vec<u8>);

/// Makes a message of its written form, in a slot.
type Into = unsafe fn(Wire, &[u8], *mut u8) -> Result<(), BoxError>;

/// Reads what was written, and writes it again.
type Again = unsafe fn(Wire, &[u8], &mut Vec<u8>) -> Result<(), BoxError>;

/// What must know the type, and how it is written.
struct OfType {
    write: Write,
    again: Again,
    into: Into,
    name: fn() -> &'static str,
    /// It uses what lives no longer than the processes of the network.
    is_short: bool,
}

/// A way in which messages of a type are written.
trait Form<T> {
    /// Whether it uses what lives no longer than the processes of the network.
    const IS_SHORT: bool = false;

    /// # Safety
    /// `wire` was made for messages of this type and form.
    unsafe fn encode(wire: Wire, message: &T, into: &mut Vec<u8>);

    /// # Safety
    /// As for [`encode`](Self::encode).
    unsafe fn decode(wire: Wire, bytes: &[u8]) -> Result<T, BoxError>;
}

/// By two functions.
struct Functions;

impl<T> Form<T> for Functions {
    unsafe fn encode(wire: Wire, message: &T, into: &mut Vec<u8>) {
        // SAFETY: said by the caller: it was one.
        let encode = unsafe { transmute::<MaybeUninit<*const ()>, Encode<T>>(wire.by[0]) };
        encode(message, into);
    }

    unsafe fn decode(wire: Wire, bytes: &[u8]) -> Result<T, BoxError> {
        // SAFETY: said by the caller: it was one.
        let decode = unsafe { transmute::<MaybeUninit<*const ()>, Decode<T>>(wire.by[1]) };
        decode(bytes)
    }
}

/// Beside something that is on every rank; which may not live as long as the messages, if it is `SHORT`.
struct BesideOf<S, const SHORT: bool>(PhantomData<S>);

impl<S: Copy, const SHORT: bool> BesideOf<S, SHORT> {
    /// What it is beside stands in place of the two functions.
    const FITS: () = {
        let fits = size_of::<S>() <= size_of::<By>();
        assert!(fits, "what messages are beside is a reference, or two at most");
        assert!(align_of::<S>() <= align_of::<By>(), "and stands where they do");
    };

    fn kept(beside: S) -> By {
        let () = Self::FITS;
        let mut by = [MaybeUninit::uninit(); 2];
        // SAFETY: there is room for it, as was said above.
        unsafe { by.as_mut_ptr().cast::<S>().write(beside) };
        by
    }

    /// # Safety
    /// It was [kept](Self::kept) there.
    unsafe fn of(wire: &Wire) -> S {
        // SAFETY: said by the caller.
        unsafe { wire.by.as_ptr().cast::<S>().read() }
    }
}

impl<T: Beside<S>, S: Copy, const SHORT: bool> Form<T> for BesideOf<S, SHORT> {
    const IS_SHORT: bool = SHORT;

    unsafe fn encode(wire: Wire, message: &T, into: &mut Vec<u8>) {
        // SAFETY: said by the caller.
        message.encode(unsafe { Self::of(&wire) }, into);
    }

    unsafe fn decode(wire: Wire, mut bytes: &[u8]) -> Result<T, BoxError> {
        // SAFETY: said by the caller.
        let message = T::decode(unsafe { Self::of(&wire) }, &mut bytes)?;
        match bytes.len() {
            0 => Ok(message),
            more => Err(too_long::<T>(more)),
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wire").field(&(self.of.name)()).finish()
    }
}

impl Wire {
    pub(crate) fn new<T>(encode: Encode<T>, decode: Decode<T>) -> Self {
        Self::of::<T, Functions>([encode as *const (), decode as *const ()].map(MaybeUninit::new))
    }

    /// Each message is written beside this, which lives for as long as the processes of the network.
    pub(crate) fn beside<T: Beside<S>, S: Copy + Send + Sync>(beside: S) -> Self {
        Self::of::<T, BesideOf<S, true>>(BesideOf::<S, true>::kept(beside))
    }

    /// Each message is written beside one of their type, which so lives as long as they do.
    pub(crate) fn within<T: Beside<T> + Copy + Send + Sync>(whole: T) -> Self {
        Self::of::<T, BesideOf<T, false>>(BesideOf::<T, false>::kept(whole))
    }

    fn of<T, F: Form<T>>(by: By) -> Self {
        let of = &const {
            OfType {
                write: write::<T, F>,
                again: again::<T, F>,
                into: into::<T, F>,
                name: type_name::<T>,
                is_short: F::IS_SHORT,
            }
        };
        Self { by, of }
    }

    /// Appends the written form of a message.
    ///
    /// # Safety
    /// `message` points to one of the type that this was made for.
    pub(crate) unsafe fn encode(self, message: *const (), into: &mut Vec<u8>) {
        // SAFETY: said by the caller; it was made with this.
        unsafe { (self.of.write)(self, message, into) };
    }

    /// Appends the written form of the message in a slot; `false` if it cannot be written. It does not unwind: it
    /// is the user's function, and its callers are about to publish or to drop.
    ///
    /// # Safety
    /// As for [`encode`](Self::encode).
    pub(super) unsafe fn write(self, slot: *mut u8, bytes: &mut Vec<u8>) -> bool {
        let written = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: said by the caller.
            unsafe { self.encode(slot.cast_const().cast(), bytes) };
        }));
        written.map_err(panics::discard).is_ok()
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

    /// Whether its messages are written beside what lives no longer than the processes of the network.
    pub(super) fn is_written_beside(self) -> bool {
        let wire = self.is_wired().then(|| self.line(End::Sender).wire.get()).flatten();
        wire.is_some_and(|wire| wire.of.is_short)
    }

    /// The written form of a message, if it has one and it can be written.
    ///
    /// # Safety
    /// `message` points to one of the channel's type.
    pub(super) unsafe fn written(self, message: *const ()) -> Option<Vec<u8>> {
        let wire = self.is_wired().then(|| self.line(End::Sender).wire.get()).flatten()?;
        let mut bytes = Vec::new();
        // SAFETY: said by the caller.
        let is_written = unsafe { wire.write(message.cast_mut().cast(), &mut bytes) };
        is_written.then_some(bytes)
    }

    /// Calls `tell` with the numbers of these messages and their written forms, many at once, in order; without
    /// those of a message that cannot be written. `false` if the messages have no written form: then it calls nothing.
    ///
    /// What the sender has not published lies in its present row: it goes to another when it looks at its
    /// peer for credit, and what there was credit for before is published then.
    ///
    /// # Safety
    /// The caller holds the process at the sender, which has put these messages into their slots and not
    /// published them.
    pub(super) unsafe fn write_each(
        self,
        numbers: Range<u64>,
        writing: &Writing,
        tell: &dyn Fn(Range<u64>, Option<WrittenForms<'_>>),
    ) -> bool {
        let wire = self.is_wired().then(|| self.line(End::Sender).wire.get()).flatten();
        let Some(wire) = wire else { return false };
        let (row, mask) = (self.sender.row.get(), self.sender.mask.get());
        let stride = self.types.get().stride;
        // Taken, for what writes messages is the user's: it may send others.
        let (mut bytes, mut ends) = (writing.bytes.take(), writing.ends.take());
        let Range { start, end } = numbers;
        let mut first = start;
        for number in start..end {
            #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
            let index = (number as u32 & mask) as usize;
            let slot = row.wrapping_add(index * stride);
            let before = bytes.len();
            // SAFETY: the message stands there, as the caller says.
            if unsafe { wire.write(slot, &mut bytes) } && bytes.len() >= before {
                ends.push(bytes.len());
                if bytes.len() < AT_ONCE && number + 1 < end {
                    continue;
                }
            } else if bytes.len() < before {
                // It has taken away what was there.
                ends.clear();
            }
            let unwritten = first + ends.len() as u64;
            if first < unwritten {
                tell(first..unwritten, Some(WrittenForms::new(&bytes, &ends)));
            }
            if unwritten <= number {
                tell(unwritten..number + 1, None);
            }
            first = number + 1;
            bytes.clear();
            ends.clear();
        }
        writing.keep(bytes, ends);
        true
    }
}

/// So many bytes are told of at once, and one message more.
const AT_ONCE: usize = 1 << 16;

/// Where a worker writes messages before it tells of them: no memory is taken for each.
#[derive(Default)]
pub(super) struct Writing {
    bytes: Cell<Vec<u8>>,
    ends: Cell<Vec<usize>>,
}

impl Writing {
    /// Keeps the room for the next messages, unless it is that of a very large one.
    fn keep(&self, mut bytes: Vec<u8>, mut ends: Vec<usize>) {
        bytes.clear();
        ends.clear();
        if bytes.capacity() <= 4 * AT_ONCE {
            self.bytes.set(bytes);
        }
        self.ends.set(ends);
    }
}

/// # Safety
/// `wire` was made for messages of this type and form, and `message` points to one.
unsafe fn write<T, F: Form<T>>(wire: Wire, message: *const (), into: &mut Vec<u8>) {
    // SAFETY: said by the caller.
    let message = unsafe { &*message.cast::<T>() };
    // SAFETY: said by the caller.
    unsafe { F::encode(wire, message, into) };
}

/// # Safety
/// `wire` was made for messages of this type and form, and `slot` has room for one.
unsafe fn into<T, F: Form<T>>(wire: Wire, bytes: &[u8], slot: *mut u8) -> Result<(), BoxError> {
    // SAFETY: said by the caller.
    let message = unsafe { F::decode(wire, bytes) }?;
    // SAFETY: said by the caller.
    unsafe { slot.cast::<T>().write(message) };
    Ok(())
}

/// # Safety
/// `wire` was made for messages of this type and form.
unsafe fn again<T, F: Form<T>>(
    wire: Wire,
    bytes: &[u8],
    into: &mut Vec<u8>,
) -> Result<(), BoxError> {
    // SAFETY: said by the caller.
    let message = unsafe { F::decode(wire, bytes) }?;
    // SAFETY: said by the caller.
    unsafe { F::encode(wire, &message, into) };
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

fn too_long<T>(more: usize) -> BoxError {
    format!("{more} bytes are left over behind a `{}`", type_name::<T>()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    static WHOLE: &str = "zwölf Boxkämpfer";

    #[test]
    fn what_is_written_of_a_part_is_read_as_that_part() {
        let ends = WHOLE.char_indices().map(|(at, _)| at).chain([WHOLE.len()]);
        let wire = Wire::within(WHOLE);
        for from in ends.clone() {
            for until in ends.clone().filter(|until| *until >= from) {
                let (part, mut bytes) = (&WHOLE[from..until], Vec::new());
                // SAFETY: it is made for texts.
                unsafe { wire.encode(ptr::from_ref(&part).cast(), &mut bytes) };
                let mut read = MaybeUninit::<&str>::uninit();
                // SAFETY: as above.
                unsafe { wire.decode_into(&bytes, read.as_mut_ptr().cast()) }
                    .expect("it is a part");
                // SAFETY: it was read.
                let read = unsafe { read.assume_init() };
                assert_eq!(read, part);
                assert!(part.is_empty() || read.as_ptr() == part.as_ptr());
            }
        }
    }

    #[test]
    fn what_is_no_part_and_what_is_left_over_is_refused() {
        let read = |bytes: &[u8]| {
            let mut slot = MaybeUninit::<&str>::uninit();
            // SAFETY: it is made for texts.
            unsafe { Wire::within(WHOLE).decode_into(bytes, slot.as_mut_ptr().cast()) }
        };
        let of = |from: u64, length: u64| [from.to_le_bytes(), length.to_le_bytes()].concat();
        let all = WHOLE.len() as u64;
        assert!(read(&of(0, all)).is_ok() && read(&of(all, 0)).is_ok());
        for (from, length) in [(0, all + 1), (all + 1, 0), (1, all), (u64::MAX, 1), (1, u64::MAX)] {
            assert!(read(&of(from, length)).is_err(), "{length} from {from} on");
        }
        // In the middle of a letter.
        assert!(read(&of(3, 4)).is_err());
        assert!(read(&[0; 15]).is_err() && read(&[0; 17]).is_err());
    }
}
