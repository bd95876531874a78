//! The operations that send, as futures.

use super::fast_path::{FastPath, abandoned, fast_path_to_send, fast_path_to_send_one};
use super::raw::End;
use super::sender::{Sender, send_one};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

/// The future of [`Sender::send`].
pub(super) struct Sending<'a, T: Send> {
    /// There until it is over.
    message: MaybeUninit<T>,
    sender: &'a mut Sender<T>,
    waited: bool,
    is_over: bool,
}

// The message is moved, never pinned.
impl<T: Send> Unpin for Sending<'_, T> {}

impl<'a, T: Send> Sending<'a, T> {
    pub(super) fn new(sender: &'a mut Sender<T>, message: T) -> Self {
        Self { message: MaybeUninit::new(message), sender, waited: false, is_over: false }
    }

    /// Takes the message, for the operation is over.
    #[inline(always)]
    fn take(&mut self) -> T {
        self.waited = false;
        self.is_over = true;
        // SAFETY: it is there until the operation is over.
        unsafe { self.message.assume_init_read() }
    }
}

impl<T: Send> Future for Sending<'_, T> {
    type Output = ();

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        assert!(!this.is_over, "not polled after completion");
        let channel = this.sender.channel();
        match fast_path_to_send_one(channel, context, &mut this.waited) {
            FastPath::One(worker) => {
                let message = this.take();
                send_one(channel, message, worker);
            }
            FastPath::Go(worker) => {
                let message = this.take();
                this.sender.write(message, worker);
            }
            FastPath::Wait => return Poll::Pending,
            FastPath::Over => {
                channel.discards(&this.take());
            }
        }
        Poll::Ready(())
    }
}

impl<T: Send> Drop for Sending<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.waited {
            abandoned(self.sender.channel(), End::Sender);
        }
        // SAFETY: it is not over.
        unsafe { self.message.assume_init_drop() };
    }
}

/// The future of [`Sender::send_all`].
pub(super) struct SendingAll<'a, T: Send, I: Iterator<Item = T>> {
    pub(super) sender: &'a mut Sender<T>,
    pub(super) messages: I,
    pub(super) next: Option<T>,
    pub(super) waited: bool,
}

// The iterator and its messages are moved, never pinned.
impl<T: Send, I: Iterator<Item = T>> Unpin for SendingAll<'_, T, I> {}

impl<T: Send, I: Iterator<Item = T>> Future for SendingAll<'_, T, I> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            // What has sent its last message waits for no more room: one that waited there could be
            // ended there, after it has done all that it was to do.
            if this.next.is_none() {
                let (least, most) = this.messages.size_hint();
                if least == 0 && most != Some(0) {
                    this.next = this.messages.next();
                }
                if least == 0 && this.next.is_none() {
                    return Poll::Ready(());
                }
            }
            match fast_path_to_send(this.sender.channel(), context, &mut this.waited) {
                FastPath::Go(worker) => {
                    // As many as there is credit for; a look at the notes after each, for the
                    // iterator may run code of the process.
                    for _ in 0..this.sender.channel().sender.credit.get() {
                        let Some(message) = this.next.take().or_else(|| this.messages.next())
                        else {
                            this.sender.keep_room(worker);
                            return Poll::Ready(());
                        };
                        if this.sender.channel().sender.credit.get() == 0 {
                            this.next = Some(message);
                            break;
                        }
                        this.sender.write(message, worker);
                    }
                }
                FastPath::Wait => return Poll::Pending,
                FastPath::Over => {
                    // Discards a message, which has not been asked for if it was known to be there.
                    let Some(message) = this.next.take().or_else(|| this.messages.next()) else {
                        return Poll::Ready(());
                    };
                    this.sender.channel().discards(&message);
                }
            }
        }
    }
}

impl<T: Send, I: Iterator<Item = T>> Drop for SendingAll<'_, T, I> {
    fn drop(&mut self) {
        if self.waited {
            abandoned(self.sender.channel(), End::Sender);
        }
    }
}

/// Sends what is left of a vector.
pub(super) struct SendingBatch<'a, T: Send> {
    pub(super) sender: &'a mut Sender<T>,
    pub(super) rest: vec::Drain<'a, T>,
    pub(super) waited: bool,
}

impl<T: Send> Future for SendingBatch<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        while !this.rest.as_slice().is_empty() {
            match fast_path_to_send(this.sender.channel(), context, &mut this.waited) {
                FastPath::Go(worker) => this.sender.write_many(&mut this.rest, worker),
                FastPath::Wait => return Poll::Pending,
                FastPath::Over => {
                    let channel = this.sender.channel();
                    this.rest.as_slice().iter().for_each(|message| channel.discards(message));
                    break;
                }
            }
        }
        Poll::Ready(())
    }
}

impl<T: Send> Drop for SendingBatch<'_, T> {
    fn drop(&mut self) {
        if self.waited {
            abandoned(self.sender.channel(), End::Sender);
        }
    }
}
