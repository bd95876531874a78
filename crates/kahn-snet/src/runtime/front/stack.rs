//! The mailboxes that a role owns and has work at, with what comes first on top.
//!
//! The lower part is a deque of the engine, from whose bottom other workers steal. It is bounded: what finds no
//! room lies above it, for the role alone, and moves down as soon as there is room. So it is one stack, and
//! others see its larger part.

use std::collections::VecDeque;
use std::sync::Arc;

use kahn_engine::queue::ends::{ColdEnd, HotEnd};

use super::frame::Frame;
use super::mailbox::Mailbox;

/// A mailbox with records, and the frame it lies in.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) home: Option<Arc<Frame>>,
}

/// What other workers see of a stack.
pub(super) type Bottom = ColdEnd<Box<Task>>;

/// Mailboxes with records, those nearer to the output on top.
#[derive(Debug, Default)]
pub(super) struct Stack {
    shared: HotEnd<Box<Task>>,
    above: VecDeque<Box<Task>>,
}

impl Stack {
    /// Where others steal.
    pub(super) fn bottom(&self) -> Bottom {
        self.shared.cold_end()
    }

    pub(super) fn push(&mut self, task: Box<Task>) {
        let refused = if self.above.is_empty() { self.shared.push(task).err() } else { Some(task) };
        self.above.extend(refused);
        self.fill();
    }

    pub(super) fn pop(&mut self) -> Option<Box<Task>> {
        let top = self.above.pop_back().or_else(|| self.shared.pop());
        self.fill();
        top
    }

    /// Takes what is below all others.
    pub(super) fn pop_bottom(&mut self) -> Option<Box<Task>> {
        let bottom = self.shared.pop_oldest().or_else(|| self.above.pop_front());
        self.fill();
        bottom
    }

    /// Moves as much down as there is room for.
    fn fill(&mut self) {
        while let Some(task) = self.above.pop_front() {
            if let Err(task) = self.shared.push(task) {
                self.above.push_front(task);
                return;
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.shared.len() + self.above.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Weak;

    use super::*;
    use crate::runtime::front::mailbox::Duty;
    use crate::runtime::steps::graph::OpId;

    fn task(number: usize) -> Task {
        let mailbox = Mailbox::new(Weak::new(), OpId(number), Duty::Resume);
        Task { mailbox, home: None }
    }

    /// More than the engine's deque has room for.
    const MANY: usize = 5000;

    #[test]
    fn it_is_one_stack_whatever_its_size() {
        let mut stack = Stack::default();
        (0..MANY).for_each(|number| stack.push(Box::new(task(number))));
        assert_eq!(stack.len(), MANY);
        let (bottom, number) =
            (stack.bottom(), |task: Option<Box<Task>>| task.map(|it| it.mailbox.op.0));
        assert_eq!(number(bottom.steal()), Some(0));
        assert_eq!(number(stack.pop_bottom()), Some(1));
        for next in (2..MANY).rev() {
            assert_eq!(number(stack.pop()), Some(next));
        }
        assert!(stack.is_empty() && stack.pop().is_none() && stack.pop_bottom().is_none());
    }

    #[test]
    fn thieves_get_what_had_no_room_as_soon_as_the_role_looks() {
        let mut stack = Stack::default();
        (0..MANY).for_each(|number| stack.push(Box::new(task(number))));
        let bottom = stack.bottom();
        let mut stolen = 0;
        while stack.pop().is_some() {
            while bottom.steal().is_some() {
                stolen += 1;
            }
        }
        assert!(stolen > MANY - 10, "{stolen} of {MANY} are stolen");
    }
}
