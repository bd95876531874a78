//! Where records come from, and where they go.

use crate::record::{ReadError, Record, WriteError};

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
