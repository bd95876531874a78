//! Where ready processes stand.
//!
//! | module | what |
//! |---|---|
//! | `lifo_slot` | the LIFO slot: the process that a worker has woken last |
//! | `lane` | what a worker has for itself under the default policy; `deque` and `fifo`: its two queues |
//! | `rates` | what that policy measures of stealing |
//! | `window` | batches that thieves may take, of the policy `batch` |
//! | `places` | urgent processes, those of the background, and those of one worker |

pub(crate) mod deque;
pub(crate) mod fifo;
pub mod lane;
mod lifo_slot;
pub mod places;
pub(crate) mod rates;
pub(crate) mod window;
