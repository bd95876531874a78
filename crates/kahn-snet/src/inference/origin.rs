//! Which component makes a type that comes out of a network.

use std::collections::BTreeSet;

use crate::inference::infer::Inference;
use crate::plan::{PartId, PartKind};
use crate::types::Variant;

impl Inference<'_> {
    /// Finds the component that makes `output` in `part` when `input` goes in.
    ///
    /// `None` as input stands for what initialisers begin with. Returns none if it only passes.
    pub(crate) fn origin(
        &mut self,
        part: PartId,
        input: Option<&Variant>,
        output: &Variant,
    ) -> Option<PartId> {
        if input == Some(output) || !self.makes(part, input, output) {
            return None;
        }
        let plan = self.plan;
        match &plan.part(part).kind {
            PartKind::Error | PartKind::Identity => None,
            PartKind::Filter(_) | PartKind::Box(_) | PartKind::Cell(_) => Some(part),
            PartKind::Net(net) if plan.net(*net).declared.is_some() => Some(part),
            PartKind::Net(net) => self.origin(plan.net(*net).body, input, output),
            PartKind::Choice { branches, .. } => {
                branches.iter().find_map(|branch| self.origin(*branch, input, output))
            }
            PartKind::Split { body, .. } => {
                let found = self.origin(*body, input, output);
                found.or_else(|| self.origin(*body, None, output))
            }
            PartKind::Star { body, .. } | PartKind::Feedback { body, .. } => {
                let found = self.origin_inside(*body, input, output);
                found.or_else(|| self.origin(*body, None, output))
            }
            PartKind::Serial(stages) => {
                let mut before: Vec<BTreeSet<Variant>> = Vec::new();
                let mut now: BTreeSet<Variant> = input.into_iter().cloned().collect();
                for stage in stages {
                    before.push(now.clone());
                    let mut next = BTreeSet::new();
                    for record in &now {
                        next.extend(self.push(*stage, record).outputs.keys().cloned());
                    }
                    if input.is_none() {
                        next.extend(self.initial(*stage).outputs.keys().cloned());
                    }
                    now = next;
                }
                // From the last stage back, to the one that does not only pass it.
                for (stage, records) in stages.iter().zip(&before).rev() {
                    let made =
                        records.iter().find_map(|one| self.origin(*stage, Some(one), output));
                    let made = made.or_else(|| {
                        input.is_none().then(|| self.origin(*stage, None, output)).flatten()
                    });
                    if made.is_some() {
                        return made;
                    }
                }
                None
            }
        }
    }

    fn makes(&mut self, part: PartId, input: Option<&Variant>, output: &Variant) -> bool {
        match input {
            Some(input) => self.push(part, input).outputs.contains_key(output),
            None => self.initial(part).outputs.contains_key(output),
        }
    }

    /// As [`Self::origin`], where what comes out of `body` may enter it again.
    fn origin_inside(
        &mut self,
        body: PartId,
        input: Option<&Variant>,
        output: &Variant,
    ) -> Option<PartId> {
        let mut open: Vec<Variant> = match input {
            Some(input) => vec![input.clone()],
            None => self.initial(body).outputs.keys().cloned().collect(),
        };
        let mut seen: BTreeSet<Variant> = BTreeSet::new();
        while let Some(record) = open.pop() {
            if !seen.insert(record.clone()) {
                continue;
            }
            let found = self.origin(body, Some(&record), output);
            if found.is_some() {
                return found;
            }
            open.extend(self.push(body, &record).outputs.keys().cloned());
        }
        None
    }
}
