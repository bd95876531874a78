//! The network as an observer is told before it runs.

use super::core::Core;
use super::cut::CutNetwork;
use super::making::Inputs;
use crate::channel::process::{InNetwork, attribute};
use crate::channel::raw::{ChannelRef, End};
use kahn_engine::TaskRef;
use kahn_report::Identity;
use kahn_report::observe::{Contents, Edge, Graph, Link, Observer, Subject, Survey, Vertex};
use std::collections::{BTreeMap, BTreeSet};

impl Core {
    /// Tells an observer of the network, under no lock. Nothing runs, and parties keep the ends that they give
    /// up: all stays where it is.
    pub(super) fn tell_of_graph(
        &self,
        observer: &dyn Observer,
        inputs: &Inputs<'_>,
    ) -> Result<(), String> {
        let mut tasks = self.scheduler.table.lock().all();
        tasks.sort_by_key(|task| task.info().identity);
        let places: BTreeMap<Identity, usize> =
            tasks.iter().map(|task| task.info().identity).zip(0..).collect();
        let mut channels = self.channels.all();
        channels.retain(|channel| !channel.is_inner());
        channels.sort_by_key(|channel| channel.label().identity);
        let vertex = |task| Vertex {
            process: subject(task),
            is_joined: task.attributes() & attribute::JOINED != 0,
            creates: task.creates(),
        };
        observer.starts(&Graph {
            processes: tasks.iter().map(vertex).collect(),
            channels: channels.iter().filter_map(|channel| edge(channel, &places)).collect(),
            inputs: inputs.iter().map(|(path, contents)| Contents { path, contents }).collect(),
        })
    }

    /// Tells an observer of the links, when the network is cut.
    pub(super) fn tell_of_links(&self, observer: &dyn Observer) {
        let Some(cut) = self.cut.get() else { return };
        let all = self.channels.all();
        let by_identity: BTreeMap<Identity, &ChannelRef> =
            all.iter().map(|channel| (channel.label().identity, channel)).collect();
        for (&number, link) in &cut.links {
            let (identity, from, to) = cut.channels[number];
            let Some(channel) = by_identity.get(&identity) else { continue };
            let sends = cut.ranks[to] == cut.rank;
            let rank = cut.ranks[if sends { from } else { to }];
            let process = subject(&link.task);
            observer.links(Link { process, channel: channel.subject(), rank, sends });
        }
    }
}

impl CutNetwork {
    /// Leaves out what only moves messages from rank to rank: channels between ranks join their processes.
    pub(super) fn leave_out_links(&self, survey: &mut Survey) {
        let number = |identity: Identity| identity.digest() as u64;
        let links: BTreeSet<u64> = self.links.values().map(|link| number(link.identity)).collect();
        survey.processes.retain(|process| !links.contains(&process.id));
        let ends: BTreeMap<u64, (usize, usize)> = self
            .channels
            .iter()
            .map(|(channel, from, to)| (number(*channel), (*from, *to)))
            .collect();
        survey.channels.retain_mut(|channel| {
            let Some(&(from, to)) = ends.get(&channel.id) else { return true };
            let is_here = [from, to].map(|place| self.ranks[place] == self.rank);
            // An end here may have been handed on.
            if !is_here[0] {
                channel.from = Some(number(self.processes[from]));
            }
            if !is_here[1] {
                channel.to = Some(number(self.processes[to]));
            }
            is_here != [false, false]
        });
    }
}

fn edge<'a>(channel: &'a ChannelRef, places: &BTreeMap<Identity, usize>) -> Option<Edge<'a>> {
    let place = |end| places.get(&channel.owner(end)?.info().identity).copied();
    Some(Edge {
        channel: channel.subject(),
        from: place(End::Sender)?,
        to: place(End::Receiver)?,
        has_written_form: channel.is_wired(),
    })
}

fn subject(task: &TaskRef) -> Subject<'_> {
    Subject::new(&task.info().name, task.info().identity)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::channel::observer::ObserverHandle;
    use crate::channel::raw::{End, told};
    use crate::network::process::forward;
    use crate::network::{Channel, Network};
    use kahn_engine::sync::Arc;
    use kahn_report::observe::{Observer, Wants};
    use std::collections::BTreeMap;

    struct OneKind(Wants);

    impl Observer for OneKind {
        fn wants(&self) -> Wants {
            self.0
        }
    }

    /// The channels of a network of which is told, and at which ends, if this is wanted.
    fn told_of(wants: Wants) -> BTreeMap<String, Vec<End>> {
        let mut network = Network::new();
        let (out, read) = network.channel::<u8>("read");
        network.blocking("read", out, |mut out| out.send_blocking(7));
        let wired = Channel::named("wired").wire_with(
            |byte: &u8, bytes| bytes.push(*byte),
            |bytes| bytes.first().copied().ok_or("it is empty".into()),
        );
        let (out, wired) = network.channel_with(wired);
        network.process("forward", (read, out), forward);
        let plain = network.map("double", wired, |byte| 2 * byte);
        network.for_each("ignore", plain, |_| {});
        let channels = &network.made.core.channels;
        channels.observe_by(ObserverHandle::new(Arc::new(OneKind(wants))));
        let ends = [End::Sender, End::Receiver];
        let told = channels.all().into_iter().map(|channel| {
            let told = ends.into_iter().filter(|end| channel.side(*end).tells(told::OBSERVER));
            (channel.name().to_string(), told.collect())
        });
        told.filter(|(_, ends): &(_, Vec<_>)| !ends.is_empty()).collect()
    }

    #[test]
    fn ends_at_which_nothing_is_wanted_are_not_told_of() {
        let of = |name: &str| (name.to_owned(), vec![End::Sender]);
        assert_eq!(told_of(Wants::NOTHING), BTreeMap::new());
        assert_eq!(told_of(Wants { schedule: true, ..Wants::NOTHING }), BTreeMap::new());
        let acts = Wants { acts: true, ..Wants::NOTHING };
        assert_eq!(told_of(acts), BTreeMap::from([of("read")]));
        let contents = Wants { contents: true, ..Wants::NOTHING };
        assert_eq!(told_of(contents), BTreeMap::from([of("wired")]));
        assert_eq!(told_of(acts | contents), BTreeMap::from([of("read"), of("wired")]));
        let all = told_of(Wants { messages: true, ..Wants::NOTHING });
        assert_eq!((all.len(), all["read"].len()), (3, 2));
    }
}
