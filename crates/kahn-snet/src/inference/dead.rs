//! Parts through which nothing can go, and branches of which nothing comes out alive.

use crate::inference::check::first_inputs;
use crate::inference::infer::{Inference, Misfit, Seen};
use crate::plan::{NetId, PartId, PartKind};
use crate::types::Variant;

impl Inference<'_> {
    /// Returns why parts let nothing through, the inner ones first: where their types die.
    ///
    /// A part that only a part inside of it stops is left out.
    pub(crate) fn dead_parts(&mut self) -> Vec<Misfit> {
        let plan = self.plan;
        let mut found = Vec::new();
        let mut dead = vec![false; plan.parts.len()];
        // Parts are made before those that hold them.
        for index in 0..plan.parts.len() {
            let part = PartId(index);
            let inside = self.inside(part);
            if inside.iter().any(|inner| dead[inner.0]) && self.stops(part) {
                dead[index] = true;
                continue;
            }
            if !self.stops(part) {
                found.extend(self.dead_body(part));
                continue;
            }
            dead[index] = true;
            for seed in first_inputs(self, part) {
                found.extend(self.push(part, &seed).misfits.iter().cloned());
            }
        }
        found
    }

    /// Why nothing comes through the body of a star, though what leaves at once does.
    fn dead_body(&mut self, star: PartId) -> Option<Misfit> {
        let PartKind::Star { body, .. } = &self.plan.part(star).kind else { return None };
        let inputs = self.inputs(*body);
        let dead = self.dead.get(&star).filter(|_| !self.went_through(*body))?;
        let reason = |input: &Variant| dead.iter().find(|(seed, _)| seed == input);
        let all = inputs.iter().all(|input| reason(input).is_some());
        inputs.first().filter(|_| all).and_then(reason).map(|(_, misfit)| misfit.clone())
    }

    /// Whether a part accepts nothing, begins nothing, and no record that was seen went through.
    fn stops(&mut self, part: PartId) -> bool {
        self.inputs(part).is_empty()
            && self.initial(part).outputs.is_empty()
            && !self.went_through(part)
    }

    fn inside(&self, part: PartId) -> Vec<PartId> {
        match &self.plan.part(part).kind {
            PartKind::Serial(parts) | PartKind::Choice { branches: parts, .. } => parts.clone(),
            PartKind::Star { body, .. }
            | PartKind::Feedback { body, .. }
            | PartKind::Split { body, .. } => vec![*body],
            PartKind::Net(net) => vec![self.plan.net(*net).body],
            _ => Vec::new(),
        }
    }

    /// Returns why nothing comes out of branches that no record took.
    pub(crate) fn dead_branches(&mut self, seen: &Seen) -> Vec<Misfit> {
        let plan = self.plan;
        let mut found = Vec::new();
        for choice in &seen.choices {
            let PartKind::Choice { branches, .. } = &plan.part(*choice).kind else { continue };
            for (index, branch) in branches.iter().enumerate() {
                if !seen.taken.contains(&(*choice, index)) {
                    found.extend(self.dead_branch(*choice, *branch));
                }
            }
        }
        found
    }

    /// Returns why nothing comes out of a branch: where its types die behind the choice.
    fn dead_branch(&mut self, choice: PartId, branch: PartId) -> Option<Misfit> {
        let inputs = self.inputs(branch);
        let all: Vec<(PartId, Vec<(Variant, Misfit)>)> =
            self.dead.iter().map(|(part, list)| (*part, list.clone())).collect();
        for (part, list) in all {
            if part == choice || !self.leads_to(part, choice) {
                continue;
            }
            let reason = |input: &Variant| list.iter().find(|(seed, _)| seed == input);
            if !inputs.is_empty() && inputs.iter().all(|input| reason(input).is_some()) {
                return inputs.first().and_then(reason).map(|(_, misfit)| misfit.clone());
            }
        }
        None
    }

    /// Whether what enters `part` comes to `inner` first.
    fn leads_to(&self, part: PartId, inner: PartId) -> bool {
        let next = match &self.plan.part(part).kind {
            _ if part == inner => return true,
            PartKind::Serial(stages) => stages[0],
            PartKind::Star { body, .. }
            | PartKind::Feedback { body, .. }
            | PartKind::Split { body, .. } => *body,
            PartKind::Net(net) if self.plan.net(*net).declared.is_none() => {
                self.plan.net(*net).body
            }
            PartKind::Choice { branches, .. } => {
                return branches.iter().any(|branch| self.leads_to(*branch, inner));
            }
            _ => return false,
        };
        self.leads_to(next, inner)
    }

    /// Returns the declared inputs with the labels that some branch inside asks for as well.
    pub(crate) fn larger_inputs(&mut self, net: NetId) -> Vec<Variant> {
        let inferred = self.inputs(self.plan.net(net).body);
        let declared = self.net_inputs(net);
        let larger = declared.iter().flat_map(|input| {
            inferred.iter().map(|wanted| input.with(&wanted.0)).filter(move |all| all != input)
        });
        larger.collect()
    }
}
