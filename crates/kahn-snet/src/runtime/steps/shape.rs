//! Records inside the runtime: a shape and values in its order.
//!
//! All records with the same labels share one *shape*; what a component does with a record is
//! worked out once for each shape that comes to it, and from then on it is copying by position.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use parking_lot::RwLock;
use smallvec::SmallVec;

use super::answers::Facts;
use super::failure::Failure;
use super::tickets::Tickets;
use crate::record::{Group, Record, Value};
use crate::syntax::ast::LabelKind;
use crate::types::{Label, Variant};

/// A label as a number; sorted by kind, then by when it was first met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LabelId(u32);

const KIND_SHIFT: u32 = 30;

impl LabelId {
    pub(crate) fn kind(self) -> LabelKind {
        match self.0 >> KIND_SHIFT {
            0 => LabelKind::Field,
            1 => LabelKind::Tag,
            _ => LabelKind::BindingTag,
        }
    }

    pub(crate) fn is_field(self) -> bool {
        self.kind() == LabelKind::Field
    }

    pub(crate) fn is_inherited(self) -> bool {
        self.kind() != LabelKind::BindingTag
    }
}

/// A shape as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShapeId(pub(crate) u32);

impl ShapeId {
    /// That of no record: see `marks`.
    pub(crate) const MARK: Self = Self(u32::MAX);
}

/// The labels of a record in order: fields, tags, binding tags.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) labels: Box<[LabelId]>,
    pub(crate) fields: usize,
    binding: usize,
}

/// Where the value of a label lies in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Field(usize),
    Tag(usize),
}

impl Shape {
    pub(crate) fn position(&self, label: LabelId) -> Option<Position> {
        let index = self.labels.binary_search(&label).ok()?;
        Some(if index < self.fields {
            Position::Field(index)
        } else {
            Position::Tag(index - self.fields)
        })
    }

    pub(crate) fn fits(&self, wanted: &Shape) -> bool {
        self.binding == wanted.binding
            && wanted.labels.iter().all(|label| self.labels.binary_search(label).is_ok())
    }

    pub(crate) fn score(&self) -> usize {
        self.labels.len() - self.binding
    }
}

type Map<K, V> = HashMap<K, V, FixedState>;

#[derive(Debug, Default)]
struct Tables {
    label_ids: Map<Label, LabelId>,
    labels: Vec<Label>,
    shape_ids: Map<Box<[LabelId]>, ShapeId>,
    shapes: Vec<Arc<Shape>>,
}

/// All labels and shapes of a run.
#[derive(Debug, Default)]
pub(crate) struct Shapes(RwLock<Tables>);

impl Shapes {
    pub(crate) fn label(&self, label: &Label) -> LabelId {
        if let Some(id) = self.0.read().label_ids.get(label) {
            return *id;
        }
        let mut tables = self.0.write();
        if let Some(id) = tables.label_ids.get(label) {
            return *id;
        }
        let kind = match label.kind {
            LabelKind::Field => 0,
            LabelKind::Tag => 1,
            LabelKind::BindingTag => 2,
        };
        let number = u32::try_from(tables.labels.len()).unwrap_or(u32::MAX);
        let id = LabelId(kind << KIND_SHIFT | number & ((1 << KIND_SHIFT) - 1));
        tables.labels.push(label.clone());
        tables.label_ids.insert(label.clone(), id);
        id
    }

    pub(crate) fn name(&self, id: LabelId) -> Label {
        let index = (id.0 & ((1 << KIND_SHIFT) - 1)) as usize;
        self.0.read().labels[index].clone()
    }

    /// The shape with these labels, which need not be sorted.
    pub(crate) fn shape(&self, labels: &[LabelId]) -> (ShapeId, Arc<Shape>) {
        let mut labels: Vec<LabelId> = labels.to_vec();
        labels.sort_unstable();
        labels.dedup();
        {
            let tables = self.0.read();
            if let Some(id) = tables.shape_ids.get(labels.as_slice()) {
                return (*id, Arc::clone(&tables.shapes[id.0 as usize]));
            }
        }
        let mut tables = self.0.write();
        if let Some(id) = tables.shape_ids.get(labels.as_slice()) {
            return (*id, Arc::clone(&tables.shapes[id.0 as usize]));
        }
        let id = ShapeId(u32::try_from(tables.shapes.len()).unwrap_or(u32::MAX));
        let fields = labels.iter().filter(|label| label.is_field()).count();
        let binding = labels.iter().filter(|label| !label.is_inherited()).count();
        let labels: Box<[LabelId]> = labels.into();
        let shape = Arc::new(Shape { labels: labels.clone(), fields, binding });
        tables.shape_ids.insert(labels, id);
        tables.shapes.push(Arc::clone(&shape));
        (id, shape)
    }

    pub(crate) fn get(&self, id: ShapeId) -> Arc<Shape> {
        Arc::clone(&self.0.read().shapes[id.0 as usize])
    }

    pub(crate) fn of_variant(&self, variant: &Variant) -> Arc<Shape> {
        let labels: Vec<LabelId> = variant.0.iter().map(|label| self.label(label)).collect();
        self.shape(&labels).1
    }

    pub(crate) fn variant(&self, id: ShapeId) -> Variant {
        self.get(id).labels.iter().map(|label| self.name(*label)).collect()
    }

    /// Lets a record out.
    pub(crate) fn leave(&self, rec: Rec) -> Record {
        let tables = self.0.read();
        let shape = &tables.shapes[rec.shape.0 as usize];
        let mut record = Record::new();
        let name = |id: LabelId| {
            let index = (id.0 & ((1 << KIND_SHIFT) - 1)) as usize;
            Arc::clone(&tables.labels[index].name)
        };
        for (label, value) in shape.labels.iter().zip(rec.fields) {
            record.fields.insert(name(*label), value);
        }
        for (label, value) in shape.labels[shape.fields..].iter().zip(rec.tags) {
            let tags = match label.kind() {
                LabelKind::BindingTag => &mut record.btags,
                _ => &mut record.tags,
            };
            tags.insert(name(*label), value);
        }
        record
    }
}

/// Where records come in: those that have the labels of the one before need no look-up.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// The names of the labels of the record before: of fields, tags and binding tags.
    names: [Vec<Arc<str>>; 3],
    shape: Option<ShapeId>,
    /// Where the values of the fields, and of the tags of both kinds, lie in that shape.
    places: [Vec<usize>; 2],
}

impl Interner {
    /// Takes a record in, if the net takes such.
    pub(crate) fn enter(
        &mut self,
        facts: Facts<'_>,
        number: u32,
        record: Record,
    ) -> Result<Rec, Failure> {
        let shape = match self.shape {
            Some(known) if self.has_names_of(&record) => known,
            _ => {
                let shape = self.learn(facts.shapes, &record);
                if !facts.graph.boundary.takes(&facts.shapes.get(shape)) {
                    // So that the next one like it is looked at, too.
                    self.shape = None;
                    return Err(facts.foreign(number, &record));
                }
                shape
            }
        };
        let [field_places, tag_places] = &self.places;
        let mut tags = SmallVec::from_elem(0, tag_places.len());
        let values = record.tags.values().chain(record.btags.values());
        for (place, value) in tag_places.iter().zip(values) {
            tags[*place] = *value;
        }
        let mut fields = SmallVec::new();
        if !field_places.is_empty() {
            fields.resize(field_places.len(), Value::Null);
            for (place, value) in field_places.iter().zip(record.fields.into_values()) {
                fields[*place] = value;
            }
        }
        Ok(Rec { shape, number, tickets: Tickets::default(), tags, fields })
    }

    fn has_names_of(&self, record: &Record) -> bool {
        fn same<V>(known: &[Arc<str>], group: &Group<V>) -> bool {
            // Readers share the names, so most are the same to the address.
            let one = |(known, name)| Arc::ptr_eq(known, name) || known == name;
            known.len() == group.len() && known.iter().zip(group.keys()).all(one)
        }
        let [fields, tags, btags] = &self.names;
        same(fields, &record.fields) && same(tags, &record.tags) && same(btags, &record.btags)
    }

    #[cold]
    fn learn(&mut self, shapes: &Shapes, record: &Record) -> ShapeId {
        self.names = [
            record.fields.keys().cloned().collect(),
            record.tags.keys().cloned().collect(),
            record.btags.keys().cloned().collect(),
        ];
        let kinds = [LabelKind::Field, LabelKind::Tag, LabelKind::BindingTag];
        let all = kinds.into_iter().zip(&self.names);
        let all = all.flat_map(|(kind, names)| names.iter().map(move |name| (kind, name)));
        let labels = all.map(|(kind, name)| shapes.label(&Label { kind, name: Arc::clone(name) }));
        let labels: Vec<LabelId> = labels.collect();
        let (id, shape) = shapes.shape(&labels);
        self.places = [Vec::new(), Vec::new()];
        for label in labels {
            match shape.position(label) {
                Some(Position::Field(place)) => self.places[0].push(place),
                Some(Position::Tag(place)) => self.places[1].push(place),
                None => {}
            }
        }
        self.shape = Some(id);
        id
    }
}

/// A record inside the runtime.
#[derive(Debug, Clone)]
pub(crate) struct Rec {
    pub(crate) shape: ShapeId,
    /// Of the record of the input that it was made of: see `marks`.
    pub(crate) number: u32,
    /// Its slots in the orders that it must keep, outermost first.
    pub(crate) tickets: Tickets,
    pub(crate) tags: SmallVec<[i64; 4]>,
    pub(crate) fields: SmallVec<[Value; 1]>,
}
