//! Where something lies: in which replicas of splits and stars.

use std::sync::Arc;

use super::graph::ScopeId;

/// The replicas of splits and stars that something lies in, the innermost first.
#[derive(Debug)]
pub(crate) struct Within {
    /// The body of the split or star.
    pub(crate) scope: ScopeId,
    /// What was split by, or the number of the replica in its star, from 1.
    pub(crate) value: i64,
    pub(crate) outer: Option<Arc<Within>>,
}
