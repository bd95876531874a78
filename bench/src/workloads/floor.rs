//! What the hardware charges, by itself.

use crate::contest::{Contest, Settings};
use crate::floor;

pub(super) fn contests(_settings: &Settings) -> Vec<Contest> {
    vec![Contest::new("", "floor", floor::measure)]
}
