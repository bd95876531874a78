//! The network as a picture, and what the processes of each of its boxes do.

use kahn_observe::sample::View;
use kahn_report::observe::Doing;
use kahn_report::{Picture, VertexKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// A picture of the processes and channels of a view.
#[derive(Debug)]
pub(super) struct Graph {
    /// That of the view.
    key: u64,
    /// Without styles, which the page has: a page may only use what is served here.
    pub(super) svg: String,
    /// The processes of each box.
    boxes: Vec<Vec<u64>>,
}

/// What the processes of a box do together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct BoxState {
    /// The mean of their shares.
    shares: [f64; Doing::ALL.len()],
    /// How many of them nothing can wake.
    stuck: usize,
}

/// A number that is another if the view has other processes or channels.
pub(super) fn key(view: &View) -> u64 {
    let processes = view.processes.iter().map(|process| process.id);
    let ends = view.channels.iter().flat_map(|channel| {
        [channel.id, channel.from.unwrap_or_default(), channel.to.unwrap_or_default()]
    });
    // FNV-1a, by words.
    processes.chain([0]).chain(ends).fold(0xcbf2_9ce4_8422_2325, |key: u64, word| {
        (key ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29)
    })
}

impl Graph {
    pub(super) fn of(view: &View) -> Self {
        let mut picture = Picture::default();
        let mut places = BTreeMap::new();
        for process in &view.processes {
            let kind = match process.kind {
                "blocking" => VertexKind::Blocking,
                "outside" => VertexKind::Outside,
                _ => VertexKind::Process,
            };
            places.insert(process.id, picture.vertex(&process.called(), kind));
        }
        let place = |id: Option<u64>| places.get(&id?).copied();
        for channel in &view.channels {
            if let (Some(from), Some(to)) = (place(channel.from), place(channel.to)) {
                picture.edge(from, to, channel.name.as_str(), 0);
            }
        }
        let (svg, boxes) = picture.svg_with_boxes();
        let ids = |numbers: &Vec<usize>| numbers.iter().map(|&n| view.processes[n].id).collect();
        Self { key: key(view), svg: without_styles(&svg), boxes: boxes.iter().map(ids).collect() }
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// What the boxes do in a view of the same processes.
    #[expect(clippy::cast_precision_loss, reason = "a mean of shares")]
    pub(super) fn states(&self, view: &View) -> Vec<BoxState> {
        let processes: BTreeMap<_, _> =
            view.processes.iter().map(|process| (process.id, process)).collect();
        let state = |ids: &Vec<u64>| {
            let mut state = BoxState::default();
            for process in ids.iter().filter_map(|id| processes.get(id)) {
                state.stuck += usize::from(process.stuck);
                for doing in Doing::ALL {
                    state.shares[doing as usize] += process.shares.of(doing) / ids.len() as f64;
                }
            }
            state
        };
        self.boxes.iter().map(state).collect()
    }
}

/// The picture without its style sheet, and without styles of elements. Names are escaped in it, so
/// nothing that looks like these is a part of one.
fn without_styles(svg: &str) -> String {
    let (before, rest) = svg.split_once("<style>").unwrap_or((svg, ""));
    let after = rest.split_once("</style>").map_or("", |(_, after)| after);
    format!("{before}{after}").replace(" style=\"text-anchor:start\"", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::tests::view;

    #[test]
    fn boxes_have_the_states_of_their_processes() {
        let view = view();
        let graph = Graph::of(&view);
        assert_eq!(graph.key(), key(&view));
        assert_eq!(graph.svg.matches("class=\"box").count(), graph.boxes.len());
        let states = graph.states(&view);
        for (ids, state) in graph.boxes.iter().zip(&states) {
            let [id] = ids[..] else { panic!("{ids:?}: no two have like names") };
            let process = view.process(id).expect("it is there");
            for doing in Doing::ALL {
                let apart = state.shares[doing as usize] - process.shares.of(doing);
                assert!(apart.abs() < 1e-12, "{state:?}");
            }
            assert_eq!(state.stuck, usize::from(process.stuck));
        }
        let mut other = view;
        other.channels.pop();
        assert_ne!(graph.key(), key(&other));
    }

    #[test]
    fn a_box_of_many_has_their_mean() {
        let mut all = View::default();
        for number in 0..1000_u64 {
            let mut process = view().processes[usize::from(number % 2 == 0)].clone();
            (process.id, process.name) = (number, format!("count {number}").into());
            all.processes.push(process);
        }
        let states = Graph::of(&all).states(&all);
        let [state] = &states[..] else { panic!("{} boxes", states.len()) };
        assert!((state.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((state.shares[Doing::Busy as usize] - 0.52).abs() < 1e-9);
    }

    #[test]
    fn nothing_in_it_asks_for_styles_or_scripts_and_names_are_escaped() {
        let mut view = view();
        view.processes[0].name = "<style>x</style><script>alert(1)</script>\"".to_owned().into();
        let svg = Graph::of(&view).svg;
        assert!(!svg.contains("<style") && !svg.contains("<script") && !svg.contains("style="));
        assert!(svg.contains("&lt;style&gt;"), "{svg}");
    }
}
