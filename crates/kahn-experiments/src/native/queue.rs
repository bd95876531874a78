//! A POSIX message queue with two ends: what the system has for sending messages.
//!
//! The queue has no name any more once it is open, so nothing of it is left behind, however this
//! program ends.

use crate::experiment::Refused;

/// The bytes of a message that is not meant to be large.
pub(crate) const LEAST_MESSAGE: usize = 16;

#[cfg(target_os = "linux")]
mod posix {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use nix::errno::Errno;
    use nix::mqueue::{
        MQ_OFlag, MqAttr, MqdT, mq_attr_member_t, mq_close, mq_open, mq_receive, mq_send, mq_unlink,
    };
    use nix::sys::stat::Mode;

    use crate::experiment::Refused;
    use crate::native::limits::no_queue;

    #[derive(Debug)]
    struct Queue(Option<MqdT>);

    impl Queue {
        fn descriptor(&self) -> &MqdT {
            self.0.as_ref().expect("it is taken when the queue is dropped")
        }
    }

    impl Drop for Queue {
        fn drop(&mut self) {
            // There is nothing left to do about a descriptor that cannot be closed.
            let _ = self.0.take().map(mq_close);
        }
    }

    /// The end that sends.
    #[derive(Debug)]
    pub(in crate::native) struct QueueSender(Arc<Queue>, Box<[u8]>);

    /// The end that receives.
    #[derive(Debug)]
    pub(in crate::native) struct QueueReceiver(Arc<Queue>, Box<[u8]>);

    /// Makes a queue that holds so many messages of so many bytes, 8 at least.
    pub(in crate::native) fn queue(
        messages: u32,
        bytes: usize,
    ) -> Result<(QueueSender, QueueReceiver), Refused> {
        // Two queues at the same time have two names.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("/kahn-{}-{number}", std::process::id());
        let flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_RDWR;
        let room = mq_attr_member_t::try_from(bytes).expect("a small number");
        let shape = MqAttr::new(0, mq_attr_member_t::from(messages), room, 0);
        let descriptor = mq_open(name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR, Some(&shape))
            .map_err(no_queue)?;
        let queue = Arc::new(Queue(Some(descriptor)));
        mq_unlink(name.as_str()).map_err(no_queue)?;
        let message = || vec![0; bytes].into_boxed_slice();
        Ok((QueueSender(Arc::clone(&queue), message()), QueueReceiver(queue, message())))
    }

    impl QueueSender {
        /// Sends a number, waiting while the queue is full.
        pub(in crate::native) fn send(&mut self, number: u64) {
            self.1[..8].copy_from_slice(&number.to_ne_bytes());
            while let Err(error) = mq_send(self.0.descriptor(), &self.1, 0) {
                assert_eq!(error, Errno::EINTR, "a queue with two ends takes a message");
            }
        }
    }

    impl QueueReceiver {
        /// Receives a number, waiting for it.
        pub(in crate::native) fn recv(&mut self) -> u64 {
            let mut priority = 0;
            loop {
                match mq_receive(self.0.descriptor(), &mut self.1, &mut priority) {
                    Ok(_) => {
                        let mut bytes = [0; 8];
                        bytes.copy_from_slice(&self.1[..8]);
                        return u64::from_ne_bytes(bytes);
                    }
                    Err(error) => {
                        assert_eq!(error, Errno::EINTR, "a queue with two ends gives a message");
                    }
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use posix::{QueueReceiver, QueueSender, queue};

/// Elsewhere there are no such queues, or they are others.
#[cfg(not(target_os = "linux"))]
mod missing {
    use std::convert::Infallible;

    use crate::experiment::Refused;

    #[derive(Debug)]
    pub(in crate::native) struct QueueSender(Infallible);

    #[derive(Debug)]
    pub(in crate::native) struct QueueReceiver(Infallible);

    pub(in crate::native) fn queue(
        _messages: u32,
        _bytes: usize,
    ) -> Result<(QueueSender, QueueReceiver), Refused> {
        Err(Refused {
            what: "POSIX message queues are used on Linux alone".to_owned(),
            limit: "system".to_owned(),
            value: std::env::consts::OS.to_owned(),
        })
    }

    impl QueueSender {
        pub(in crate::native) fn send(&mut self, _number: u64) {
            match self.0 {}
        }
    }

    impl QueueReceiver {
        pub(in crate::native) fn recv(&mut self) -> u64 {
            match self.0 {}
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) use missing::{QueueReceiver, QueueSender, queue};

/// Makes a ring of queues: the ends of each process, left and right.
pub(super) fn ring_of_queues(
    processes: usize,
    bytes: usize,
) -> Result<Vec<(QueueReceiver, QueueSender)>, Refused> {
    let (mut senders, receivers): (Vec<_>, Vec<_>) = {
        let queues = (0..processes).map(|_| queue(1, bytes)).collect::<Result<Vec<_>, _>>()?;
        queues.into_iter().unzip()
    };
    // Each sends to the next one.
    senders.rotate_left(1);
    Ok(receivers.into_iter().zip(senders).collect())
}
