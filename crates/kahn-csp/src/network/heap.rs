//! A heap of deadlines from which any entry can be taken back.
//!
//! A four-ary heap in a vector, and for each entry a place that says where in the heap it stands:
//! entering and taking back cost the logarithm of their number, the next deadline costs nothing,
//! and no memory is taken once it has grown.

/// What an entry is called by, until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(usize);

#[derive(Debug)]
struct Item<V> {
    /// When, and among equals in the order of entering.
    due: (u64, u64),
    place: usize,
    value: V,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Heap<V> {
    items: Vec<Item<V>>,
    /// Where in `items` each key's entry stands; of free ones, the next free place.
    places: Vec<usize>,
    free: Option<usize>,
    entered: u64,
}

const CHILDREN: usize = 4;
const NO_PLACE: usize = usize::MAX;

impl<V> Heap<V> {
    pub(crate) const fn new() -> Self {
        Self { items: Vec::new(), places: Vec::new(), free: None, entered: 0 }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The next deadline.
    pub(crate) fn next(&self) -> Option<u64> {
        self.items.first().map(|item| item.due.0)
    }

    /// Enters a value with its deadline.
    pub(crate) fn enter(&mut self, due: u64, value: V) -> Key {
        let place = if let Some(place) = self.free {
            self.free = Some(self.places[place]).filter(|&next| next != NO_PLACE);
            place
        } else {
            self.places.push(NO_PLACE);
            self.places.len() - 1
        };
        self.entered += 1;
        self.items.push(Item { due: (due, self.entered), place, value });
        self.rise(self.items.len() - 1);
        Key(place)
    }

    /// Takes an entry back. The key is worthless from now on.
    pub(crate) fn take_back(&mut self, key: Key) -> V {
        self.remove(self.places[key.0])
    }

    /// Takes the first entry if it is due at `now`.
    pub(super) fn take_due(&mut self, now: u64) -> Option<V> {
        (self.next()? <= now).then(|| self.remove(0))
    }

    fn remove(&mut self, index: usize) -> V {
        let item = self.items.swap_remove(index);
        self.places[item.place] = self.free.unwrap_or(NO_PLACE);
        self.free = Some(item.place);
        if index < self.items.len() {
            // What came from the end may belong further up or further down.
            let index = self.rise(index);
            self.sink(index);
        }
        item.value
    }

    fn rise(&mut self, mut index: usize) -> usize {
        while index > 0 {
            let parent = (index - 1) / CHILDREN;
            if self.items[parent].due <= self.items[index].due {
                break;
            }
            self.items.swap(parent, index);
            self.places[self.items[index].place] = index;
            index = parent;
        }
        self.places[self.items[index].place] = index;
        index
    }

    fn sink(&mut self, mut index: usize) {
        loop {
            let first = index * CHILDREN + 1;
            let last = (first + CHILDREN).min(self.items.len());
            let Some(least) = (first..last).min_by_key(|&child| self.items[child].due) else {
                return;
            };
            if self.items[index].due <= self.items[least].due {
                return;
            }
            self.items.swap(index, least);
            self.places[self.items[index].place] = index;
            self.places[self.items[least].place] = least;
            index = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_their_deadlines_whatever_is_taken_back() {
        let mut heap = Heap::new();
        let mut draw = 1_u64;
        let mut entries = Vec::new();
        let mut left = Vec::new();
        for number in 0..500_u64 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
            let due = draw >> 55;
            entries.push((heap.enter(due, (due, number)), (due, number)));
            if draw.is_multiple_of(3) {
                let index = usize::try_from(draw >> 33).expect("small") % entries.len();
                let (key, value) = entries.swap_remove(index);
                assert_eq!(heap.take_back(key), value);
            }
        }
        left.extend(entries.into_iter().map(|(_, value)| value));
        left.sort_unstable();
        let mut taken = Vec::new();
        while let Some(value) = heap.take_due(u64::MAX) {
            taken.push(value);
        }
        assert_eq!(taken, left);
        assert!(heap.is_empty());
    }

    #[test]
    fn nothing_is_due_early() {
        let mut heap = Heap::new();
        heap.enter(10, ());
        assert_eq!(heap.take_due(9), None);
        assert_eq!(heap.take_due(10), Some(()));
    }
}
