//! Observers and entrances: records shown, or looked at, as they pass, without a component each.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::Write as _;

use parking_lot::Mutex;

use super::answers::Facts;
use super::failure::Failure;
use super::graph::{Kind, OpId};
use super::shape::Rec;

/// The files that observers of a run write to.
#[derive(Debug, Default)]
pub(crate) struct Observers(Mutex<BTreeMap<String, File>>);

impl Observers {
    /// Shows a record that passes an observer, as a line of its own; refuses one that comes to the
    /// entrance of a net that does not take it.
    pub(crate) fn see(&self, facts: Facts<'_>, op: OpId, rec: &Rec) -> Result<(), Failure> {
        let here = &facts.graph.ops[op.0];
        let (before, file) = match &here.kind {
            Kind::Observe { before, file } => (before, file),
            Kind::Entrance(boundary) if !boundary.takes(&facts.shapes.get(rec.shape)) => {
                return Err(facts.refused(boundary, rec));
            }
            _ => return Ok(()),
        };
        let record = facts.shapes.leave(rec.clone());
        let (name, at) = (&here.name, if *before { "before" } else { "after" });
        let line = format!("{{\"observer\":\"{name}\",\"at\":\"{at}\",\"record\":{record}}}\n");
        let mut files = self.0.lock();
        let written = match file {
            None => std::io::stderr().write_all(line.as_bytes()),
            Some(path) => {
                let open = match files.entry(path.clone()) {
                    Entry::Occupied(open) => Ok(open.into_mut()),
                    Entry::Vacant(free) => File::create(path).map(|file| free.insert(file)),
                };
                open.and_then(|file| file.write_all(line.as_bytes()))
            }
        };
        written.map_err(|error| {
            let component = name.clone();
            Failure::Observer { component, cause: error.to_string() }
        })
    }
}
