//! Which network a recording is of.

use serde::{Deserialize, Serialize};

/// A network as it is written down: what it takes to say whether two are the same.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::{Channel, Process, Topology};
///
/// let source = Process { id: 0, name: "read".into(), is_recorded: true };
/// let sink = Process { id: 0, name: "sum".into(), is_recorded: false };
/// let lines = Channel { id: 0, name: "lines".into(), from: 0, to: 1, is_wired: true };
/// let network = Topology { processes: vec![source, sink], channels: vec![lines] };
/// let same = network.clone();
/// assert_eq!(network.difference(&same), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// The processes and outside parties, in the order of their creation.
    pub processes: Vec<Process>,
    /// The channels, in the order of their creation.
    pub channels: Vec<Channel>,
}

/// A process or an outside party of a [`Topology`].
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Process;
///
/// let vertex = Process { id: 0, name: "read".into(), is_recorded: true };
/// assert_eq!(vertex.name, "read");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The number that observers are told of it.
    pub id: u64,
    /// What it is called.
    pub name: String,
    /// Whether its messages come from outside, or it acts there.
    pub is_recorded: bool,
}

/// A channel of a [`Topology`].
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Channel;
///
/// let edge = Channel { id: 0, name: "lines".into(), from: 0, to: 1, is_wired: true };
/// assert!(edge.is_wired);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// The number that observers are told of it.
    pub id: u64,
    /// What it is called.
    pub name: String,
    /// The place of its sender's process among the processes.
    pub from: u32,
    /// The place of its receiver's process.
    pub to: u32,
    /// Whether its messages have a written form.
    pub is_wired: bool,
}

impl Topology {
    /// Says in what another network differs first, if it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Topology, Process};
    ///
    /// let of = |name: &str| Topology {
    ///     processes: vec![Process { id: 0, name: name.into(), is_recorded: false }],
    ///     channels: Vec::new(),
    /// };
    /// let difference = of("read").difference(&of("fetch"));
    /// assert_eq!(difference.as_deref(), Some("process 1 is `read` here and `fetch` there"));
    /// ```
    pub fn difference(&self, other: &Self) -> Option<String> {
        let called =
            |name: Option<&String>| name.map_or("missing".into(), |name| format!("`{name}`"));
        let most = self.processes.len().max(other.processes.len());
        for at in 0..most {
            let (here, there) = (self.processes.get(at), other.processes.get(at));
            let (name, others) = (here.map(|one| &one.name), there.map(|one| &one.name));
            if name != others {
                let (at, here, there) = (at + 1, called(name), called(others));
                return Some(format!("process {at} is {here} here and {there} there"));
            }
            if let (Some(here), Some(there)) = (here, there)
                && here.is_recorded != there.is_recorded
            {
                let (acts, not) =
                    if here.is_recorded { ("here", "there") } else { ("there", "here") };
                let name = &here.name;
                return Some(format!("process `{name}` is recorded {acts} and not {not}"));
            }
        }
        let most = self.channels.len().max(other.channels.len());
        (0..most).find_map(|at| {
            let (here, there) = (self.channels.get(at), other.channels.get(at));
            if here == there {
                return None;
            }
            let (name, others) = (here.map(|one| &one.name), there.map(|one| &one.name));
            if name != others {
                let (at, here, there) = (at + 1, called(name), called(others));
                return Some(format!("channel {at} is {here} here and {there} there"));
            }
            let (name, here, there) = (called(name), here?, there?);
            if here.is_wired != there.is_wired {
                let (has, not) = if here.is_wired { ("here", "there") } else { ("there", "here") };
                return Some(format!("channel {name} has a written form {has} and none {not}"));
            }
            let way = |network: &Self, edge: &Channel| {
                let process = |at: u32| network.processes.get(usize::try_from(at).ok()?);
                let name = |at| called(process(at).map(|one| &one.name));
                format!("from {} to {}", name(edge.from), name(edge.to))
            };
            let (here, there) = (way(self, here), way(other, there));
            Some(format!("channel {name} leads {here} here and {there} there"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Topology {
        let vertex = |name: &str| Process { id: 0, name: name.into(), is_recorded: name == "read" };
        let edge =
            |name: &str, from, to| Channel { id: 0, name: name.into(), from, to, is_wired: true };
        Topology {
            processes: ["read", "count", "print"].map(vertex).into(),
            channels: vec![edge("lines", 0, 1), edge("sums", 1, 2)],
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let differs = |change: fn(&mut Topology)| {
            let mut other = network();
            change(&mut other);
            network().difference(&other).unwrap_or_default()
        };
        assert_eq!(differs(|_| {}), "");
        let text = differs(|other| other.processes.truncate(2));
        assert_eq!(text, "process 3 is `print` here and missing there");
        let text = differs(|other| other.processes[0].is_recorded = false);
        assert_eq!(text, "process `read` is recorded here and not there");
        let text = differs(|other| other.channels.swap(0, 1));
        assert_eq!(text, "channel 1 is `lines` here and `sums` there");
        let text = differs(|other| other.channels[1].is_wired = false);
        assert_eq!(text, "channel `sums` has a written form here and none there");
        let text = differs(|other| other.channels[1].to = 0);
        assert_eq!(
            text,
            "channel `sums` leads from `count` to `print` here and from `count` to `read` there"
        );
    }
}
