//! What processes wait for on all ranks: what each rank tells of its own, put together.
//!
//! When the run is over, nothing has moved since ranks were looked at. While it runs, rank 0 asks, and each rank is looked
//! at when the question comes there: what is told of a process was so at that moment, and ranks are seen at different ones.
//! All the same, *a ring of processes on several ranks that is told is real, and none of it goes on any more*:
//!
//! A rank looks first where its processes are parked, and then how many messages were sent on channels whose sender
//! is there. Process *p* is told to wait for *q* if *p* was parked for message *n* of a channel, and *q*, which has its
//! sender, had sent fewer. Suppose that some of a ring of such waits went on after they were seen parked, and take the
//! one that did so first: it got its message *n*. That was sent by the next in the ring after its messages were counted,
//! which was after that was seen parked. So the next had gone on before: a contradiction.
//!
//! A ring with a full channel in it is none for long, for that grows: only its waits are told.

use super::core::Core;
use super::left::rings;
use super::local::is_link;
use crate::channel::raw::End;
use crate::deadlock::walk::{Edge, edge_of};
use crate::deadlock::{explain_each, remedy_of};
use kahn_engine::sync::{Ordering::*, fence};
use kahn_report::{
    Activity, Explanation, Identity, Name, Portable as _, RingMember, Waiting, portable_structs,
};
use std::collections::{BTreeMap, BTreeSet};

/// What waits for what on one rank, while it runs.
#[derive(Debug, Default)]
pub(super) struct RankWaits {
    explanation: Explanation,
    /// The identities of the processes of which the explanation tells, in its order.
    processes: Vec<Identity>,
    parked: Vec<Parked>,
    ends: Vec<OpenEnd>,
}

/// A process that was parked at its end of a channel.
#[derive(Debug)]
struct Parked {
    process: Identity,
    channel: Identity,
    is_sender: bool,
    /// The message that it waits for, or to send.
    number: u64,
}

/// An end of a channel at which something waits, or may on another rank.
#[derive(Debug)]
struct OpenEnd {
    channel: Identity,
    is_sender: bool,
    process: Identity,
    /// Sent or received here.
    messages: u64,
}

portable_structs! {
    RankWaits { explanation, processes, parked, ends }
    Parked { process, channel, is_sender, number }
    OpenEnd { channel, is_sender, process, messages }
}

impl Core {
    /// What waits for what on this rank.
    pub(super) fn waits(&self) -> RankWaits {
        let (parked, ends) = self.parked_and_ends();
        let (explanation, processes) = explain_each(&self.scheduler, &self.channels);
        RankWaits { explanation, processes, parked, ends }
    }

    fn parked_and_ends(&self) -> (Vec<Parked>, Vec<OpenEnd>) {
        fence(SeqCst);
        // While both tables are locked nothing is recycled.
        let table = self.scheduler.table.lock();
        let channels = self.channels.hold();
        let processes = table.all();
        let processes = processes.iter().filter(|task| !task.has_ended() && !is_link(**task));
        let parked = |edge: Edge| Parked {
            process: edge.task.info().identity,
            channel: edge.channel.label().identity,
            is_sender: edge.end == End::Sender,
            number: match edge.end {
                End::Receiver => edge.channel.before(edge.seen.count()) + 1,
                End::Sender => edge.channel.messages(End::Sender) + 1,
            },
        };
        let parked: Vec<_> = processes.filter_map(|task| edge_of(*task)).map(parked).collect();
        // Behind that; see above.
        let mut wanted: BTreeSet<Identity> = parked.iter().map(|one| one.channel).collect();
        if let Some(cut) = self.cut.get() {
            wanted.extend(cut.links.keys().map(|&place| cut.channels[place].0));
        }
        let mut ends = Vec::new();
        for channel in channels.all() {
            let identity = channel.label().identity;
            for end in
                [End::Sender, End::Receiver].into_iter().filter(|_| wanted.contains(&identity))
            {
                let messages = channel.messages(end);
                let owner =
                    channel.owner(end).filter(|owner| !owner.has_ended() && !is_link(*owner));
                if let Some(owner) = owner.filter(|_| !channel.seen(end).is_closed()) {
                    let process = owner.info().identity;
                    ends.push(OpenEnd {
                        channel: identity,
                        is_sender: end == End::Sender,
                        process,
                        messages,
                    });
                }
            }
        }
        (parked, ends)
    }

    /// What every process does, on all ranks if this is the first of several.
    pub(crate) fn explain_all(&self) -> Explanation {
        let elsewhere = self.cut.get().map(|cut| cut.by.waits_elsewhere()).unwrap_or_default();
        if elsewhere.is_empty() {
            return self.explain();
        }
        let mut all = vec![(0, self.waits())];
        let mut silent = Vec::new();
        for (told, rank) in elsewhere.iter().zip(1..) {
            match told.as_ref().and_then(|bytes| RankWaits::read(&mut &bytes[..])) {
                Some(waits) => all.push((rank, waits)),
                None => silent.push(rank),
            }
        }
        let told: Vec<_> = all.iter().map(|(rank, waits)| waits.told(*rank)).collect();
        Explanation { silent, ..put_together(&told, &awaits(all.iter().map(|(_, waits)| waits))) }
    }
}

impl RankWaits {
    fn told(&self, rank: usize) -> ToldWaits<'_> {
        ToldWaits { rank, explanation: &self.explanation, processes: &self.processes }
    }
}

/// Which process each waits for: to receive, if it has not sent that; and to send.
fn awaits<'a>(all: impl Iterator<Item = &'a RankWaits> + Clone) -> BTreeMap<Identity, Identity> {
    let ends = all.clone().flat_map(|one| &one.ends);
    let ends: BTreeMap<(Identity, bool), &OpenEnd> =
        ends.map(|end| ((end.channel, end.is_sender), end)).collect();
    let awaited = |one: &Parked| {
        let peer = ends.get(&(one.channel, !one.is_sender))?;
        let is_awaited = one.is_sender || peer.messages < one.number;
        is_awaited.then_some((one.process, peer.process))
    };
    all.flat_map(|one| &one.parked).filter_map(awaited).collect()
}

/// What one rank tells of its processes.
#[derive(Clone, Copy)]
pub(super) struct ToldWaits<'a> {
    pub(super) rank: usize,
    pub(super) explanation: &'a Explanation,
    /// Which processes these are, in the same order; none if that is not known.
    pub(super) processes: &'a [Identity],
}

impl<'a> ToldWaits<'a> {
    fn each(self) -> impl Iterator<Item = (Option<Identity>, &'a Waiting)> {
        let fits = self.processes.len() == self.explanation.waiting.len();
        let identity = move |number: usize| self.processes.get(number).copied().filter(|_| fits);
        self.explanation.waiting.iter().enumerate().map(move |(n, one)| (identity(n), one))
    }
}

fn on_rank(name: &Name, rank: usize) -> Name {
    Name::from(format!("{name} (rank {rank})"))
}

/// What several ranks tell, each process with its rank; and the rings that lead through several, of processes that
/// await each other.
pub(super) fn put_together(
    told: &[ToldWaits<'_>],
    awaits: &BTreeMap<Identity, Identity>,
) -> Explanation {
    let all = || {
        told.iter()
            .flat_map(|one| one.each().map(|(process, waiting)| (one.rank, process, waiting)))
    };
    let ranks: BTreeMap<&Name, usize> =
        all().map(|(rank, _, waiting)| (&waiting.process, rank)).collect();
    let names: BTreeMap<Identity, Name> = all()
        .filter_map(|(rank, process, waiting)| Some((process?, on_rank(&waiting.process, rank))))
        .collect();
    let mut waiting: Vec<(Option<Identity>, usize, Waiting)> = Vec::new();
    for (rank, process, one) in all() {
        let mut one = one.clone();
        one.process = on_rank(&one.process, rank);
        // A link has the name of the process that had its end before the run.
        let awaited = process.and_then(|process| names.get(awaits.get(&process)?));
        if let Some(peer) = peer_of(&mut one) {
            let by_name = || Some(on_rank(peer, *ranks.get(peer)?));
            *peer = awaited.cloned().or_else(by_name).unwrap_or_else(|| peer.clone());
        }
        waiting.push((process, rank, one));
    }
    waiting.sort_by_key(|(process, ..)| *process);
    let (mut within, mut remedies) = (Vec::new(), Vec::new());
    for ToldWaits { rank, explanation, .. } in told {
        let member = |member: &RingMember| RingMember {
            process: on_rank(&member.process, *rank),
            ..member.clone()
        };
        let rings = explanation.rings.iter();
        within.extend(rings.map(|ring| ring.iter().map(member).collect::<Vec<_>>()));
        for remedy in &explanation.remedies {
            if !remedies.contains(remedy) {
                remedies.push(remedy.clone());
            }
        }
    }
    let across = rings_across(&waiting, awaits);
    remedies.extend(across.iter().map(|ring| remedy_of(ring)));
    let rings = within.into_iter().chain(across).collect();
    let waiting = waiting.into_iter().map(|(.., waiting)| waiting).collect();
    Explanation { waiting, rings, remedies, silent: Vec::new() }
}

/// The rings of processes on several ranks that all wait for messages.
fn rings_across(
    waiting: &[(Option<Identity>, usize, Waiting)],
    awaits: &BTreeMap<Identity, Identity>,
) -> Vec<Vec<RingMember>> {
    let known: BTreeMap<Identity, (usize, &Waiting)> = waiting
        .iter()
        .filter_map(|(process, rank, one)| Some(((*process)?, (*rank, one))))
        .collect();
    let mut across = Vec::new();
    for mut ring in rings(awaits) {
        // Of parts of a process that wait for each other nothing is told.
        ring.retain(|process| known.contains_key(process));
        let first = (0..ring.len()).min_by_key(|&at| ring[at]).unwrap_or(0);
        ring.rotate_left(first);
        let is_across = ring.iter().any(|process| known[process].0 != known[&ring[0]].0);
        let member = |process: &Identity| {
            let (_, waiting) = known[process];
            let Activity::Receives { channel, .. } = &waiting.activity else { return None };
            let (process, channel) = (waiting.process.clone(), channel.clone());
            Some(RingMember { process, channel, full: false, operation: None })
        };
        if let Some(members) =
            ring.iter().map(member).collect::<Option<Vec<_>>>().filter(|_| is_across)
        {
            across.push(members);
        }
    }
    across
}

fn peer_of(waiting: &mut Waiting) -> Option<&mut Name> {
    match &mut waiting.activity {
        Activity::Receives { from: peer, .. } | Activity::Sends { to: peer, .. } => peer.as_mut(),
        _ => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const P: fn(u32) -> Identity = Identity::fixed;

    fn told(name: &'static str, activity: Activity) -> Explanation {
        let process = Name::from(name);
        let one = Waiting { process, activity, kind: "process", is_stuck: false, created_at: None };
        Explanation { waiting: vec![one], ..Explanation::default() }
    }

    /// `p` waits on rank 0 for message 2 of channel 8, and `q`, which has sent so many there, on rank 1 for message 1 of
    /// channel 9, which `p` has not sent.
    fn two(sent: u64) -> [RankWaits; 2] {
        let receives = |channel: &'static str, from: &'static str, message| Activity::Receives {
            channel: channel.into(),
            message,
            from: Some(from.into()),
        };
        let rank = |process, name, activity, waits: (u32, u64), end: (u32, u64)| RankWaits {
            explanation: told(name, activity),
            processes: vec![P(process)],
            parked: vec![Parked {
                process: P(process),
                channel: P(waits.0),
                is_sender: false,
                number: waits.1,
            }],
            ends: vec![OpenEnd {
                channel: P(end.0),
                is_sender: true,
                process: P(process),
                messages: end.1,
            }],
        };
        [
            rank(1, "p", receives("8", "q", 2), (8, 2), (9, 0)),
            rank(2, "q", receives("9", "p", 1), (9, 1), (8, sent)),
        ]
    }

    fn explained(all: &[RankWaits]) -> String {
        let told: Vec<_> = all.iter().zip(0..).map(|(waits, rank)| waits.told(rank)).collect();
        put_together(&told, &awaits(all.iter())).to_string()
    }

    #[test]
    fn a_message_that_is_on_its_way_is_not_waited_for_in_a_ring() {
        assert!(explained(&two(1)).contains("ring: `p (rank 0)` –[`8` empty]→ `q (rank 1)`"));
        let text = explained(&two(2));
        assert!(!text.contains("ring"), "{text}");
        // What each waits for is told all the same.
        assert!(text.contains(
            "`p (rank 0)` waits to receive message 2 from `8` (empty), which `q (rank 1)`"
        ));
    }

    #[test]
    fn one_that_waits_for_room_is_told_with_the_process_that_has_the_other_end_now() {
        let [mut sender, mut receiver] = two(0);
        // The link at the other end has the name of the process that had it first.
        let activity = Activity::Sends {
            channel: "9".into(),
            message: 5,
            capacity: 4,
            to: Some("first".into()),
        };
        sender.explanation = told("p", activity);
        sender.parked[0] = Parked { process: P(1), channel: P(9), is_sender: true, number: 5 };
        receiver.parked.clear();
        receiver.ends[0] = OpenEnd { channel: P(9), is_sender: false, process: P(2), messages: 0 };
        let text = explained(&[sender, receiver]);
        assert!(text.contains("`9` (full, 4 of 4), which `q (rank 1)` receives"), "{text}");
        assert!(!text.contains("ring"), "{text}");
    }

    #[test]
    fn what_waits_on_a_rank_goes_as_bytes() {
        let [waits, _] = two(1);
        let mut bytes = Vec::new();
        waits.write(&mut bytes);
        let again = RankWaits::read(&mut &bytes[..]).expect("it was written so");
        assert_eq!(format!("{again:?}"), format!("{waits:?}"));
    }
}
