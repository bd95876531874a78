//! The picture of what has run.

use super::Report;
use super::short::traffic;
use crate::Name;
use crate::picture::{Picture, VertexKind};
use std::collections::BTreeMap;

impl Report {
    /// Draws what has run as SVG: boxes coloured by where time went, if times were measured, arrows as
    /// thick as their traffic, growths marked. Channels are drawn between the processes that had
    /// their ends when the run was over.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
    /// let svg = network.run()?.svg();
    /// assert!(svg.contains(">numbers<") && svg.contains(">40 B<"));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        let mut picture = Picture::default();
        let mut places = BTreeMap::new();
        for process in &self.processes {
            let is_outside = self.from_outside.contains(&process.name);
            let kind = if is_outside { VertexKind::Outside } else { VertexKind::Process };
            let place = picture.vertex(process.name.as_str(), kind);
            picture.took(place, process.cpu_seconds);
            places.entry(process.name.to_string()).or_insert(place);
        }
        // What is not listed as a process is a party, unless not all that ended are listed.
        let other = match self.more_processes {
            Some(_) => VertexKind::Process,
            None => VertexKind::Outside,
        };
        let mut place = |picture: &mut Picture, name: &Name| {
            *places.entry(name.to_string()).or_insert_with(|| picture.vertex(name.as_str(), other))
        };
        for channel in &self.channels {
            let (Some(from), Some(to)) = (&channel.from, &channel.to) else { continue };
            let (from, to) = (place(&mut picture, from), place(&mut picture, to));
            picture.edge(from, to, channel.name.as_str(), 0);
            picture.carried(traffic(channel).0, channel.growths.into());
        }
        for meeting in &self.meetings {
            let (Some(from), Some(to)) = (&meeting.from, &meeting.to) else { continue };
            let (from, to) = (place(&mut picture, from), place(&mut picture, to));
            picture.edge(from, to, meeting.name.as_str(), 0);
        }
        picture.svg()
    }
}
