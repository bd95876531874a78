//! The Data Encryption Standard, a round a box.

use kahn_snet::boxes::{Emitter, Field, Tag};
use kahn_snet::record::{Record, Value};

use super::{Case, SnetProgram};
use crate::random::Random;
use crate::streamit::des::cipher::{VECTORS, crypt, enter, half, last, mix, schedule};

pub(super) const DES: SnetProgram = SnetProgram {
    name: "des",
    source: include_str!("des.snet"),
    ordered: true,
    small: 12,
    bind: |boxes| {
        boxes.add("enter", |key: i64, block: i64, decrypt: Tag, out: &mut Emitter| {
            let mut keys = schedule(key.cast_unsigned());
            if decrypt.0 != 0 {
                keys.reverse();
            }
            let (left, right) = enter(block.cast_unsigned());
            let (left, right) = (i64::from(left), i64::from(right));
            out.emit(1, (Value::opaque(keys), left, right, Tag(0)))
        })?;
        boxes.add(
            "turn",
            |keys: Value, left: i64, right: i64, round: Tag, out: &mut Emitter| {
                let schedule = keys.downcast::<[u64; 16]>().ok_or("no keys")?;
                let at = usize::try_from(round.0).ok().filter(|at| *at < 16);
                let key = schedule[at.ok_or("there are 16 rounds")?];
                let mixed = half(left.cast_unsigned()) ^ mix(half(right.cast_unsigned()), key);
                out.emit(1, (keys, right, i64::from(mixed), Tag(round.0 + 1)))
            },
        )?;
        boxes.add(
            "leave",
            |_: Field<[u64; 16]>, left: i64, right: i64, _: Tag, out: &mut Emitter| {
                let word = last(right.cast_unsigned() << 32 | left.cast_unsigned());
                out.emit(1, (word.cast_signed(),))
            },
        )
    },
    make: |size| {
        let mut random = Random::new(3);
        let mut blocks: Vec<(u64, u64, bool)> =
            VECTORS.iter().map(|(key, plain, _)| (*key, *plain, false)).collect();
        blocks.extend(VECTORS.iter().map(|(key, _, cipher)| (*key, *cipher, true)));
        for index in 0..size {
            blocks.push((random.next(), random.next(), index % 2 == 1));
        }
        let record = |(key, block, decrypt): &(u64, u64, bool)| {
            let fields = Record::new().field("key", key.cast_signed());
            fields.field("block", block.cast_signed()).tag("decrypt", i64::from(*decrypt))
        };
        let input = blocks.iter().map(record).collect();
        Case::new(input, move |output| {
            let wanted: Vec<u64> = blocks.iter().map(|(k, b, d)| crypt(*k, *b, *d)).collect();
            let found = output.iter().map(|record| match record.fields.get("block") {
                Some(Value::Integer(block)) => Ok(block.cast_unsigned()),
                _ => Err(format!("no block: {record}")),
            });
            let found: Vec<u64> = found.collect::<Result<_, _>>()?;
            for ((_, plain, cipher), (forth, back)) in
                VECTORS.iter().zip(found.iter().zip(found.iter().skip(VECTORS.len())))
            {
                super::same(&(*forth, *back), &(*cipher, *plain))?;
            }
            super::same(&found, &wanted)
        })
    },
};
