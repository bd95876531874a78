//! What a network takes and makes, and what cannot happen.
//!
//! | file      | says                                                                          |
//! |-----------|-------------------------------------------------------------------------------|
//! | `infer`   | what comes out of a network for a record type that goes in, and what may go in |
//! | `initial` | what initialisers begin                                                       |
//! | `dead`    | networks that no record comes through                                         |
//! | `labels`  | labels that are taken and made nowhere                                        |
//! | `origin`  | the component that makes an output                                            |
//! | [`check`] | all of this, against what was declared                                        |

pub mod check;
mod dead;
pub(crate) mod infer;
mod initial;
mod labels;
mod origin;
