//! A dictionary attack on SHA-256 digests, with load balancing by feedback.

use std::collections::BTreeSet;
use std::sync::Arc;

use kahn_snet::boxes::{Emitter, Field, Tag};
use kahn_snet::record::{Record, Value};
use sha2::{Digest as _, Sha256};

use super::{Case, SnetProgram, same};
use crate::random::Random;

/// Workers of the attack.
const NODES: usize = 4;
/// Words in a piece of work.
const PIECE: usize = 50;

type Digest = [u8; 32];

fn digest(word: &str) -> Digest {
    Sha256::digest(word.as_bytes()).into()
}

fn hex(digest: &Digest) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

pub(super) const DICTIONARY: SnetProgram = SnetProgram {
    name: "dictionary",
    source: include_str!("dictionary.snet"),
    ordered: false,
    small: 12,
    bind: |boxes| {
        boxes.add(
            "crack",
            |words: Field<Vec<String>>, targets: Field<BTreeSet<Digest>>, out: &mut Emitter| {
                for word in words.0.iter() {
                    let digest = digest(word);
                    if targets.0.contains(&digest) {
                        out.emit(1, (word.as_str(), hex(&digest)))?;
                    }
                }
                let tried = i64::try_from(words.0.len()).unwrap_or(i64::MAX);
                out.emit(2, (Tag(tried),))
            },
        )
    },
    make: |size| {
        let pieces = size.max(NODES);
        let mut random = Random::new(11);
        let words: Vec<String> = (0..pieces * PIECE).map(|_| word(&mut random)).collect();
        let secrets: BTreeSet<String> = words.iter().step_by(97).cloned().collect();
        // One that no word has.
        let mut targets: BTreeSet<Digest> = secrets.iter().map(|word| digest(word)).collect();
        targets.insert(digest("not in the dictionary"));
        let targets = Value::opaque(targets);
        let tag = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        let mut input: Vec<Record> =
            (0..NODES).map(|node| Record::new().tag("node", tag(node))).collect();
        for (index, piece) in words.chunks(PIECE).enumerate() {
            let record = Record::new().field("words", Value::opaque(piece.to_vec()));
            let record = record.field("targets", targets.clone()).tag("task", tag(index + 1));
            input.push(record.tag("tasks", tag(pieces)).tag("nodes", tag(NODES)));
        }
        let all = words.len();
        Case::new(input, move |output| {
            let mut found = BTreeSet::new();
            let mut tried = 0;
            for record in output {
                match (record.fields.get("word"), record.tags.get("tried")) {
                    (Some(Value::Text(word)), None) => {
                        let shown = record.fields.get("digest").cloned();
                        same(&shown, &Some(Value::Text(Arc::from(hex(&digest(word))))))?;
                        found.insert(word.as_ref().to_owned());
                    }
                    (None, Some(count)) => tried += usize::try_from(*count).unwrap_or(0),
                    _ => return Err(format!("neither word nor count: {record}")),
                }
            }
            same(&tried, &all)?;
            same(&found, &secrets)
        })
    },
};

/// A word of syllables.
fn word(random: &mut Random) -> String {
    let mut word = String::new();
    for _ in 0..3 + random.below(3) {
        let pick = |random: &mut Random, from: &str| {
            let index = usize::try_from(random.below(from.len() as u64)).unwrap_or(0);
            char::from(from.as_bytes()[index])
        };
        word.push(pick(random, "bdfgklmnprstvz"));
        word.push(pick(random, "aeiou"));
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&digest("abc")), abc);
    }
}
