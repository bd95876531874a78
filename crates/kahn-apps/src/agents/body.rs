//! What an agent is and does: whole numbers of 32 bits, division towards zero.

/// How wide and how high a location is.
pub(super) const SIZE: i32 = 4096;

/// The smallest coordinate in a location.
pub(super) const LEAST: i32 = -SIZE / 2;

/// The largest.
const MOST: i32 = SIZE / 2 - 1;

/// The strength of a push: divided by the square of the distance.
const STRENGTH: i32 = 3 * SIZE * SIZE;

/// The nine directions in which an agent looks; the last is where it is.
pub(super) const AROUND: [Vector; 9] = [
    Vector { x: -1, y: -1 },
    Vector { x: 0, y: -1 },
    Vector { x: 1, y: -1 },
    Vector { x: -1, y: 0 },
    Vector { x: 1, y: 0 },
    Vector { x: -1, y: 1 },
    Vector { x: 0, y: 1 },
    Vector { x: 1, y: 1 },
    Vector { x: 0, y: 0 },
];

/// A place relative to the centre of a location, a force, or a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Vector {
    pub(super) x: i32,
    pub(super) y: i32,
}

impl Vector {
    /// The same place as it is seen from a location that lies opposite to `direction`.
    pub(super) fn seen_over(self, direction: Self) -> Self {
        Self { x: self.x + SIZE * direction.x, y: self.y + SIZE * direction.y }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }

    /// In which direction it lies out of the location, if it does, and where it is as seen from the
    /// location there.
    pub(super) fn way_out(self) -> Option<(Self, Self)> {
        let excess = |at: i32| i32::from(at > MOST) - i32::from(at < LEAST);
        let way = Self { x: excess(self.x), y: excess(self.y) };
        let there = Self { x: self.x - SIZE * way.x, y: self.y - SIZE * way.y };
        (way != Self { x: 0, y: 0 }).then_some((way, there))
    }
}

/// An agent, complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Its number, from 1 on.
    pub id: i32,
    /// The location where it is.
    pub location: i32,
    /// Where it is in the location, from left to right.
    pub x: i32,
    /// Where it is in the location, from top to bottom.
    pub y: i32,
    /// What makes it differ from others: it depends on where it has been and what it saw.
    pub bias: i32,
}

/// An agent as others see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: i32,
    pub(super) at: Vector,
}

impl State {
    pub(super) fn seen(self) -> Seen {
        Seen { id: self.id, at: Vector { x: self.x, y: self.y } }
    }

    /// Begins to look around, in a cycle counted from 1, with so many agents in sight.
    pub(super) fn look(&mut self, cycle: u32, in_sight: usize) -> Look {
        self.bias = (self.bias & 0xFFFF) * self.x;
        self.bias = (self.bias & 0xFFFF) * self.y;
        self.bias = (self.bias & 0xFFFF) * self.location;
        self.bias += i32::try_from(in_sight).unwrap_or(i32::MAX);
        Look {
            own: self.seen(),
            scale: Vector { x: (self.bias & 255) + 1, y: ((self.bias >> 8) & 255) + 1 },
            tie: Vector { x: -(cycle & 1).cast_signed(), y: -((cycle >> 1) & 1).cast_signed() },
            force: Vector { x: 0, y: 0 },
        }
    }
}

/// An agent that looks at others, one after the other.
#[derive(Debug)]
pub(super) struct Look {
    own: Seen,
    scale: Vector,
    /// Where an agent goes that is in the same place as another.
    tie: Vector,
    /// The sum of the pushes.
    pub(super) force: Vector,
}

impl Look {
    /// Looks at an agent; `false` if it is the one that looks.
    pub(super) fn at(&mut self, other: Seen) -> bool {
        if other.id == self.own.id {
            return false;
        }
        let dx = (self.own.at.x - other.at.x) * self.scale.x / 128;
        let dy = (self.own.at.y - other.at.y) * self.scale.y / 128;
        let square = dx * dx + dy * dy;
        let push = (STRENGTH / (square + 1)).min(SIZE);
        if square == 0 {
            self.force.x += push * self.tie.x;
            self.force.y += push * self.tie.y;
        } else {
            let longer = if dx * dx > dy * dy { dx } else { dy };
            let distance = square_root(square, longer.abs());
            self.force.x += push * dx / distance;
            self.force.y += push * dy / distance;
        }
        true
    }
}

/// The root of a square, by Newton's method from `root` on, at most sixteen steps.
fn square_root(square: i32, mut root: i32) -> i32 {
    for _ in 0..16 {
        let next = (root + square / root) >> 1;
        if next == root {
            break;
        }
        root = next;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_nine_directions_and_the_last_is_here() {
        let mut all = AROUND.map(|Vector { x, y }| (y, x));
        assert_eq!(all[8], (0, 0));
        all.sort_unstable();
        let expected: Vec<_> = (-1..2).flat_map(|y| (-1..2).map(move |x| (y, x))).collect();
        assert_eq!(all.to_vec(), expected);
    }

    #[test]
    fn who_leaves_over_a_corner_arrives_at_the_opposite_one() {
        let at = Vector { x: 2050, y: -2049 };
        let (way, there) = at.way_out().unwrap();
        assert_eq!((way, there), (Vector { x: 1, y: -1 }, Vector { x: -2046, y: 2047 }));
        assert_eq!(there.seen_over(way), at);
        assert_eq!(there.way_out(), None);
    }

    #[test]
    fn agents_push_each_other_away() {
        let mut state = State { id: 1, location: 0, x: 100, y: 0, bias: 0 };
        // With a bias of 127 the scale is 1.
        let mut look = state.look(1, 127);
        assert!(!look.at(state.seen()));
        assert!(look.at(Seen { id: 2, at: Vector { x: -100, y: 0 } }));
        // Push: 50331648 / 40001 = 1258.
        assert_eq!(look.force, Vector { x: 1258, y: 0 });
        assert!(look.at(Seen { id: 3, at: Vector { x: 100, y: 0 } }));
        assert_eq!(look.force, Vector { x: 1258 - 4096, y: 0 });
    }
}
