//! What was declared against what is inferred, and what can never happen.

use std::collections::BTreeSet;

use crate::diagnostics::{Code, Diagnostic};
use crate::inference::infer::{Inference, Misfit, Outcome, Seen};
use crate::inference::labels::Labels;
use crate::plan::{DeclaredMap, DeclaredOutput, NetId, PartId, PartKind, Plan};
use crate::syntax::Span;
use crate::types::{Label, Variant, show};

/// A map of a net: what comes out for what goes in, or without anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferredMap {
    /// What goes in; none for what initialisers emit.
    pub input: Option<Variant>,
    /// What comes out.
    pub outputs: Vec<Variant>,
}

/// The inferred signature of a net.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inferred {
    /// The names of the nets around it, then its own, joined by `/`.
    pub path: String,
    /// Its maps, in the order of the text.
    pub maps: Vec<InferredMap>,
}

impl std::fmt::Display for Inferred {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "net {}", self.path)?;
        for map in &self.maps {
            match &map.input {
                Some(input) => write!(f, "    {input} ->")?,
                None => write!(f, "    ->")?,
            }
            let space = if map.outputs.is_empty() { "" } else { " " };
            writeln!(f, "{space}{}", show(&map.outputs))?;
        }
        Ok(())
    }
}

/// Checks the types of a plan; returns the signature of every net and what is wrong.
pub fn check(plan: &Plan) -> (Vec<Inferred>, Vec<Diagnostic>) {
    let mut inference = Inference::new(plan);
    let mut checker = Checker { plan, errors: Vec::new(), never: Vec::new() };
    // First all inputs, so that only real records are watched afterwards.
    let nets: Vec<NetId> = (0..plan.nets.len()).map(NetId).collect();
    let inputs: Vec<Vec<Variant>> = nets.iter().map(|net| inference.net_inputs(*net)).collect();
    inference.start_watching();
    let mut inferred = Vec::new();
    let roots: BTreeSet<NetId> = plan.outermost.iter().copied().collect();
    for (net, inputs) in nets.iter().zip(&inputs) {
        let is_root = roots.contains(net);
        if is_root || plan.net(*net).declared.is_some() {
            checker.net(&mut inference, *net, inputs, is_root);
        }
    }
    // What is asked from here on was not seen on the way of a record.
    let seen = std::mem::take(&mut inference.seen);
    if !plan.has_errors() {
        let dead = inference.dead_parts();
        checker.misfits(&dead, None);
        let dead = inference.dead_branches(&seen);
        checker.misfits(&dead, None);
    }
    let errors_so_far = checker.errors.len();
    checker.never_produced(&mut inference);
    checker.warn(&mut inference, &seen);
    let warnings = checker.errors.split_off(errors_so_far);
    for (net, inputs) in nets.iter().zip(&inputs) {
        inferred.push(signature(&mut inference, *net, inputs));
    }
    // The types of a part that is wrong would only repeat what was said.
    if crate::diagnostics::has_errors(&checker.errors) {
        checker.errors.extend(warnings.into_iter().filter(|one| one.code == Code::TooLarge));
    } else {
        checker.errors.extend(warnings);
    }
    (inferred, checker.errors)
}

fn signature(inference: &mut Inference<'_>, net: NetId, inputs: &[Variant]) -> Inferred {
    let plan = inference.plan;
    let body = plan.net(net).body;
    let mut maps = Vec::new();
    let initial = inference.initial(body);
    if !initial.outputs.is_empty() {
        maps.push(InferredMap { input: None, outputs: outputs(&initial) });
    }
    for input in inputs {
        let outcome = inference.push(body, input);
        maps.push(InferredMap { input: Some(input.clone()), outputs: outputs(&outcome) });
    }
    Inferred { path: plan.net(net).path.clone(), maps }
}

/// The outputs that a program sees.
fn outputs(outcome: &Outcome) -> Vec<Variant> {
    let seen = outcome.outputs.iter().filter(|(_, flow)| !flow.late);
    seen.map(|(variant, _)| variant.clone()).collect()
}

struct Checker<'a> {
    plan: &'a Plan,
    errors: Vec<Diagnostic>,
    /// Declared outputs that were not seen.
    never: Vec<(NetId, &'a DeclaredOutput)>,
}

impl Checker<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        let known = |old: &Diagnostic| old.span == diagnostic.span && old.code == diagnostic.code;
        if !self.errors.iter().any(known) {
            self.errors.push(diagnostic);
        }
    }

    fn net(&mut self, inference: &mut Inference<'_>, net: NetId, inputs: &[Variant], root: bool) {
        let plan = self.plan;
        let definition = plan.net(net);
        let initial = inference.initial(definition.body);
        self.misfits(&initial.misfits, None);
        let Some(maps) = &definition.declared else {
            for input in inputs {
                inference.push(definition.body, input);
            }
            self.undeclared_root(inference, net, inputs, root && initial.outputs.is_empty());
            return;
        };
        let declares_initial = maps.iter().any(|map| map.inputs.is_none());
        if !initial.outputs.is_empty() && !declares_initial && !plan.has_errors() {
            let outputs = show(initial.outputs.keys());
            let message =
                format!("net `{}` holds an initialiser and does not say so", definition.name);
            let label = format!("no map `-> {outputs}`");
            let place = definition.signature_span;
            self.report(
                Diagnostic::new(Code::Initialiser, place, message, label)
                    .help(format!("declare what comes without input: `-> {outputs}, …`")),
            );
        }
        let mut produced: BTreeSet<Span> = BTreeSet::new();
        for map in maps {
            match &map.inputs {
                None => self.map(inference, net, map, &initial, None, &mut produced),
                Some(inputs) => {
                    for input in inputs {
                        let outcome = inference.push(definition.body, input);
                        self.misfits(&outcome.misfits, Some((input, map.span, &definition.name)));
                        self.map(inference, net, map, &outcome, Some(input), &mut produced);
                    }
                }
            }
        }
        for map in maps {
            let outputs = map.outputs.iter().flatten();
            let never = outputs.filter(|output| !produced.contains(&output.span));
            self.never.extend(never.map(|output| (net, output)));
        }
    }

    /// Warns of declared outputs that are never produced.
    fn never_produced(&mut self, inference: &mut Inference<'_>) {
        for (net, output) in std::mem::take(&mut self.never) {
            let definition = self.plan.net(net);
            let message = format!("net `{}` never produces {}", definition.name, output.variant);
            let label = "declared here, inferred nowhere";
            let warning = Diagnostic::new(Code::NeverProduced, output.span, message, label);
            let larger = inference.larger_inputs(net).into_iter().find(|input| {
                let outcome = inference.push(definition.body, input);
                outcome.outputs.keys().any(|found| found.fits(&output.variant))
            });
            self.report(match larger {
                None => warning.help("remove it from the signature"),
                Some(input) => warning.help(format!(
                    "records with more labels than declared make it: declare {input} too"
                )),
            });
        }
    }

    /// A root without signature must accept something, or begin by itself.
    fn undeclared_root(
        &mut self,
        inference: &mut Inference<'_>,
        net: NetId,
        inputs: &[Variant],
        silent: bool,
    ) {
        let definition = self.plan.net(net);
        if !inputs.is_empty() {
            return;
        }
        let first = first_inputs(inference, definition.body);
        let mut found = false;
        for seed in first {
            let outcome = inference.push(definition.body, &seed);
            found |= !outcome.misfits.is_empty();
            self.misfits(&outcome.misfits, None);
        }
        if !found && silent && !self.plan.has_errors() {
            let message = format!("net `{}` accepts no record", definition.name);
            let span = definition.name_span;
            let error = Diagnostic::new(Code::NoInput, span, message, "no input type");
            self.report(error.help("check that each stage accepts what the stage before emits"));
        }
    }

    fn map(
        &mut self,
        inference: &mut Inference<'_>,
        net: NetId,
        map: &DeclaredMap,
        outcome: &Outcome,
        input: Option<&Variant>,
        produced: &mut BTreeSet<Span>,
    ) {
        let Some(declared) = &map.outputs else { return };
        for (variant, flow) in &outcome.outputs {
            let fitting = declared.iter().filter(|output| variant.fits(&output.variant));
            let Some(best) = fitting.max_by_key(|output| output.variant.score()) else {
                let maker = inference.origin(self.plan.net(net).body, input, variant);
                self.undeclared(map, variant, flow.late, input, maker);
                continue;
            };
            for output in declared.iter().filter(|output| variant.fits(&output.variant)) {
                produced.insert(output.span);
            }
            let changed: Vec<&Label> =
                best.same.0.iter().filter(|label| !flow.kept.contains(*label)).collect();
            if let Some(label) = changed.first() {
                let message = format!("`={label}` promises the unchanged label of the input");
                let words = "but it is made anew on the way";
                let error = Diagnostic::new(Code::NotUnchanged, best.span, message, words);
                self.report(error.help(format!("write `{label}` without `=`")));
            }
        }
    }

    fn undeclared(
        &mut self,
        map: &DeclaredMap,
        variant: &Variant,
        late: bool,
        input: Option<&Variant>,
        maker: Option<PartId>,
    ) {
        let from = match input {
            Some(input) => format!("for the input {input}"),
            None => "by its initialisers".to_owned(),
        };
        let help = format!("add `| {variant}` to the outputs, or leave them to inference: `...`");
        let (code, message) = if late {
            let message = format!(
                "the output {variant} is not declared; it comes {from} once a \
                 synchro-cell has fired"
            );
            (Code::LateOutput, message)
        } else {
            (Code::UndeclaredOutput, format!("the output {variant} {from} is not declared"))
        };
        let error = match maker {
            Some(part) if !late => {
                let label = format!("{} makes it", describe(self.plan, part));
                Diagnostic::new(code, self.plan.part(part).span, message, label)
                    .related(map.span, "not in this map")
            }
            _ => Diagnostic::new(code, map.span, message, "not in this map"),
        };
        self.report(error.help(help));
    }

    fn misfits(&mut self, misfits: &[Misfit], declared: Option<(&Variant, Span, &str)>) {
        for misfit in misfits {
            let part = self.plan.part(misfit.part);
            let record = &misfit.record;
            let what = describe(self.plan, misfit.part);
            if misfit.accepted.is_empty() {
                let message = format!("{what} takes no records, but {record} comes to it");
                let error =
                    Diagnostic::new(Code::Initialiser, part.span, message, "an initialiser");
                self.report(error.help("put it into a choice: `(init | []) .. …`"));
                continue;
            }
            let accepted = show(&misfit.accepted);
            let message = format!("records of type {record} do not fit {what}");
            let label = format!("takes {accepted}");
            let (code, mut error) = match declared {
                Some((input, span, net)) if input == record => {
                    let message = format!("net `{net}` does not accept its declared input {input}");
                    let error = Diagnostic::new(Code::InputRefused, part.span, message, label);
                    (Code::InputRefused, error.related(span, "declared here"))
                }
                _ => {
                    (Code::DoesNotFit, Diagnostic::new(Code::DoesNotFit, part.span, message, label))
                }
            };
            if misfit.late && code == Code::DoesNotFit {
                // Only a fired cell lets such a record through.
                continue;
            }
            error = advise(error, misfit);
            self.report(error);
        }
    }

    fn warn(&mut self, inference: &mut Inference<'_>, seen: &Seen) {
        let plan = self.plan;
        let labels = Labels::of(inference);
        if let Some(part) = seen.too_large.or(inference.seen.too_large) {
            let message = "too many record types to infer";
            let span = plan.part(part).span;
            let error = Diagnostic::new(Code::TooLarge, span, message, "in this network");
            self.report(error.help("declare the signatures of the nets inside"));
        }
        for (part, (variant, first, second)) in &seen.ties {
            let PartKind::Choice { branches, .. } = &plan.part(*part).kind else { continue };
            let span = |index: usize| plan.part(branches[index]).span;
            let message = format!("records of type {variant} match two branches equally well");
            let label = "never taken for them";
            let warning = Diagnostic::new(Code::Ambiguous, span(*second), message, label)
                .related(span(*first), "the leftmost is taken")
                .help("ask for one label more in one of them");
            self.report(warning);
        }
        for part in &seen.choices {
            let PartKind::Choice { branches, .. } = &plan.part(*part).kind else { continue };
            for (index, branch) in branches.iter().enumerate() {
                let tied = seen.ties.get(part).is_some_and(|(_, _, second)| *second == index);
                let taken = seen.taken.contains(&(*part, index));
                let bypass = matches!(plan.part(*branch).kind, PartKind::Identity);
                let inputs = inference.inputs(*branch);
                if tied || taken || bypass || inputs.is_empty() {
                    continue;
                }
                let message = "no record of a known type comes to this branch".to_owned();
                let label = format!("takes {}", show(inputs.iter()));
                let span = plan.part(*branch).span;
                let warning = Diagnostic::new(Code::Unreachable, span, message, label);
                let advice = inputs.iter().find_map(|input| labels.advice(input));
                self.report(warning.help(advice.unwrap_or_else(|| {
                    "records that carry more labels than declared may take it: declare them as \
                     inputs, or check the labels it asks for"
                        .to_owned()
                })));
            }
        }
        for (part, record) in &seen.unfolding {
            let span = plan.part(*part).span;
            let message = format!("each replica of this star begins with {record}");
            let label = format!("{record} makes the next replica, and so on without end");
            let warning = Diagnostic::new(Code::NeverLeft, span, message, label);
            self.report(warning.help("let it leave, or put the initialiser before the star"));
        }
        for (part, stuck) in &seen.stars {
            let PartKind::Star { exits, .. } = &plan.part(*part).kind else { continue };
            let Some(record) = stuck else { continue };
            let exit = show(exits.iter().map(|exit| &exit.variant));
            let message = format!("a record of type {record} can never leave this star");
            let span = exits.first().map_or(plan.part(*part).span, |exit| exit.span);
            let label = format!("the body never makes {exit}");
            let warning = Diagnostic::new(Code::NeverLeft, span, message, label);
            let advice = exits.iter().find_map(|exit| labels.advice(&exit.variant));
            let otherwise = || "check the labels of the exit, or let the body make them".to_owned();
            self.report(warning.help(advice.unwrap_or_else(otherwise)));
        }
        for (part, went_back) in &seen.feedbacks {
            let PartKind::Feedback { back, .. } = &plan.part(*part).kind else { continue };
            if *went_back {
                continue;
            }
            let span = back.first().map_or(plan.part(*part).span, |back| back.span);
            let message = "nothing is ever fed back".to_owned();
            let label = "the body never makes this";
            let warning = Diagnostic::new(Code::NeverFedBack, span, message, label);
            let advice = back.iter().find_map(|back| labels.advice(&back.variant));
            let otherwise = || "check the labels of the pattern".to_owned();
            self.report(warning.help(advice.unwrap_or_else(otherwise)));
        }
        let nowhere = labels.warnings(&self.errors);
        for warning in nowhere {
            self.report(warning);
        }
    }
}

/// What the first stages ask for, for messages about nets that take nothing.
pub(super) fn first_inputs(inference: &mut Inference<'_>, part: PartId) -> Vec<Variant> {
    let plan = inference.plan;
    match &plan.part(part).kind {
        PartKind::Serial(stages) => first_inputs(inference, stages[0]),
        PartKind::Star { body, .. }
        | PartKind::Feedback { body, .. }
        | PartKind::Split { body, .. } => first_inputs(inference, *body),
        PartKind::Net(net) if plan.net(*net).declared.is_none() => {
            first_inputs(inference, plan.net(*net).body)
        }
        _ => inference.inputs(part).to_vec(),
    }
}

/// The part as messages name it.
fn describe(plan: &Plan, part: PartId) -> String {
    match &plan.part(part).kind {
        PartKind::Box(id) => format!("box `{}`", plan.box_plan(*id).name),
        PartKind::Net(id) => format!("net `{}`", plan.net(*id).name),
        PartKind::Filter(_) | PartKind::Identity => "this filter".to_owned(),
        PartKind::Cell(_) => "this synchro-cell".to_owned(),
        PartKind::Choice { .. } => "any branch of this choice".to_owned(),
        PartKind::Split { .. } => "this split".to_owned(),
        _ => "this network".to_owned(),
    }
}

fn advise(error: Diagnostic, misfit: &Misfit) -> Diagnostic {
    let known: Vec<&str> = misfit.record.0.iter().map(|label| &*label.name).collect();
    for wanted in &misfit.accepted {
        let missing: Vec<&Label> = wanted.0.difference(&misfit.record.0).collect();
        for label in &missing {
            if let Some(other) = misfit.record.0.iter().find(|other| other.name == label.name) {
                return error.help(format!("the record has `{other}`, not `{label}`"));
            }
            if let Some(word) = crate::diagnostics::closest(&label.name, known.iter().copied()) {
                return error.help(format!("did you mean `{word}` instead of `{}`?", label.name));
            }
        }
        if missing.is_empty() {
            let surplus = misfit.record.0.difference(&wanted.0).find(|one| !one.is_inherited());
            if let Some(label) = surplus {
                let help = format!("binding tags must match exactly: name `{label}`");
                return error.help(help);
            }
        }
        if misfit.accepted.len() == 1 {
            let missing: Vec<String> = missing.iter().map(|label| format!("`{label}`")).collect();
            let help = format!("missing: {}", missing.join(", "));
            return error.help(format!("{help}; a component before it must make or pass it on"));
        }
    }
    error.help("make the missing labels before it, or add a branch that takes these records")
}
