//! Programs as StreamIt has them: filters with rates, in pipelines and split-joins.
//!
//! StreamIt is a language of filters, each of which takes so many messages, looks at so many and gives
//! so many whenever it works (Thies, Karczmarek and Amarasinghe: "StreamIt: a language for streaming
//! applications", 2002). Its words are methods of networks here:
//!
//! | StreamIt | here |
//! |---|---|
//! | a filter with `pop`, `peek` and `push` | [`rates`](kahn::Network::rates), [`map`](kahn::Network::map) if all are one |
//! | `split duplicate` | [`tee`](kahn::Network::tee) |
//! | `split roundrobin`, with and without numbers | [`scatter_weighted`](kahn::Network::scatter_weighted), [`scatter`](kahn::Network::scatter) |
//! | `join roundrobin` | [`gather_weighted`](kahn::Network::gather_weighted), [`gather`](kahn::Network::gather) |
//! | a pipeline or split-join with a name | a function that takes a [`Scope`](kahn::Scope) |
//!
//! Five of the language's benchmarks, with the parameters that they have there unless something else is asked for:
//!
//! | folder | program | the network |
//! |---|---|---|
//! | [`fm_radio`] | a receiver with an equaliser | ten bands side by side, each the difference of two filters |
//! | [`filter_bank`] | a signal in eight bands, and put together again | eight branches that keep every eighth sample |
//! | [`fft`] | Fourier transforms | reorder and combine, in two kernels |
//! | [`bitonic_sort`] | blocks of numbers, sorted | a comparator a process |
//! | [`des`] | the Data Encryption Standard | a bit a message, sixteen rounds of eight S-boxes |
//!
//! Floating point is added up in one order, in the network and in the sequential form: their results are
//! equal bit for bit.

pub mod bitonic_sort;
pub mod des;
pub mod fft;
mod files;
pub mod filter_bank;
mod filters;
pub mod fm_radio;
mod samples;
