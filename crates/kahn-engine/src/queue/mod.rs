//! Where ready processes stand.
//!
//! | module | what |
//! |---|---|
//! | `run_queues` | what is usual and of any worker: the engine's own queues, or a policy's |
//! | `stealing` | the engine's own scheduler, which is the default |
//! | `lane` | what a worker has for itself under it; `deque` and `fifo`: its two queues; `slots`: where items stand in them |
//! | `ends` | a deque of whatever is one pointer, in two ends: for runtimes without tasks |
//! | `rates` | what it measures of stealing |
//! | `bias` | whether its worker alone takes from them, without read-modify-writes |
//! | `window` | batches that thieves may take: for policies |
//! | `places` | urgent processes, those of the background, and those of one worker |

pub(crate) mod bias;
pub(crate) mod deque;
pub mod ends;
pub(crate) mod fifo;
pub mod lane;
pub mod places;
pub(crate) mod rates;
pub mod run_queues;
pub mod slots;
pub(crate) mod stealing;
pub mod window;
