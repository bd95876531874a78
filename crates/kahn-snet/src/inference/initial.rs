//! What comes of initialisers: of those of the program, before any record, and of those of a replica
//! of a star or split, once a record makes it.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::inference::infer::{Flow, Inference, Outcome, chain, test};
use crate::plan::{PartId, PartKind};

impl Inference<'_> {
    /// Returns what comes out of a part without any record going in.
    pub(crate) fn initial(&mut self, part: PartId) -> Rc<Outcome> {
        if let Some(known) = self.initial.get(&part) {
            return Rc::clone(known);
        }
        let outcome = Rc::new(self.begin(part));
        self.initial.insert(part, Rc::clone(&outcome));
        outcome
    }

    fn begin(&mut self, part: PartId) -> Outcome {
        let plan = self.plan;
        let mut outcome = Outcome::default();
        match &plan.part(part).kind {
            PartKind::Error
            | PartKind::Identity
            | PartKind::Filter(_)
            | PartKind::Cell(_)
            // Their replicas are made by records, and begin then.
            | PartKind::Split { .. }
            | PartKind::Star { .. } => {}
            PartKind::Box(id) => {
                let plan = plan.box_plan(*id);
                if plan.input.is_none() {
                    for made in &plan.outputs {
                        let flow = Flow { late: false, kept: BTreeSet::new() };
                        outcome.output(made.iter().cloned().collect(), flow);
                    }
                }
            }
            PartKind::Net(net) => {
                let net = plan.net(*net);
                let inner = self.initial(net.body);
                let declared = net.declared.iter().flatten();
                let initial: Vec<_> = declared.filter(|map| map.inputs.is_none()).collect();
                if initial.is_empty() {
                    return (*inner).clone();
                }
                outcome.misfits(&inner, false);
                for output in initial.iter().filter_map(|map| map.outputs.as_ref()).flatten() {
                    let flow = Flow { late: false, kept: BTreeSet::new() };
                    outcome.output(output.variant.clone(), flow);
                }
            }
            PartKind::Choice { branches, .. } => {
                for branch in branches {
                    let inner = self.initial(*branch);
                    outcome.misfits(&inner, false);
                    for (output, flow) in &inner.outputs {
                        outcome.output(output.clone(), flow.clone());
                    }
                }
            }
            PartKind::Feedback { body, back, .. } => {
                let inner = self.initial(*body);
                outcome.misfits(&inner, false);
                for (output, flow) in &inner.outputs {
                    let (matches, surely) = test(back, output);
                    if matches {
                        *self.seen.feedbacks.entry(part).or_insert(false) |= true;
                        let again = self.push(part, output);
                        outcome.misfits(&again, flow.late);
                        for (output, after) in &again.outputs {
                            outcome.output(output.clone(), chain(flow, after));
                        }
                    }
                    if !surely {
                        outcome.output(output.clone(), flow.clone());
                    }
                }
            }
            PartKind::Serial(stages) => {
                for stage in stages {
                    let mut next = (*self.initial(*stage)).clone();
                    next.misfits.append(&mut outcome.misfits);
                    for (record, flow) in &outcome.outputs {
                        let step = self.push(*stage, record);
                        next.misfits(&step, flow.late);
                        for (output, after) in &step.outputs {
                            next.output(output.clone(), chain(flow, after));
                        }
                    }
                    outcome = next;
                }
            }
        }
        outcome
    }
}
