//! Factorials, Fibonacci numbers, powers of two, primes.

use kahn_snet::boxes::{BindError, Boxes, Emitter, Tag};
use kahn_snet::record::{Record, Value};

use super::{Case, SnetProgram, same, tags};

pub(super) const FACTORIAL: SnetProgram = SnetProgram {
    name: "factorial",
    source: include_str!("factorial.snet"),
    ordered: false,
    small: 12,
    bind: |boxes| {
        boxes.add("leq1", |x: i64, out: &mut Emitter| out.emit(1, (x, i64::from(x <= 1))))?;
        boxes.add("condif", |p: i64, out: &mut Emitter| {
            out.emit(if p == 1 { 1 } else { 2 }, (Tag(0),))
        })?;
        boxes.add("minus", |x: i64, out: &mut Emitter| out.emit(1, (x - 1,)))?;
        boxes.add("mult", |factor: i64, r: i64, out: &mut Emitter| {
            let product = factor.checked_mul(r).ok_or("the factorial does not fit 64 bits")?;
            out.emit(1, (product,))
        })
    },
    make: |size| {
        let most = i64::try_from(size.min(20)).unwrap_or(20);
        let input = (1..=most).map(|x| Record::new().field("x", x).field("r", 1_i64));
        Case::new(input.collect(), move |output| {
            let mut found = Vec::new();
            for record in output {
                match record.fields.get("r") {
                    Some(Value::Integer(r)) => found.push(*r),
                    _ => return Err(format!("no factorial: {record}")),
                }
            }
            found.sort_unstable();
            let wanted = (1..=most).scan(1, |product, n| {
                *product *= n;
                Some(*product)
            });
            same(&found, &wanted.collect())
        })
    },
};

#[expect(clippy::unnecessary_wraps, reason = "other programs have boxes")]
pub(super) fn no_boxes(_: &mut Boxes) -> Result<(), BindError> {
    Ok(())
}

/// One number in, one out.
fn one(size: usize, result: fn(i64) -> i64) -> Case {
    let n = i64::try_from(size).unwrap_or(i64::MAX);
    Case::new(vec![Record::new().tag("n", n)], move |output| {
        same(&tags(output, "x")?, &vec![result(n)])
    })
}

fn fibonacci(n: i64) -> i64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

pub(super) const FIBONACCI: SnetProgram = SnetProgram {
    name: "fibonacci",
    source: include_str!("fibonacci.snet"),
    ordered: false,
    small: 10,
    bind: no_boxes,
    make: |size| one(size, fibonacci),
};

pub(super) const FIBONACCI_ORDERED: SnetProgram = SnetProgram {
    name: "fibonacci_ordered",
    source: include_str!("fibonacci_ordered.snet"),
    ordered: true,
    small: 10,
    bind: no_boxes,
    make: |size| one(size, fibonacci),
};

pub(super) const POWER_OF_TWO: SnetProgram = SnetProgram {
    name: "poweroftwo",
    source: include_str!("poweroftwo.snet"),
    ordered: false,
    small: 7,
    bind: no_boxes,
    make: |size| one(size, |n| 1 << n),
};

pub(super) const POWER_OF_TWO_MASKS: SnetProgram = SnetProgram {
    name: "poweroftwo_masks",
    source: include_str!("poweroftwo_masks.snet"),
    ordered: false,
    small: 7,
    bind: no_boxes,
    make: |size| one(size, |n| 1 << n),
};

pub(super) const SIEVE: SnetProgram = SnetProgram {
    name: "sieve",
    source: include_str!("sieve.snet"),
    ordered: true,
    small: 60,
    bind: no_boxes,
    make: |size| {
        let most = i64::try_from(size).unwrap_or(i64::MAX);
        Case::new(vec![Record::new().tag("n", most)], move |output| {
            let prime = |n: &i64| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
            same(&tags(output, "prime")?, &(2..=most).filter(prime).collect())
        })
    },
};
