//! Without one, messages cannot be compared.

struct Point {
    _x: u32,
}

fn main() {
    let _points = kahn::Channel::<Point>::named("points").digest();
}
