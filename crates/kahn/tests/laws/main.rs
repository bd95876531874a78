//! The laws of process networks, each under every policy, several numbers of workers, several
//! capacities and seeds.
//!
//! | file | what |
//! |---|---|
//! | `schedules` | the schedules, a watchdog, and the few processes that most tests need |
//! | `histories` | same input, same output; FIFO; the end of a stream; exact batches |
//! | `in_place` | the same with messages that stay in their slots |
//! | `holders` | what becomes of such messages when their holders end |
//! | `failures` | errors and panics, at every point; what ends with what |
//! | `farm` | the ordered farm is a map |
//! | `pruning`, `loops` | receivers that leave, and processes and loops that nobody observes |
//! | `budget` | what the byte budget counts, and what it suffices for |
//! | `rings` | artificial and true deadlocks: growth, dead processes, budget, quiescence |
//! | `misuse` | what must not be done with an end, and what is said about it |
//! | `stopping` | stop from outside and from inside |
//! | `destructors` | what destructors do while their process is being ended |
//! | `outside` | blocking processes, outside parties, rings through both |
//! | `foreign` | futures and wakers of others; networks inside networks |
//! | `observing` | what an observer is told |
//! | `looking` | what a look from outside finds, and that it changes nothing |
//! | `messages` | types of messages; every one is dropped exactly once |
//! | `cores` | more workers than cores: nobody waits for one that is kept asleep |
//! | `creation` | networks that grow while they run |
//! | `dispatches` | a process that never waits keeps its worker for a bounded time |
//! | `reports` | what is told afterwards, and in which order |
//! | `policies` | what single policies promise: places, parts, batches |
//! | `behaviour` | each option, policy and counter does something |
//! | `handing_on` | what is told of failures if ends go from process to process |
//! | `outliving` | what is told of a process that fails when it has no sender any more |
//! | `telling` | what is told of failures: all that counts, and the same in every run |
//! | `values` | values that can be taken after the run, and errors that are kept |
//! | `random` | random networks of `program`s against an independent `interpreter` and the `meaning` it finds |

mod behaviour;
mod budget;
mod cores;
mod creation;
mod destructors;
mod dispatches;
mod failures;
mod farm;
mod foreign;
mod handing_on;
mod histories;
mod holders;
mod in_place;
mod interpreter;
mod looking;
mod loops;
mod meaning;
mod messages;
mod misuse;
mod observing;
mod outliving;
mod outside;
mod policies;
mod program;
mod pruning;
mod random;
mod reports;
mod rings;
mod schedules;
mod stopping;
mod telling;
mod threads;
mod values;
mod written;
