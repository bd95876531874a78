//! How a point says in which way its network is run.
//!
//! | parameter | value |
//! |---|---|
//! | `policy` | a policy by its name, or `default` |
//! | `cpus` | the number of workers |
//! | `detection` | `central`, as in the papers, `deferred`, or `off` |
//! | `accounting` | `off`, `counters`, `timing` |
//! | `placement` | for `static`: `round-robin`, `good`, `bad` |
//! | `tau` | for `partition`: seconds |
//! | `capacity` | of channels, in messages |
//! | `pin` | `on`: each worker is bound to a core |

use std::time::Duration;

use kahn::policy::{DEFAULT, PolicyChoice};
use kahn::{Accounting, Detection, Options};
use kahn_policies::{Placement, partition_after, static_by};

use crate::point::{Point, Value};

/// The policy of that name; `default` is whatever the default is.
///
/// # Panics
/// Panics if there is none: points are written in this crate.
pub(super) fn policy(name: &str) -> PolicyChoice {
    let named = kahn_policies::named(name).or_else(|| (name == "default").then_some(DEFAULT));
    named.unwrap_or_else(|| panic!("there is no policy `{name}`"))
}

/// What stands for `pin`: the papers bind the runners of their static assignments to cores.
pub(super) fn pinned(policy: &str) -> &'static str {
    if policy == "static" { "on" } else { "off" }
}

/// Makes the options of a point; what it does not say is as the library has it.
pub(crate) fn options(point: &Point) -> Options {
    let text = |name| match point.get(name) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let mut options = Options::new();
    if point.get("cpus").is_some() {
        options = options.workers(point.count("cpus"));
    }
    if let Some(name) = text("policy") {
        options = options.policy(policy(name));
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
        options = options.policy(static_by(match placement {
            "good" => Placement::Good,
            "bad" => Placement::Bad,
            _ => Placement::RoundRobin,
        }));
    }
    if point.get("tau").is_some() {
        options = options.policy(partition_after(Duration::from_secs_f64(point.number("tau"))));
    }
    if point.get("capacity").is_some() {
        options = options.capacity(u32::try_from(point.count("capacity")).unwrap_or(u32::MAX));
    }
    if text("pin") == Some("on") {
        options = options.pin(true);
    }
    options
}
