//! How a point says in which way its network is run.
//!
//! | parameter | value |
//! |---|---|
//! | `policy` | a policy by its name |
//! | `cpus` | the number of workers |
//! | `detection` | `central`, as in the papers, `deferred`, or `off` |
//! | `accounting` | `off`, `counters`, `timing` |
//! | `placement` | for `static`: `round-robin`, `good`, `bad` |
//! | `tau` | for `partition`: seconds |

use std::time::Duration;

use kahn::policy::Placement;
use kahn::{Accounting, Detection, RunOptions};

use crate::point::{Point, Value};

/// Makes the options of a point; what it does not say is as the library has it.
pub(crate) fn options(point: &Point) -> RunOptions {
    let text = |name| match point.get(name) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let mut options = RunOptions::new();
    if point.get("cpus").is_some() {
        options = options.workers(point.count("cpus"));
    }
    if let Some(policy) = text("policy") {
        options = options.policy(policy);
    }
    if let Some(detection) = text("detection") {
        options = options.detection(match detection {
            "central" => Detection::Central,
            "off" => Detection::Off,
            _ => Detection::Deferred,
        });
    }
    if let Some(accounting) = text("accounting") {
        options = options.accounting(match accounting {
            "off" => Accounting::Off,
            "timing" => Accounting::Timing,
            _ => Accounting::Counters,
        });
    }
    if let Some(placement) = text("placement") {
        options = options.placement(match placement {
            "good" => Placement::Good,
            "bad" => Placement::Bad,
            _ => Placement::RoundRobin,
        });
    }
    if point.get("tau").is_some() {
        options = options.tau(Duration::from_secs_f64(point.number("tau")));
    }
    options
}
