//! Rings of a function: each end leads to one other, or to none.

use crate::frame::At;
use std::collections::BTreeSet;

/// The rings among these ends, each once; `next` tells where each leads.
pub(crate) fn rings(
    all: impl IntoIterator<Item = At>,
    next: impl Fn(At) -> Option<At>,
) -> Vec<Vec<At>> {
    let (mut walked, mut rings) = (BTreeSet::new(), Vec::new());
    for start in all {
        let (mut at, mut track) = (start, Vec::new());
        // Each end is walked over once.
        while walked.insert(at) {
            track.push(at);
            match next(at) {
                Some(end) => at = end,
                None => break,
            }
        }
        if let Some(first) = track.iter().position(|known| *known == at)
            && next(*track.last().expect("it holds the first")) == Some(at)
        {
            rings.push(track.split_off(first));
        }
    }
    rings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_found_once_and_what_leads_into_them_is_left_out() {
        let at = |channel| At { channel, is_sender: true };
        // 0 → 1 → 2 → 1, 3 → 3, 4 → 5 → nothing, 6 → 2
        let to = [Some(1), Some(2), Some(1), Some(3), Some(5), None, Some(2)];
        let next = |end: At| to[end.channel as usize].map(at);
        assert_eq!(rings((0..7).map(at), next), [vec![at(1), at(2)], vec![at(3)]]);
    }
}
