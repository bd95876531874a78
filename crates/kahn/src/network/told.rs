//! The network as an observer is told before it runs.

use super::core::Core;
use super::making::Inputs;
use crate::channel::process::{InNetwork, attribute};
use crate::channel::raw::{ChannelRef, End};
use kahn_engine::TaskRef;
use kahn_report::Identity;
use kahn_report::observe::{Contents, Edge, Graph, Observer, Subject, Vertex};
use std::collections::BTreeMap;

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
