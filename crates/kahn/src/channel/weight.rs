//! What messages weigh: the bytes that they own beside those of their slots.
//!
//! A type that owns nothing has no weight, and no code for it: that is known when a channel's code is
//! compiled. For all others a channel has the function that it was created with, or one that is found
//! by the type of message, for generic code cannot ask whether its messages have one. A type for which
//! there is none is *weight unknown*, and named by the report.
//!
//! A channel that weighs its messages keeps two plain counters: what was sent, which is the sender's,
//! and what was received, the receiver's. The difference is what it holds. The budget looks at them when
//! the channel must grow.

use super::Receiver;
use super::digest::type_of;
use super::raw::{ChannelRef, End, flag, kind};
use kahn_engine::sync::{Cell, Ordering::Relaxed, PlainAtomicU64, StaticMutex};
use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::marker::PhantomData;
use std::mem::{needs_drop, size_of_val};
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// Tells how many bytes a message owns beside its own, for the byte budget of a run.
///
/// Numbers, texts, boxes, vectors and other collections, options, results, pairs and arrays of them
/// have it. The default says that a value owns nothing.
///
/// # Examples
///
/// ```
/// use kahn::{Channel, Network, Weigh};
///
/// struct Frame {
///     number: u64,
///     pixels: Vec<u8>,
/// }
///
/// impl Weigh for Frame {
///     fn owned_bytes(&self) -> usize {
///         self.pixels.owned_bytes()
///     }
/// }
///
/// let mut network = Network::new();
/// let (out, frames) = network.channel_with(Channel::<Frame>::named("frames").weighed());
/// network.process("film", out, async |mut out| {
///     for number in 0..3 {
///         out.send(Frame { number, pixels: vec![0; 640 * 480] }).await;
///     }
/// });
/// let last = network.fold("last", frames, 0, |_, frame| frame.number);
/// let report = network.run()?;
/// assert_eq!(last.take(), Some(2));
/// assert_eq!(report.channels[0].owned_bytes, Some(640 * 480));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not tell how many bytes it owns",
    note = "implement `kahn::Weigh` for it, or say it with the channel: `Channel::weighed_by`"
)]
pub trait Weigh {
    /// Returns the bytes that this value owns beside those that it takes itself: on the heap, mostly.
    ///
    /// It must be the same when the value is sent and when it is received.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Weigh;
    ///
    /// assert_eq!(17_u64.owned_bytes(), 0);
    /// assert_eq!(vec![0_u8; 1000].owned_bytes(), 1000);
    /// assert_eq!(Some(Box::new([0_u64; 8])).owned_bytes(), 64);
    /// ```
    fn owned_bytes(&self) -> usize {
        0
    }
}

macro_rules! weigh_nothing {
    ($($of:ty),*) => {$( impl Weigh for $of {} )*};
}

weigh_nothing!((), bool, char, u8, u16, u32, u64, u128, usize, f32, f64, str, Duration);
weigh_nothing!(i8, i16, i32, i64, i128, isize);

impl<T: ?Sized> Weigh for &T {}

impl Weigh for String {
    fn owned_bytes(&self) -> usize {
        self.capacity()
    }
}

impl Weigh for OsString {
    fn owned_bytes(&self) -> usize {
        self.capacity()
    }
}

impl Weigh for PathBuf {
    fn owned_bytes(&self) -> usize {
        self.capacity()
    }
}

impl<T: Weigh> Weigh for [T] {
    fn owned_bytes(&self) -> usize {
        if needs_drop::<T>() { self.iter().map(T::owned_bytes).sum() } else { 0 }
    }
}

impl<T: Weigh, const N: usize> Weigh for [T; N] {
    fn owned_bytes(&self) -> usize {
        self.as_slice().owned_bytes()
    }
}

impl<T: Weigh> Weigh for Vec<T> {
    fn owned_bytes(&self) -> usize {
        self.capacity() * size_of::<T>() + self.as_slice().owned_bytes()
    }
}

impl<T: Weigh> Weigh for VecDeque<T> {
    fn owned_bytes(&self) -> usize {
        let (first, second) = self.as_slices();
        self.capacity() * size_of::<T>() + first.owned_bytes() + second.owned_bytes()
    }
}

impl<T: Weigh> Weigh for BTreeSet<T> {
    fn owned_bytes(&self) -> usize {
        self.len() * size_of::<T>() + self.iter().map(T::owned_bytes).sum::<usize>()
    }
}

impl<K: Weigh, V: Weigh> Weigh for BTreeMap<K, V> {
    fn owned_bytes(&self) -> usize {
        let each = |(key, value): (&K, &V)| key.owned_bytes() + value.owned_bytes();
        self.len() * size_of::<(K, V)>() + self.iter().map(each).sum::<usize>()
    }
}

impl<T: Weigh + ?Sized> Weigh for Box<T> {
    fn owned_bytes(&self) -> usize {
        size_of_val(&**self) + (**self).owned_bytes()
    }
}

/// Weighs what it points to, in each message that shares it.
impl<T: Weigh + ?Sized> Weigh for Arc<T> {
    fn owned_bytes(&self) -> usize {
        2 * size_of::<usize>() + size_of_val(&**self) + (**self).owned_bytes()
    }
}

impl<T: Weigh> Weigh for Option<T> {
    fn owned_bytes(&self) -> usize {
        self.as_ref().map_or(0, T::owned_bytes)
    }
}

impl<T: Weigh, E: Weigh> Weigh for Result<T, E> {
    fn owned_bytes(&self) -> usize {
        match self {
            Ok(value) => value.owned_bytes(),
            Err(error) => error.owned_bytes(),
        }
    }
}

impl<T: ToOwned<Owned: Weigh> + ?Sized> Weigh for Cow<'_, T> {
    fn owned_bytes(&self) -> usize {
        match self {
            Cow::Borrowed(_) => 0,
            Cow::Owned(value) => value.owned_bytes(),
        }
    }
}

macro_rules! weigh_tuples {
    ($(($($name:ident $field:tt),*))*) => {$(
        impl<$($name: Weigh),*> Weigh for ($($name,)*) {
            fn owned_bytes(&self) -> usize {
                0 $(+ self.$field.owned_bytes())*
            }
        }
    )*};
}

weigh_tuples! {
    (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// A function that weighs a message whose type is forgotten.
pub(crate) type WeighFn = unsafe fn(*const ()) -> usize;

/// Weighs a message.
///
/// # Safety
/// `message` points to a `T`.
unsafe fn weigh_at<T: Weigh>(message: *const ()) -> usize {
    // SAFETY: said by the caller.
    unsafe { &*message.cast::<T>() }.owned_bytes()
}

/// How the messages of a channel are weighed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weighing {
    /// They own nothing.
    Size,
    By(WeighFn),
    Unknown,
}

impl Weighing {
    /// By the trait.
    pub(crate) fn of<T: Weigh>() -> Self {
        Self::by::<T>(weigh_at::<T>)
    }

    /// By a function that a user gives.
    pub(crate) fn with<T>(weigh: fn(&T) -> usize) -> Self {
        // SAFETY: a function of a reference to a `T` is called with the address of one: see
        // `WeighFn`. References and pointers to sized types are passed alike.
        let weigh = unsafe { std::mem::transmute::<fn(&T) -> usize, WeighFn>(weigh) };
        Self::by::<T>(weigh)
    }

    /// By what is known of the type.
    pub(crate) fn find<T>() -> Self {
        // Not a `OnceLock`: the thread sanitizer does not see into the standard library's.
        static ORDINARY: StaticMutex<Option<&'static Ordinary>> = StaticMutex::new(None);
        if !needs_drop::<T>() {
            return Self::Size;
        }
        let make = || &*Box::leak(Box::new(Ordinary::new()));
        let ordinary = *ORDINARY.lock().get_or_insert_with(make);
        ordinary.0.get(&type_of::<T>()).map_or(Self::Unknown, |weigh| Self::By(*weigh))
    }

    fn by<T>(weigh: WeighFn) -> Self {
        if needs_drop::<T>() { Self::By(weigh) } else { Self::Size }
    }
}

/// Weighs the messages of a channel elsewhere.
pub(crate) struct Weigher<T> {
    by: Weighing,
    of: PhantomData<fn(&T)>,
}

impl<T> Weigher<T> {
    /// All the bytes of a message, as far as they are known.
    pub(crate) fn bytes(&self, message: &T) -> usize {
        let owned = match self.by {
            // SAFETY: it weighs messages of the channel that this was made for, which are of this type.
            Weighing::By(weigh) => unsafe { weigh(ptr::from_ref(message).cast()) },
            Weighing::Size | Weighing::Unknown => 0,
        };
        size_of::<T>() + owned
    }

    /// Messages that stand for those of this channel are weighed so.
    pub(crate) fn weighing<M>(&self, weigh: fn(&M) -> usize) -> Weighing {
        match self.by {
            Weighing::Unknown => Weighing::Unknown,
            Weighing::Size | Weighing::By(_) => Weighing::with(weigh),
        }
    }
}

impl<T: Send> Receiver<T> {
    /// What weighs its messages.
    pub(crate) fn weigher(&self) -> Weigher<T> {
        let channel = self.channel();
        let by = channel.scales(End::Receiver).and_then(|scales| scales.weigh.get());
        let by = match by {
            Some(weigh) => Weighing::By(weigh),
            None if channel.has_flag(flag::WEIGHT_UNKNOWN) => Weighing::Unknown,
            None => Weighing::Size,
        };
        Weigher { by, of: PhantomData }
    }
}

/// Ordinary types that own something. Types that differ in their lifetimes alone count as one, and
/// weigh the same.
struct Ordinary(BTreeMap<TypeId, WeighFn>);

/// Adds what is commonly made of each of several types.
macro_rules! add_each {
    ($table:ident: $($of:ty),*) => {$( $table.add_shapes::<$of>(); )*};
}

/// Adds the pairs of a type with each of several others.
macro_rules! add_pairs {
    ($table:ident, $first:ty: $($second:ty),*) => {$(
        $table.add::<($first, $second)>();
        $table.add::<Vec<($first, $second)>>();
        $table.add::<Option<($first, $second)>>();
    )*};
}

impl Ordinary {
    fn new() -> Self {
        let mut table = Self(BTreeMap::new());
        add_each!(table: (), bool, char, String, &str, &[u8], Vec<u8>, Duration, PathBuf, OsString);
        add_each!(table: u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);
        add_each!(table: Arc<str>, Arc<[u8]>, Box<str>, Box<[u8]>, Cow<'static, str>);
        macro_rules! with_ordinary {
            ($($first:ty),*) => {$(
                add_pairs!(table, $first: bool, char, u8, u32, u64, usize, i32, i64, f64);
                add_pairs!(table, $first: String, &str, Vec<u8>, Vec<u64>, Vec<f64>);
            )*};
        }
        with_ordinary!(bool, char, u8, u32, u64, usize, i32, i64, f64, String, &str, Vec<u8>);
        table
    }

    /// Adds a type, and what is commonly made of it.
    fn add_shapes<T: Weigh>(&mut self) {
        self.add::<T>();
        self.add::<Box<T>>();
        self.add::<Arc<T>>();
        self.add::<Option<T>>();
        self.add::<Vec<T>>();
        self.add::<VecDeque<T>>();
        self.add::<Box<[T]>>();
        self.add::<Arc<[T]>>();
        self.add::<Vec<Vec<T>>>();
        self.add::<Option<Vec<T>>>();
        self.add::<Arc<Vec<T>>>();
        self.add::<Vec<Option<T>>>();
        self.add::<[T; 2]>();
        self.add::<[T; 3]>();
        self.add::<(T, T, T)>();
        self.add::<(usize, T)>();
        self.add::<(u64, T)>();
        self.add::<(usize, Vec<T>)>();
        self.add::<(u64, Vec<T>)>();
    }

    fn add<T: Weigh>(&mut self) {
        if needs_drop::<T>() {
            self.0.insert(type_of::<T>(), weigh_at::<T>);
        }
    }
}

/// Weighs the messages of an end.
#[derive(Debug, Default)]
pub(super) struct Scales {
    /// Set before any process knows the channel.
    pub(super) weigh: Cell<Option<WeighFn>>,
    /// All of its messages together. Read where it is compared with the budget.
    pub(super) total: PlainAtomicU64,
    /// Of what the channel held, what the budget counts; under the table's lock. The sender's.
    pub(super) counted: PlainAtomicU64,
}

/// Counts what a message weighs that an end is about to send or to receive. No code for a type that
/// owns nothing. The function that weighs may be the user's, and panic: the caller has neither
/// taken the message out of its slot nor put another into it that both it and the slot would drop.
#[inline(always)]
pub(super) fn count_weight<T>(channel: ChannelRef, end: End, message: *const T) {
    if const { needs_drop::<T>() } && channel.side(end).is_kind(kind::WEIGHED) {
        // SAFETY: the message is where the caller says; the channel weighs messages of this type.
        unsafe { add_weight(channel, end, message.cast()) };
    }
}

/// [`count_weight`] of a message whose type is not known here.
///
/// # Safety
/// `message` points to one of the channel's type.
pub(super) unsafe fn count_untyped_weight(channel: ChannelRef, end: End, message: *const ()) {
    if channel.types.get().owns && channel.side(end).is_kind(kind::WEIGHED) {
        // SAFETY: said by the caller.
        unsafe { add_weight(channel, end, message) };
    }
}

/// # Safety
/// The channel weighs its messages, and `message` points to such a one.
#[inline(never)]
unsafe fn add_weight(channel: ChannelRef, end: End, message: *const ()) {
    let Some(scales) = channel.scales(end) else { return };
    // SAFETY: said by the caller.
    let weight = scales.weigh.get().map_or(0, |weigh| unsafe { weigh(message) });
    // Relaxed, and no read-modify-write: only this end writes.
    scales.total.store(scales.total.load(Relaxed).wrapping_add(weight as u64), Relaxed);
}

impl ChannelRef {
    /// What weighs the messages of an end, if they are weighed.
    pub(super) fn scales(&self, end: End) -> Option<&Scales> {
        self.side(end).is_kind(kind::WEIGHED).then(|| &self.line(end).scales)
    }

    /// Weighs its messages so, or not. No process knows the channel yet.
    pub(super) fn weigh_by(self, weigh: Option<WeighFn>) {
        for end in [End::Sender, End::Receiver] {
            self.side(end).set_kind(kind::WEIGHED, weigh.is_some());
            if let Some(scales) = self.scales(end) {
                scales.weigh.set(weigh);
                scales.total.store(0, Relaxed);
                scales.counted.store(0, Relaxed);
            }
        }
    }

    /// What all messages that were sent, or received, weighed together.
    pub(super) fn weight(self, end: End) -> u64 {
        self.scales(end).map_or(0, |scales| scales.total.load(Relaxed))
    }

    /// What the messages that are in it weigh. A message that weighs another amount when it is
    /// received makes this one wrong, but no less than nothing.
    pub(super) fn weight_held(self) -> u64 {
        // The receiver's first: what it has counted was sent before.
        let received = self.weight(End::Receiver);
        self.weight(End::Sender).saturating_sub(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_weighs_what_it_owns() {
        assert_eq!(7_u64.owned_bytes() + "text".owned_bytes() + Some(1.5).owned_bytes(), 0);
        assert_eq!(String::with_capacity(100).owned_bytes(), 100);
        assert_eq!(vec![0_u64; 10].owned_bytes(), 80);
        let texts = vec![String::with_capacity(10), String::with_capacity(20)];
        assert_eq!(texts.owned_bytes(), 2 * size_of::<String>() + 30);
        assert_eq!(Box::new([0_u8; 50]).owned_bytes(), 50);
        assert_eq!((1, String::with_capacity(9), vec![0_u8; 4]).owned_bytes(), 13);
        assert_eq!(Arc::<[u8]>::from(&b"abc"[..]).owned_bytes(), 16 + 3);
        assert_eq!([Some(vec![0_u32; 2]), None].owned_bytes(), 8);
    }

    #[test]
    fn ordinary_types_are_weighed_without_being_asked() {
        struct Own(#[expect(dead_code, reason = "only its type counts")] Vec<u8>);
        fn weighs<T>(_: &T) -> bool {
            matches!(Weighing::find::<T>(), Weighing::By(_))
        }
        let text = String::from("borrowed for a while");
        assert!(weighs(&text) && weighs(&vec![text.as_str()]) && weighs(&Some(vec![1.5_f64])));
        assert!(weighs(&(3_usize, text.clone())) && weighs(&vec![(text.as_str(), 3_u64)]));
        assert!(weighs(&Arc::<[u8]>::from(&b"abc"[..])));
        assert!(matches!(Weighing::find::<&String>(), Weighing::Size));
        assert!(matches!(Weighing::find::<[u64; 4]>(), Weighing::Size));
        assert!(matches!(Weighing::find::<Own>(), Weighing::Unknown));
    }
}
