//! Inference: which records a network takes, and what it makes of them.
//!
//! There is one function for each question, and the second asks the first:
//!
//! | question                                        | answer                                   |
//! |-------------------------------------------------|------------------------------------------|
//! | what comes out if a record of this type goes in?| [`Inference::push`]                      |
//! | which types may go in at all?                   | [`Inference::inputs`]                    |
//!
//! `push` follows a type through the combinators, as a record would go. Where it meets a
//! component that it does not fit, it notes a [`Misfit`]: the component, and which labels are
//! missing. `inputs` starts from what the first component asks for, pushes that, and adds the
//! labels that were missing later: they arrive there by flow inheritance, unless something on
//! the way consumes them. What still fails then is no input.
//!
//! Why not unify, as for functions? Best match is not monotone: a label more can send a record
//! another way. Following the record is exact, and a program has few types.
//!
//! Outputs of a synchro-cell that has fired are *late*: possible, but most programs never see
//! them. They are followed with a mark, and what is wrong with them is a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::plan::{NetId, PartId, PartKind, Pattern, Plan};
use crate::types::{Label, Variant};

/// The most types that are tried for one part.
const MOST: usize = 400;
/// The most labels that are looked at in all, of the inputs and outputs of parts.
const MOST_WORK: usize = 3_000_000;

/// What is known of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Whether it comes only from a synchro-cell that has fired.
    pub(crate) late: bool,
    /// The labels that are those of the input, unchanged.
    pub(crate) kept: BTreeSet<Label>,
}

/// A component that a record does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) part: PartId,
    pub(crate) record: Variant,
    /// What would fit.
    pub(crate) accepted: Vec<Variant>,
    pub(crate) late: bool,
}

/// What becomes of a type that goes in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) outputs: BTreeMap<Variant, Flow>,
    pub(crate) misfits: Vec<Misfit>,
}

impl Outcome {
    pub(super) fn output(&mut self, variant: Variant, flow: Flow) {
        match self.outputs.get_mut(&variant) {
            None => {
                self.outputs.insert(variant, flow);
            }
            Some(known) => {
                known.late &= flow.late;
                known.kept.retain(|label| flow.kept.contains(label));
            }
        }
    }

    pub(super) fn misfits(&mut self, of: &Self, late: bool) {
        for misfit in &of.misfits {
            let misfit = Misfit { late: misfit.late || late, ..misfit.clone() };
            if !self.misfits.contains(&misfit) && self.misfits.len() < MOST {
                self.misfits.push(misfit);
            }
        }
    }

    fn fails(&self) -> bool {
        self.misfits.iter().any(|misfit| !misfit.late)
    }
}

/// What was seen on the way, for the warnings.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Branches that records took.
    pub(crate) taken: BTreeSet<(PartId, usize)>,
    /// Choices that records came to.
    pub(crate) choices: BTreeSet<PartId>,
    /// Ties: the branch taken, and the other.
    pub(crate) ties: BTreeMap<PartId, (Variant, usize, usize)>,
    /// Stars, with what entered and never left, or none if something did.
    pub(crate) stars: BTreeMap<PartId, Option<Variant>>,
    /// Stars with an initialiser whose output makes the next replica, and so on.
    pub(crate) unfolding: BTreeMap<PartId, Variant>,
    /// Feedbacks, and whether something went back.
    pub(crate) feedbacks: BTreeMap<PartId, bool>,
    /// Whether some part had too many types.
    pub(crate) too_large: Option<PartId>,
}

/// Answers questions about the types of a plan, remembering the answers.
#[derive(Debug)]
pub(crate) struct Inference<'a> {
    pub(crate) plan: &'a Plan,
    pushed: BTreeMap<(PartId, Variant), Rc<Outcome>>,
    inputs: BTreeMap<PartId, Rc<Vec<Variant>>>,
    pub(super) initial: BTreeMap<PartId, Rc<Outcome>>,
    /// How many labels were looked at.
    work: usize,
    /// What no input of a part could be made of: the type it began with, and where that fails.
    pub(super) dead: BTreeMap<PartId, Vec<(Variant, Misfit)>>,
    pub(crate) seen: Seen,
}

impl<'a> Inference<'a> {
    /// Creates the answerer for a plan.
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            pushed: BTreeMap::new(),
            inputs: BTreeMap::new(),
            initial: BTreeMap::new(),
            work: 0,
            dead: BTreeMap::new(),
            seen: Seen::default(),
        }
    }

    /// Forgets what was seen and pushed, but not the inputs.
    pub(crate) fn start_watching(&mut self) {
        self.pushed.clear();
        self.initial.clear();
        let too_large = self.seen.too_large;
        self.seen = Seen { too_large, ..Seen::default() };
    }

    /// Returns the input types of a net, as declared or as inferred.
    pub(crate) fn net_inputs(&mut self, net: NetId) -> Vec<Variant> {
        match self.declared_inputs(net) {
            Some(declared) => declared,
            None => self.inputs(self.plan.net(net).body).to_vec(),
        }
    }

    fn declared_inputs(&self, net: NetId) -> Option<Vec<Variant>> {
        let maps = self.plan.net(net).declared.as_ref()?;
        let mut all = Vec::new();
        for variant in maps.iter().flat_map(|map| map.inputs.iter().flatten()) {
            if !all.contains(variant) {
                all.push(variant.clone());
            }
        }
        Some(all)
    }

    /// Returns the input types of a part, in the order of the text.
    pub(crate) fn inputs(&mut self, part: PartId) -> Rc<Vec<Variant>> {
        if let Some(known) = self.inputs.get(&part) {
            return Rc::clone(known);
        }
        let plan = self.plan;
        let found = match &plan.part(part).kind {
            PartKind::Error | PartKind::Identity => vec![Variant::default()],
            PartKind::Filter(filter) => vec![filter.pattern.clone()],
            PartKind::Box(id) => plan.box_plan(*id).accepts().into_iter().collect(),
            PartKind::Cell(patterns) => once(patterns.iter().map(|one| one.variant.clone())),
            PartKind::Net(net) => self.net_inputs(*net),
            PartKind::Choice { branches, .. } => {
                let all: Vec<_> = branches.iter().map(|branch| self.inputs(*branch)).collect();
                once(all.iter().flat_map(|list| list.iter().cloned()))
            }
            PartKind::Split { body, range, .. } => {
                let body = self.inputs(*body);
                once(body.iter().map(|variant| variant.with(&range.labels())))
            }
            PartKind::Serial(stages) => {
                // A leading initialiser takes nothing; what follows it still may.
                let seeds = self.inputs(stages[0]).to_vec();
                self.refine(part, seeds)
            }
            PartKind::Feedback { body, .. } => {
                let seeds = self.inputs(*body).to_vec();
                self.refine(part, seeds)
            }
            PartKind::Star { body, exits, .. } => {
                let leaving = exits.iter().map(|exit| exit.variant.clone());
                let seeds = once(leaving.chain(self.inputs(*body).iter().cloned()));
                self.refine(part, seeds)
            }
        };
        let found = Rc::new(found);
        self.inputs.insert(part, Rc::clone(&found));
        found
    }

    /// Adds missing labels to the seeds until they can be pushed through.
    fn refine(&mut self, part: PartId, seeds: Vec<Variant>) -> Vec<Variant> {
        let mut tried: BTreeSet<Variant> = seeds.iter().cloned().collect();
        let mut accepted = Vec::new();
        let mut dead = Vec::new();
        for seed in seeds {
            let mut first = None;
            let mut open = vec![seed.clone()];
            while let Some(candidate) = open.pop() {
                let outcome = self.push(part, &candidate);
                let Some(misfit) = outcome.misfits.iter().find(|misfit| !misfit.late) else {
                    accepted.push(candidate);
                    continue;
                };
                first.get_or_insert_with(|| misfit.clone());
                for wanted in misfit.accepted.iter().rev() {
                    let missing = wanted.0.difference(&misfit.record.0);
                    let missing: Vec<&Label> = missing.collect();
                    // What is there already was consumed before; binding tags don't flow.
                    let hopeless = |label: &&Label| candidate.has(label) || !label.is_inherited();
                    if missing.is_empty() || missing.iter().any(hopeless) {
                        continue;
                    }
                    let larger = candidate.with(missing);
                    if tried.len() >= MOST {
                        self.seen.too_large.get_or_insert(part);
                    } else if tried.insert(larger.clone()) {
                        open.push(larger);
                    }
                }
            }
            dead.extend(first.map(|misfit| (seed, misfit)));
        }
        dead.retain(|(seed, _)| !accepted.iter().any(|input| seed.0.is_subset(&input.0)));
        self.dead.insert(part, dead);
        accepted
    }

    /// Returns what becomes of records of type `variant` in a part.
    pub(crate) fn push(&mut self, part: PartId, variant: &Variant) -> Rc<Outcome> {
        let key = (part, variant.clone());
        if let Some(known) = self.pushed.get(&key) {
            return Rc::clone(known);
        }
        if self.work > MOST_WORK {
            self.seen.too_large.get_or_insert(part);
            return Rc::new(Outcome::default());
        }
        let outcome = Rc::new(self.follow(part, variant));
        let labels: usize = outcome.outputs.keys().map(|output| output.0.len() + 1).sum();
        self.work += variant.0.len() + 1 + labels;
        self.pushed.insert(key, Rc::clone(&outcome));
        outcome
    }

    /// Returns whether a record that was pushed went through a part.
    pub(crate) fn went_through(&self, part: PartId) -> bool {
        let first = (part, Variant::default());
        let mut all = self.pushed.range(first..).take_while(|((at, _), _)| *at == part);
        all.any(|(_, outcome)| !outcome.fails())
    }

    fn follow(&mut self, part: PartId, variant: &Variant) -> Outcome {
        let plan = self.plan;
        let mut outcome = Outcome::default();
        let unchanged = || Flow { late: false, kept: variant.0.clone() };
        let misfit = |accepted: Vec<Variant>| Misfit {
            part,
            record: variant.clone(),
            accepted,
            late: false,
        };
        match &plan.part(part).kind {
            PartKind::Error => {}
            PartKind::Identity => outcome.output(variant.clone(), unchanged()),
            PartKind::Filter(filter) => {
                if !variant.fits(&filter.pattern) {
                    outcome.misfits.push(misfit(vec![filter.pattern.clone()]));
                    return outcome;
                }
                for record in filter.arms.iter().flat_map(|arm| &arm.records) {
                    let made: Variant = record.iter().map(|(label, _)| label.clone()).collect();
                    let same = record.iter().filter(|(label, source)| {
                        matches!(source, crate::plan::ValueSource::Label(from) if from == label)
                    });
                    let mut kept: BTreeSet<Label> = same.map(|(label, _)| label.clone()).collect();
                    let inherited = variant.inherited(&filter.pattern);
                    kept.extend(inherited.filter(|label| !made.has(label)).cloned());
                    let output = made.with(variant.inherited(&filter.pattern));
                    outcome.output(output, Flow { late: false, kept });
                }
            }
            PartKind::Box(id) => {
                let plan = plan.box_plan(*id);
                if !plan.accepts().is_some_and(|accepts| variant.fits(&accepts)) {
                    outcome.misfits.push(misfit(plan.accepts().into_iter().collect()));
                    return outcome;
                }
                let gone = plan.consumes();
                for made in &plan.outputs {
                    let made: Variant = made.iter().cloned().collect();
                    let inherited = variant.inherited(&gone);
                    let kept = inherited.filter(|label| !made.has(label)).cloned().collect();
                    let output = made.with(variant.inherited(&gone));
                    outcome.output(output, Flow { late: false, kept });
                }
            }
            PartKind::Cell(patterns) => return cell(patterns, variant, &misfit),
            PartKind::Serial(stages) => {
                let mut now = BTreeMap::from([(variant.clone(), unchanged())]);
                for stage in stages {
                    let mut next = Outcome::default();
                    for (record, flow) in &now {
                        let step = self.push(*stage, record);
                        outcome.misfits(&step, flow.late);
                        for (output, after) in &step.outputs {
                            next.output(output.clone(), chain(flow, after));
                        }
                    }
                    if next.outputs.len() > MOST {
                        self.seen.too_large.get_or_insert(part);
                        break;
                    }
                    now = next.outputs;
                }
                outcome.outputs = now;
            }
            PartKind::Choice { branches, .. } => {
                self.seen.choices.insert(part);
                match self.route(part, branches, variant) {
                    None => {
                        let all: Vec<_> =
                            branches.iter().map(|branch| self.inputs(*branch)).collect();
                        let accepted = once(all.iter().flat_map(|list| list.iter().cloned()));
                        outcome.misfits.push(misfit(accepted));
                    }
                    Some(taken) => {
                        self.seen.taken.insert((part, taken));
                        return (*self.push(branches[taken], variant)).clone();
                    }
                }
            }
            PartKind::Split { body, range, .. } => {
                let labels = range.labels();
                if labels.iter().any(|label| !variant.has(label)) {
                    outcome.misfits.push(misfit(vec![variant.with(&labels)]));
                } else {
                    outcome = (*self.push(*body, variant)).clone();
                    let initial = self.initial(*body);
                    outcome.misfits(&initial, false);
                    for (output, flow) in &initial.outputs {
                        outcome.output(output.clone(), flow.clone());
                    }
                }
            }
            PartKind::Net(net) => return self.through_net(part, *net, variant),
            PartKind::Star { body, exits, .. } => {
                return self.circle(part, *body, exits, variant, true);
            }
            PartKind::Feedback { body, back, .. } => {
                return self.circle(part, *body, back, variant, false);
            }
        }
        outcome
    }

    /// The branch that a record takes: the largest fitting variant, of several the leftmost.
    fn route(&mut self, part: PartId, branches: &[PartId], variant: &Variant) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        let mut tie = None;
        for (index, branch) in branches.iter().enumerate() {
            let inputs = self.inputs(*branch);
            let fitting = inputs.iter().filter(|wanted| variant.fits(wanted));
            let Some(score) = fitting.map(Variant::score).max() else { continue };
            match best {
                Some((most, _)) if score < most => {}
                Some((most, first)) if score == most => tie = tie.or(Some((first, index))),
                _ => {
                    best = Some((score, index));
                    tie = None;
                }
            }
        }
        if let Some((first, second)) = tie {
            self.seen.ties.entry(part).or_insert((variant.clone(), first, second));
        }
        best.map(|(_, index)| index)
    }

    fn through_net(&mut self, part: PartId, net: NetId, variant: &Variant) -> Outcome {
        let plan = self.plan;
        let Some(maps) = &plan.net(net).declared else {
            return (*self.push(plan.net(net).body, variant)).clone();
        };
        let mut best: Option<(&Variant, Vec<&crate::plan::DeclaredMap>)> = None;
        for map in maps {
            for input in map.inputs.iter().flatten().filter(|input| variant.fits(input)) {
                match &mut best {
                    Some((known, list)) if *known == input => list.push(map),
                    Some((known, _)) if known.score() >= input.score() => {}
                    _ => best = Some((input, vec![map])),
                }
            }
        }
        let mut outcome = Outcome::default();
        let Some((input, maps)) = best else {
            let accepted = self.net_inputs(net);
            let record = variant.clone();
            outcome.misfits.push(Misfit { part, record, accepted, late: false });
            return outcome;
        };
        for map in maps {
            let Some(outputs) = &map.outputs else {
                let inner = self.push(plan.net(net).body, variant);
                outcome.misfits(&inner, false);
                for (output, flow) in &inner.outputs {
                    outcome.output(output.clone(), flow.clone());
                }
                continue;
            };
            for output in outputs {
                let made = output.variant.with(variant.inherited(input));
                let inherited = variant.inherited(input);
                let mut kept: BTreeSet<Label> =
                    inherited.filter(|label| !output.variant.has(label)).cloned().collect();
                kept.extend(output.same.0.iter().cloned());
                outcome.output(made, Flow { late: false, kept });
            }
        }
        outcome
    }

    /// A star, whose `patterns` leave before a replica, or a feedback, whose `patterns` go back
    /// after the body.
    fn circle(
        &mut self,
        part: PartId,
        body: PartId,
        patterns: &[Pattern],
        variant: &Variant,
        star: bool,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut inside: BTreeMap<Variant, Flow> = BTreeMap::new();
        let mut open = vec![(variant.clone(), Flow { late: false, kept: variant.0.clone() })];
        let mut went_back = false;
        let mut goes_on = false;
        let mut first = true;
        while let Some((record, flow)) = open.pop() {
            let (matches, surely) = test(patterns, &record);
            let (leaves, stays) = match (star, first) {
                (true, _) => (matches, !surely),
                (false, true) => (false, true),
                (false, false) => (!surely, matches),
            };
            went_back |= !star && !first && stays;
            first = false;
            if leaves {
                outcome.output(record.clone(), flow.clone());
            }
            if !stays {
                continue;
            }
            let news = match inside.get(&record) {
                Some(known) => known.late && !flow.late || !known.kept.is_subset(&flow.kept),
                None => true,
            };
            if !news {
                goes_on |= !flow.late;
                continue;
            }
            if star && inside.is_empty() {
                // The record makes a replica, whose initialisers feed the next.
                let initial = self.initial(body);
                outcome.misfits(&initial, false);
                for (output, flow) in &initial.outputs {
                    if !test(patterns, output).0 {
                        self.seen.unfolding.entry(part).or_insert_with(|| output.clone());
                    }
                    open.push((output.clone(), flow.clone()));
                }
            }
            if inside.len() > MOST {
                self.seen.too_large.get_or_insert(part);
                break;
            }
            let merged = match inside.get(&record) {
                None => flow,
                Some(known) => Flow {
                    late: known.late && flow.late,
                    kept: known.kept.intersection(&flow.kept).cloned().collect(),
                },
            };
            inside.insert(record.clone(), merged.clone());
            let step = self.push(body, &record);
            outcome.misfits(&step, merged.late);
            for (output, after) in &step.outputs {
                open.push((output.clone(), chain(&merged, after)));
            }
        }
        if star {
            let left = !outcome.outputs.is_empty();
            let stuck = (!left && goes_on && !outcome.fails()).then(|| variant.clone());
            let entry = self.seen.stars.entry(part).or_insert(stuck);
            if left {
                *entry = None;
            }
        } else {
            *self.seen.feedbacks.entry(part).or_insert(false) |= went_back;
        }
        outcome
    }
}

/// Whether a record may match one of the patterns, and whether it surely does.
pub(super) fn test(patterns: &[Pattern], record: &Variant) -> (bool, bool) {
    let mut fitting = patterns.iter().filter(|pattern| record.fits(&pattern.variant)).peekable();
    let matches = fitting.peek().is_some();
    (matches, fitting.any(|pattern| pattern.guard.is_none()))
}

pub(super) fn chain(before: &Flow, after: &Flow) -> Flow {
    let kept = before.kept.intersection(&after.kept).cloned().collect();
    Flow { late: before.late || after.late, kept }
}

fn once(variants: impl Iterator<Item = Variant>) -> Vec<Variant> {
    let mut list = Vec::new();
    for variant in variants {
        if !list.contains(&variant) {
            list.push(variant);
        }
    }
    list
}

fn cell(
    patterns: &[Pattern],
    variant: &Variant,
    misfit: &impl Fn(Vec<Variant>) -> Misfit,
) -> Outcome {
    let mut outcome = Outcome::default();
    let fitting = patterns.iter().filter(|pattern| variant.fits(&pattern.variant)).count();
    if fitting == 0 {
        let wanted = patterns.iter().map(|pattern| pattern.variant.clone());
        outcome.misfits.push(misfit(wanted.collect()));
        return outcome;
    }
    if variant.fits(&patterns[0].variant) {
        let others = patterns.iter().skip(1).flat_map(|pattern| &pattern.variant.0);
        let merged = variant.with(others);
        let kept = patterns.iter().skip(1).fold(variant.0.clone(), |mut kept, pattern| {
            kept.retain(|label| !pattern.variant.has(label));
            kept
        });
        outcome.output(merged, Flow { late: false, kept });
    }
    let late = fitting < patterns.len();
    outcome.output(variant.clone(), Flow { late, kept: variant.0.clone() });
    outcome
}
