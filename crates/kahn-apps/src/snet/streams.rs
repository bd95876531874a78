//! Streams of records: filters and choices, which measure the runtime, and two boxes, which measure
//! how many calls run at once.

use kahn_snet::boxes::{Emitter, Tag};
use kahn_snet::record::{Record, Value};

use super::numbers::no_boxes;
use super::{Case, SnetProgram, same, tags};

/// Numbers in, as many numbers out: each is what `of` makes of it.
fn each(size: usize, ordered: bool, of: fn(i64) -> i64) -> Case {
    let most = i64::try_from(size).unwrap_or(i64::MAX);
    let input = (0..most).map(|n| Record::new().tag("n", n)).collect();
    Case::new(input, move |output| {
        let (mut found, mut wanted) = (tags(output, "n")?, (0..most).map(of).collect::<Vec<_>>());
        if !ordered {
            found.sort_unstable();
            wanted.sort_unstable();
        }
        same(&found, &wanted)
    })
}

fn three_choices(n: i64) -> i64 {
    (0..3).fold(n, |n, _| if n % 2 == 0 { n / 2 } else { 3 * n + 1 })
}

pub(super) const FILTERS: SnetProgram = SnetProgram {
    name: "filters",
    source: include_str!("filters.snet"),
    ordered: true,
    small: 300,
    bind: no_boxes,
    make: |size| each(size, true, |n| n + 10),
};

pub(super) const CHOICES: SnetProgram = SnetProgram {
    name: "choices",
    source: include_str!("choices.snet"),
    ordered: false,
    small: 300,
    bind: no_boxes,
    make: |size| each(size, false, three_choices),
};

pub(super) const CHOICES_ORDERED: SnetProgram = SnetProgram {
    name: "choices_ordered",
    source: include_str!("choices_ordered.snet"),
    ordered: true,
    small: 300,
    bind: no_boxes,
    make: |size| each(size, true, three_choices),
};

/// Steps that take a box a bit less than half a millisecond, as in the measurements of FRONT.
const STEPS: i64 = 230_000;

/// Computes for so many steps, each of which waits for the one before. It is what the boxes of the
/// program `busy` do.
pub fn compute(value: i64, steps: i64) -> i64 {
    let mut value = value.cast_unsigned();
    for _ in 0..steps {
        // The shift keeps the compiler from making one multiplication of many.
        value = (value ^ value >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    }
    value.cast_signed()
}

pub(super) const BUSY: SnetProgram = SnetProgram {
    name: "busy",
    source: include_str!("busy.snet"),
    ordered: true,
    small: 6,
    bind: |boxes| {
        boxes.add("first", |a: i64, steps: Tag, out: &mut Emitter| {
            out.emit(1, (compute(a, steps.0),))
        })?;
        boxes.add("second", |b: i64, steps: Tag, out: &mut Emitter| {
            out.emit(1, (compute(b, steps.0),))
        })
    },
    make: |size| {
        let most = i64::try_from(size).unwrap_or(i64::MAX);
        let record = |a: i64| Record::new().field("a", a).tag("steps", STEPS);
        Case::new((0..most).map(record).collect(), move |output| {
            let value = |record: &Record| record.fields.get("c").cloned();
            let found: Vec<Option<Value>> = output.iter().map(value).collect();
            let twice = |a| Some(Value::Integer(compute(compute(a, STEPS), STEPS)));
            same(&found, &(0..most).map(twice).collect())
        })
    },
};
