//! Where processes belong and when they are shared out anew: what is typed, and what is wrong
//! with it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use kahn::RunError;
use kahn::policy::{DEFAULT, PolicyChoice};
use kahn_policies::{POLICIES, Placement, STATIC};

use crate::Failure;

/// The policy that `--tau` is for; the crate has it with its feature `partition`.
const PARTITION: &str = "partition";

/// What is typed about places. Outputs do not depend on any of it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Placing {
    /// Where processes belong under the policy `static`; FILE has lines of a process, a tab
    /// and a worker, counted from 0
    #[arg(long, value_name = "round-robin|good|bad|FILE")]
    placement: Option<String>,

    /// How long workers may idle, all together, before the policy `partition` cuts anew: a number
    /// with us, ms or s
    #[cfg_attr(not(feature = "partition"), arg(hide = true))]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    tau: Option<Duration>,
}

impl Placing {
    /// Understands which policy is asked for; refuses what it would not heed.
    pub(crate) fn policy(&self, name: Option<&str>) -> Result<PolicyChoice, Failure> {
        let name = name.unwrap_or(DEFAULT.name());
        self.check(name)?;
        let policy = match (self.placement()?, self.tau) {
            (Some(placement), _) => Some(kahn_policies::static_by(placement)),
            #[cfg(feature = "partition")]
            (None, Some(tau)) => Some(kahn_policies::partition_after(tau)),
            #[cfg(not(feature = "partition"))]
            (None, Some(_)) => None,
            (None, None) => kahn_policies::named(name),
        };
        policy.ok_or_else(|| {
            let names: Vec<_> = POLICIES.iter().map(PolicyChoice::name).collect();
            let what = format!("there is no policy `{name}`");
            Failure::input(what).with_help(format!("choose one of {}", names.join(", ")))
        })
    }

    /// All policies, with what is typed about some: a list may name more workers than a run has.
    pub(crate) fn policies(&self) -> Result<Vec<PolicyChoice>, Failure> {
        let placement = self.placement()?;
        let with_settings = |policy: &PolicyChoice| match (policy.name(), &placement, self.tau) {
            (name, Some(placement), _) if name == STATIC.name() => {
                kahn_policies::static_folded(placement.clone())
            }
            #[cfg(feature = "partition")]
            (PARTITION, _, Some(tau)) => kahn_policies::partition_after(tau),
            _ => policy.clone(),
        };
        Ok(POLICIES.iter().map(with_settings).collect())
    }

    /// Refuses what a policy would not heed.
    fn check(&self, policy: &str) -> Result<(), Failure> {
        let typed = [
            ("--placement", STATIC.name(), self.placement.is_some()),
            ("--tau", PARTITION, self.tau.is_some()),
        ];
        for (option, needed, is_typed) in typed {
            if is_typed && policy != needed {
                let what = format!("{option} has no effect under the policy `{policy}`");
                return Err(Failure::input(what).with_help(format!("add --policy {needed}")));
            }
        }
        Ok(())
    }

    /// Whether a placement is asked for.
    pub(crate) fn has_placement(&self) -> bool {
        self.placement.is_some()
    }

    /// The placement that is asked for.
    fn placement(&self) -> Result<Option<Placement>, Failure> {
        let Some(typed) = &self.placement else { return Ok(None) };
        if let Some(placement) = Placement::named(typed) {
            return Ok(Some(placement));
        }
        let bytes = fs::read(typed).map_err(|cause| {
            let what = match cause.kind() {
                ErrorKind::NotFound => "no such file".to_owned(),
                _ => format!("cannot be read: {cause}"),
            };
            Failure::file(Path::new(typed), what)
                .with_help("a placement is round-robin, good, bad, or a file that lists places")
        })?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line = before.split(|byte| *byte == b'\n').count();
            Failure::input(format!("{typed}: line {line}: is no UTF-8 text"))
        })?;
        let placement = Placement::parse(text);
        placement.map(Some).map_err(|error| Failure::input(format!("{typed}: {error}")))
    }

    /// Whether a threshold is asked for.
    pub(crate) fn has_tau(&self) -> bool {
        self.tau.is_some()
    }

    /// Says which line of the file a run has refused, if it has.
    pub(crate) fn refused(&self, error: &RunError) -> Option<Failure> {
        let (RunError::Placement(error), Some(file)) = (error, &self.placement) else {
            return None;
        };
        let help = "the subcommand `graph` shows the processes, --workers sets the workers";
        Some(Failure::input(format!("{file}: {error}")).with_help(help))
    }
}

/// Reads a time as people write it.
fn parse_time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let unit = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let seconds = unit.and_then(|(number, size)| {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let number: f64 = number.parse().ok().filter(|_| number.chars().all(digits))?;
        Some(number * size)
    });
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| {
        "expected a time above 0, a number with us, ms or s: `500us`, `100ms`, `1.5s`".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_time("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(parse_time("1.5s"), Ok(Duration::from_millis(1500)));
        for text in ["", "5", "ms", "-1ms", "0s", "1 s", "1e3s", "1h", "infs", "1.2.3s"] {
            assert!(parse_time(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_a_policy_would_not_heed_is_refused() {
        let placing =
            |placement: Option<&str>, tau| Placing { placement: placement.map(str::to_owned), tau };
        assert!(placing(Some("good"), None).check("static").is_ok());
        assert!(placing(Some("good"), None).check("stealing").is_err());
        assert!(placing(None, Some(Duration::from_secs(1))).check("static").is_err());
        assert!(placing(None, None).check("stealing").is_ok());
    }
}
