//! Where records come from, and where they go; and how both runtimes take them in and write them out.

use crate::record::{ReadError, Record, WriteError};
use crate::runtime::steps::answers::Facts;
use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::marks::{Failures, number_behind};
use crate::runtime::steps::shape::{Interner, Rec};
use crate::runtime::steps::tickets::Tickets;

/// Where records come from.
pub trait Source: Send {
    /// Returns the next record, waiting for it if need be.
    fn next(&mut self) -> Option<Result<Record, ReadError>>;

    /// Tells whether `next` would not wait.
    fn is_ready(&self) -> bool;
}

/// Records that are there already.
#[derive(Debug)]
pub struct Ready<I>(pub I);

impl<I: Iterator<Item = Record> + Send> Source for Ready<I> {
    fn next(&mut self) -> Option<Result<Record, ReadError>> {
        self.0.next().map(Ok)
    }

    fn is_ready(&self) -> bool {
        true
    }
}

/// Where records go.
pub trait Sink: Send {
    /// Takes a record.
    ///
    /// # Errors
    /// Returns why it cannot be written.
    fn write(&mut self, record: Record) -> Result<(), WriteError>;

    /// Lets everything taken so far be seen outside.
    ///
    /// # Errors
    /// Returns why it cannot be written.
    fn flush(&mut self) -> Result<(), WriteError>;
}

impl Sink for Vec<Record> {
    fn write(&mut self, record: Record) -> Result<(), WriteError> {
        self.push(record);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        Ok(())
    }
}

/// The input of a run.
pub(super) struct Input<'r> {
    pub(super) source: Box<dyn Source + 'r>,
    interner: Interner,
    pub(super) read: u64,
}

impl<'r> Input<'r> {
    pub(super) fn new(source: impl Source + 'r) -> Self {
        Self { source: Box::new(source), interner: Interner::default(), read: 0 }
    }

    /// Takes in what the source has given; if that fails, its mark, behind which nothing is to be read.
    pub(super) fn enter(
        &mut self,
        facts: Facts<'_>,
        failures: &Failures,
        next: Result<Record, ReadError>,
    ) -> Rec {
        let number = number_behind(self.read);
        let entered = match next {
            Ok(record) => self.interner.enter(facts, number, record),
            Err(error) => Err(Failure::Input(error)),
        };
        self.read += u64::from(entered.is_ok());
        entered.unwrap_or_else(|failure| failures.mark(number, Tickets::default(), failure))
    }
}

/// The output of a run.
pub(super) struct Output<'r> {
    sink: &'r mut dyn Sink,
    pub(super) written: u64,
}

impl<'r> Output<'r> {
    pub(super) fn new(sink: &'r mut dyn Sink) -> Self {
        Self { sink, written: 0 }
    }

    /// Writes what has come out, if it is wanted.
    pub(super) fn write(&mut self, facts: Facts<'_>, failures: &Failures, rec: Rec) {
        if rec.is_mark() {
            failures.came_out(&rec);
        } else if failures.wants(rec.number) {
            match self.sink.write(facts.shapes.leave(rec)) {
                Ok(()) => self.written += 1,
                Err(error) => failures.end_at_once(Failure::Output(error)),
            }
        }
    }

    /// Lets everything be seen that is written.
    pub(super) fn flush(&mut self, failures: &Failures) {
        if let Err(error) = self.sink.flush() {
            failures.end_at_once(Failure::Output(error));
        }
    }
}
