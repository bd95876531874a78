//! Labels that are taken somewhere and made nowhere, with the nearest that is made.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostics::{Code, Diagnostic, closest};
use crate::inference::infer::Inference;
use crate::plan::{NetId, PartId, PartKind, Plan};
use crate::syntax::Span;
use crate::types::{Label, Variant};

/// Where the labels of a plan come from and go to.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Each label that something takes, and where it does so first.
    taken: BTreeMap<Label, Span>,
    /// Those that a filter or box makes.
    made: BTreeSet<Label>,
    /// Those that come in from outside, as declared or as the first component asks.
    given: BTreeSet<Label>,
    /// Those that inference asks for at the entrance because a later component takes them.
    asked: BTreeSet<Label>,
}

impl Labels {
    /// Collects the labels of a plan.
    pub(super) fn of(inference: &mut Inference<'_>) -> Self {
        let plan = inference.plan;
        let mut labels = Self::default();
        for part in &plan.parts {
            match &part.kind {
                PartKind::Filter(filter) => {
                    labels.take(&filter.pattern, part.span);
                    let records = filter.arms.iter().flat_map(|arm| &arm.records);
                    labels.made.extend(records.flatten().map(|(label, _)| label.clone()));
                }
                PartKind::Box(id) => {
                    let plan = plan.box_plan(*id);
                    labels.take(&plan.accepts().unwrap_or_default(), part.span);
                    labels.made.extend(plan.outputs.iter().flatten().cloned());
                }
                PartKind::Cell(patterns)
                | PartKind::Star { exits: patterns, .. }
                | PartKind::Feedback { back: patterns, .. } => {
                    for pattern in patterns {
                        labels.take(&pattern.variant, pattern.span);
                    }
                }
                PartKind::Split { range, .. } => {
                    labels.take(&range.labels().into_iter().collect(), part.span);
                }
                _ => {}
            }
        }
        for net in roots(plan) {
            let inputs = inference.net_inputs(net);
            let first = match plan.net(net).declared {
                Some(_) => inputs.clone(),
                None => super::check::first_inputs(inference, plan.net(net).body),
            };
            labels.given.extend(first.iter().flat_map(|variant| variant.0.iter().cloned()));
            labels.asked.extend(inputs.iter().flat_map(|variant| variant.0.iter().cloned()));
        }
        labels
    }

    fn take(&mut self, variant: &Variant, span: Span) {
        for label in &variant.0 {
            self.taken.entry(label.clone()).or_insert(span);
        }
    }

    /// Returns whether nothing makes a label, nor gives it.
    fn is_missing(&self, label: &Label) -> bool {
        !self.made.contains(label) && !self.given.contains(label) && !self.asked.contains(label)
    }

    /// Returns the nearest label that something makes, or gives.
    fn nearest(&self, label: &Label) -> Option<&Label> {
        let sources = || self.made.iter().chain(&self.given);
        // The same name of another kind is the nearest of all.
        let same = sources().find(|other| other.name == label.name && *other != label);
        same.or_else(|| {
            let word = closest(&label.name, sources().map(|other| &*other.name))?;
            sources().find(|other| &*other.name == word)
        })
    }

    /// Says which label of a type is made nowhere, with the nearest that is made.
    pub(super) fn advice(&self, variant: &Variant) -> Option<String> {
        let missing = || variant.0.iter().filter(|label| self.is_missing(label));
        let label = missing().find(|label| self.nearest(label).is_some()).or(missing().next())?;
        Some(match self.nearest(label) {
            Some(near) => format!("nothing makes `{label}`; did you mean `{near}`?"),
            None => format!("nothing makes `{label}`; if records bring it, declare it as an input"),
        })
    }

    /// Warns of the labels that are made nowhere, but where `said` has spoken of their place.
    pub(super) fn warnings(&self, said: &[Diagnostic]) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (label, span) in &self.taken {
            let spoken = |one: &Diagnostic| one.span == *span;
            if self.is_missing(label) && !said.iter().any(spoken) {
                let message = format!("`{label}` is taken here, and made nowhere");
                let warning = Diagnostic::new(Code::MadeNowhere, *span, message, "takes it");
                found.push(match self.nearest(label) {
                    Some(near) => warning.help(format!("did you mean `{near}`?")),
                    None => warning.help("make it before, or declare it as an input of the net"),
                });
                continue;
            }
            // What only inference asks for may be a slip, if something alike is of no use.
            let only_asked = self.asked.contains(label)
                && !self.made.contains(label)
                && !self.given.contains(label);
            let near = self.nearest(label).filter(|near| {
                only_asked && self.made.contains(*near) && !self.taken.contains_key(*near)
            });
            if let Some(near) = near {
                let message = format!("`{label}` is taken here, and must come from outside");
                let warning = Diagnostic::new(Code::MadeNowhere, *span, message, "takes it");
                let help = format!(
                    "did you mean `{near}`, which nothing takes? If not, declare the inputs"
                );
                found.push(warning.help(help));
            }
        }
        found
    }
}

/// The outermost nets that no other net uses: what comes to them comes from outside.
fn roots(plan: &Plan) -> Vec<NetId> {
    let used: BTreeSet<NetId> = (0..plan.parts.len())
        .filter_map(|index| match plan.part(PartId(index)).kind {
            PartKind::Net(net) => Some(net),
            _ => None,
        })
        .collect();
    plan.outermost.iter().copied().filter(|net| !used.contains(net)).collect()
}
