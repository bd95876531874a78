//! Names: from the syntax tree to the plan.

mod filters;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    BoxId, BoxPlan, DeclaredMap, DeclaredOutput, Net, NetId, Part, PartId, PartKind, Plan,
    SplitRange,
};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::Span;
use crate::syntax::ast::{
    self, BoxDefinition, Definition, Ident, MetadataEntry, NetDefinition, Signature, SignatureItem,
    Subject, Topology, TopologyKind,
};
use crate::types::{Label, Variant};

/// The keys of metadata that mean something here, or meant something to the old compiler.
const KEYS: &[&str] = &[
    "interface",
    "boxname",
    "observer",
    "observer_type",
    "observer_data",
    "observer_file",
    "observer_code",
    "observer_address",
    "observer_port",
    "observer_interactive",
    "SACmodule",
    "SACboxfun",
    "SACdefaultmap",
    "concurrency",
];

/// The deepest network; every phase recurses over it.
const DEEPEST: usize = 300;

/// Resolves the names of a program.
pub fn resolve(definitions: &[Definition]) -> (Plan, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        plan: Plan::default(),
        errors: Vec::new(),
        scopes: Vec::new(),
        metadata: Vec::new(),
        depths: Vec::new(),
        open: Vec::new(),
    };
    resolver.scope(definitions, "");
    (resolver.plan, resolver.errors)
}

/// What a name stands for. Nets and boxes are resolved when they are first used.
#[derive(Clone)]
enum Component<'a> {
    Box(&'a BoxDefinition, Option<BoxId>),
    Net(&'a NetDefinition, Option<NetId>),
}

#[derive(Default)]
struct Scope<'a> {
    path: String,
    components: BTreeMap<&'a str, Component<'a>>,
    types: BTreeMap<&'a str, &'a ast::TypeDefinition>,
    signatures: BTreeMap<&'a str, &'a ast::TypeSigDefinition>,
    used: BTreeSet<&'a str>,
}

struct Resolver<'a> {
    plan: Plan,
    errors: Vec<Diagnostic>,
    scopes: Vec<Scope<'a>>,
    metadata: Vec<(String, &'a MetadataEntry)>,
    /// How deep each part is.
    depths: Vec<usize>,
    /// The definitions being resolved, to find those that contain themselves.
    open: Vec<(usize, &'a str)>,
}

impl<'a> Resolver<'a> {
    /// Resolves the definitions of one scope; the scope stays open.
    fn scope(&mut self, definitions: &'a [Definition], path: &str) {
        let depth = self.scopes.len();
        self.scopes.push(Scope { path: path.to_owned(), ..Scope::default() });
        for definition in definitions {
            match definition {
                Definition::Box(definition) => {
                    self.define(&definition.name, Component::Box(definition, None));
                }
                Definition::Net(definition) => {
                    self.define(&definition.name, Component::Net(definition, None));
                }
                Definition::Type(definition) => {
                    let old = self.scopes[depth].types.insert(&definition.name.name, definition);
                    self.twice(&definition.name, old.map(|old| old.name.at.0));
                }
                Definition::TypeSig(definition) => {
                    let name = &definition.name;
                    let old = self.scopes[depth].signatures.insert(&name.name, definition);
                    self.twice(name, old.map(|old| old.name.at.0));
                }
                Definition::Metadata(metadata) => {
                    for entry in &metadata.entries {
                        self.check_keys(entry);
                        self.metadata.push((path.to_owned(), entry));
                    }
                }
            }
        }
        let names: Vec<&'a str> = definitions.iter().filter_map(component_name).collect();
        for name in names {
            self.component(depth, name);
        }
        if depth == 0 {
            self.unused();
        }
    }

    fn define(&mut self, name: &'a Ident, component: Component<'a>) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let old = scope.components.insert(&name.name, component);
        let old = old.map(|old| match old {
            Component::Box(old, _) => old.name.at.0,
            Component::Net(old, _) => old.name.at.0,
        });
        self.twice(name, old);
    }

    fn twice(&mut self, name: &Ident, old: Option<Span>) {
        if let Some(old) = old {
            let message = format!("`{}` is defined twice in one scope", name.name);
            self.errors.push(
                Diagnostic::new(Code::DefinedTwice, name.at.0, message, "defined again")
                    .related(old, "first defined here")
                    .help("rename one of them"),
            );
        }
    }

    fn check_keys(&mut self, entry: &MetadataEntry) {
        for (key, _) in &entry.keys {
            if !KEYS.contains(&key.as_str()) {
                let message = format!("the metadata key `{key}` means nothing here");
                let label = "in this entry";
                let warning = Diagnostic::new(Code::UnknownKey, entry.at.0, message, label);
                let known = KEYS.iter().copied();
                self.errors.push(warning.did_you_mean(key, known, str::to_owned));
            }
        }
    }

    fn unused(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            let last = self.plan.outermost.last().map(|id| self.plan.net(*id).name.clone());
            for (name, component) in &scope.components {
                // Outermost nets can all be run by name.
                let outermost = scope.path.is_empty() && matches!(component, Component::Net(..));
                if scope.used.contains(name) || outermost || last.as_deref() == Some(*name) {
                    continue;
                }
                let (kind, span) = match component {
                    Component::Box(definition, _) => ("box", definition.name.at.0),
                    Component::Net(definition, _) => ("net", definition.name.at.0),
                };
                let message = format!("the {kind} `{name}` is never used");
                let warning = Diagnostic::new(Code::Unused, span, message, "not used in its scope");
                self.errors.push(warning.help("use it behind `connect`, or remove it"));
            }
        }
    }

    /// Resolves a component of scope `depth`, if that was not done yet.
    fn component(&mut self, depth: usize, name: &'a str) -> Option<PartKind> {
        let component = self.scopes.get(depth)?.components.get(name)?.clone();
        let key = (depth, name);
        match component {
            Component::Box(_, Some(id)) => Some(PartKind::Box(id)),
            Component::Net(_, Some(id)) => Some(PartKind::Net(id)),
            _ if self.open.contains(&key) => None,
            Component::Box(definition, None) => {
                let id = self.box_definition(definition, depth);
                let scope = self.scopes.get_mut(depth)?;
                scope.components.insert(name, Component::Box(definition, Some(id)));
                Some(PartKind::Box(id))
            }
            Component::Net(definition, None) => {
                self.open.push(key);
                let inner = self.scopes.split_off(depth + 1);
                let id = self.net_definition(definition, depth);
                self.scopes.extend(inner);
                self.open.pop();
                let scope = self.scopes.get_mut(depth)?;
                scope.components.insert(name, Component::Net(definition, Some(id)));
                Some(PartKind::Net(id))
            }
        }
    }

    fn path(&self, depth: usize, name: &str) -> String {
        match self.scopes[depth].path.as_str() {
            "" => name.to_owned(),
            outer => format!("{outer}/{name}"),
        }
    }

    fn metadata_of(&self, path: &str, is_box: bool) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let rank = |subject: &Subject| match subject {
            Subject::Default => 0,
            Subject::Boxes | Subject::Nets => 1,
            Subject::Box(_) | Subject::Net(_) => 2,
        };
        for wanted in 0..3 {
            for (scope, entry) in &self.metadata {
                let inside = scope.is_empty() || path.starts_with(&format!("{scope}/"));
                let named = |name: &str| match scope.as_str() {
                    "" => path == name || path.ends_with(&format!("/{name}")),
                    scope => path == format!("{scope}/{name}"),
                };
                let meant = match &entry.subject {
                    Subject::Default => true,
                    Subject::Boxes => is_box,
                    Subject::Nets => !is_box,
                    Subject::Box(name) => is_box && named(name),
                    Subject::Net(name) => !is_box && named(name),
                };
                if inside && meant && rank(&entry.subject) == wanted {
                    found.extend(entry.keys.iter().cloned());
                }
            }
        }
        found
    }

    fn box_definition(&mut self, definition: &'a BoxDefinition, depth: usize) -> BoxId {
        let tuples = definition.input.iter().chain(&definition.outputs);
        for tuple in tuples {
            self.labels_once(tuple.labels.iter().map(|part| &part.label));
        }
        let labels = |tuple: &ast::Tuple| {
            tuple.labels.iter().map(|part| Label::from(&part.label)).collect::<Vec<_>>()
        };
        let path = self.path(depth, &definition.name.name);
        let kept = definition.input.iter().flat_map(|tuple| &tuple.labels);
        let metadata = self.metadata_of(&path, true);
        self.plan.boxes.push(BoxPlan {
            name: definition.name.name.clone(),
            path,
            input: definition.input.as_ref().map(labels),
            kept: kept.filter(|part| part.kept).map(|part| Label::from(&part.label)).collect(),
            outputs: definition.outputs.iter().map(labels).collect(),
            metadata,
            code: definition.code.as_ref().map(|c| (c.language.clone(), c.text.clone())),
        });
        BoxId(self.plan.boxes.len() - 1)
    }

    fn net_definition(&mut self, definition: &'a NetDefinition, depth: usize) -> NetId {
        let path = self.path(depth, &definition.name.name);
        let inner = definition.definitions.is_some();
        if let Some(definitions) = &definition.definitions {
            self.scope(definitions, &path);
        }
        let declared = definition.signature.as_ref().map(|signature| self.signature(signature));
        let body = self.topology(&definition.body);
        if inner {
            self.unused();
        }
        let metadata = self.metadata_of(&path, false);
        self.plan.nets.push(Net {
            name: definition.name.name.clone(),
            path,
            body,
            declared,
            metadata,
            name_span: definition.name.at.0,
            signature_span: definition
                .signature
                .as_ref()
                .map_or(definition.name.at.0, |signature| signature.at.0),
        });
        let id = NetId(self.plan.nets.len() - 1);
        if depth == 0 {
            self.plan.outermost.push(id);
        }
        id
    }

    fn labels_once<'b>(&mut self, labels: impl Iterator<Item = &'b ast::WrittenLabel>) {
        let mut seen: BTreeMap<Label, Span> = BTreeMap::new();
        for label in labels {
            if let Some(first) = seen.insert(Label::from(label), label.at.0) {
                let message = format!("the label `{}` occurs twice", Label::from(label));
                self.errors.push(
                    Diagnostic::new(Code::LabelTwice, label.at.0, message, "again")
                        .related(first, "first here")
                        .help("remove one of them"),
                );
            }
        }
    }

    // ---- types ----

    fn signature(&mut self, signature: &'a Signature) -> Vec<DeclaredMap> {
        let mut maps = Vec::new();
        self.signature_into(signature, &mut Vec::new(), &mut maps);
        maps
    }

    fn signature_into(
        &mut self,
        signature: &'a Signature,
        inside: &mut Vec<&'a str>,
        maps: &mut Vec<DeclaredMap>,
    ) {
        for item in &signature.items {
            match item {
                SignatureItem::Name(name) => {
                    let found = self
                        .scopes
                        .iter()
                        .rev()
                        .find_map(|scope| scope.signatures.get(name.name.as_str()).copied());
                    match found {
                        None => self.unknown_type(name, "typesig"),
                        Some(_) if inside.contains(&name.name.as_str()) => self.cycle(name),
                        Some(found) => {
                            inside.push(&name.name);
                            self.signature_into(&found.signature, inside, maps);
                            inside.pop();
                        }
                    }
                }
                SignatureItem::Map(map) => {
                    let inputs = map.inputs.as_ref().map(|list| {
                        list.iter()
                            .flat_map(|one| self.variants(one))
                            .map(|(set, _, _)| set)
                            .collect()
                    });
                    let outputs = map.outputs.as_ref().map(|list| {
                        list.iter()
                            .flat_map(|one| self.variants(one))
                            .map(|(variant, same, span)| DeclaredOutput { variant, same, span })
                            .collect()
                    });
                    maps.push(DeclaredMap { inputs, outputs, span: map.at.0 });
                }
            }
        }
    }

    /// The label sets that a variant or the name of a type stands for.
    fn variants(&mut self, variant: &'a ast::WrittenVariant) -> Vec<(Variant, Variant, Span)> {
        let mut found = Vec::new();
        self.variants_into(variant, variant.span(), &mut Vec::new(), &mut found);
        found
    }

    fn variants_into(
        &mut self,
        variant: &'a ast::WrittenVariant,
        span: Span,
        inside: &mut Vec<&'a str>,
        found: &mut Vec<(Variant, Variant, Span)>,
    ) {
        match variant {
            ast::WrittenVariant::Set { labels, .. } => {
                self.labels_once(labels.iter().map(|part| &part.label));
                let all = labels.iter().map(|part| Label::from(&part.label)).collect();
                let same = labels.iter().filter(|part| part.same);
                let same = same.map(|part| Label::from(&part.label)).collect();
                found.push((all, same, span));
            }
            ast::WrittenVariant::Name(name) => {
                let mut known = self.scopes.iter().rev();
                let definition =
                    known.find_map(|scope| scope.types.get(name.name.as_str())).copied();
                match definition {
                    None => self.unknown_type(name, "type"),
                    Some(_) if inside.contains(&name.name.as_str()) => self.cycle(name),
                    Some(definition) => {
                        inside.push(&name.name);
                        for one in &definition.variants {
                            if found.len() < 1000 {
                                self.variants_into(one, span, inside, found);
                            }
                        }
                        inside.pop();
                    }
                }
            }
        }
    }

    fn unknown_type(&mut self, name: &Ident, kind: &str) {
        let message = format!("no {kind} `{}` in scope", name.name);
        let types = self.scopes.iter().flat_map(|scope| {
            let signatures = scope.signatures.keys().filter(|_| kind == "typesig");
            scope.types.keys().filter(|_| kind == "type").chain(signatures).copied()
        });
        let known: Vec<&str> = types.collect();
        let error = Diagnostic::new(Code::UnknownType, name.at.0, message, "not defined")
            .did_you_mean(&name.name, known, str::to_owned)
            .help(format!("it is defined by `{kind} {} = …;`", name.name));
        self.errors.push(error);
    }

    fn cycle(&mut self, name: &Ident) {
        let message = format!("`{}` contains itself", name.name);
        let error = Diagnostic::new(Code::Cycle, name.at.0, message, "used inside itself");
        self.errors.push(error.help("repetition is written with `*` or `\\`"));
    }

    // ---- networks ----

    fn add(&mut self, kind: PartKind, span: Span) -> PartId {
        let depth = 1 + self.depth_inside(&kind);
        if depth > DEEPEST {
            let message = format!("a network more than {DEEPEST} parts deep");
            let error = Diagnostic::new(Code::TooDeep, span, message, "one level too many");
            self.errors.push(error.help("repetition is written with `*` or `!`"));
            return self.add(PartKind::Error, span);
        }
        self.plan.parts.push(Part { kind, span });
        self.depths.push(depth);
        PartId(self.plan.parts.len() - 1)
    }

    /// How deep the parts are that a part is made of.
    fn depth_inside(&self, kind: &PartKind) -> usize {
        let depth = |part: &PartId| self.depths[part.0];
        match kind {
            PartKind::Error
            | PartKind::Identity
            | PartKind::Filter(_)
            | PartKind::Box(_)
            | PartKind::Cell(_) => 0,
            PartKind::Serial(parts) | PartKind::Choice { branches: parts, .. } => {
                parts.iter().map(depth).max().unwrap_or(0)
            }
            PartKind::Star { body, .. }
            | PartKind::Feedback { body, .. }
            | PartKind::Split { body, .. } => depth(body),
            PartKind::Net(net) => depth(&self.plan.net(*net).body),
        }
    }

    fn topology(&mut self, topology: &'a Topology) -> PartId {
        let kind = match &topology.kind {
            TopologyKind::Error => PartKind::Error,
            TopologyKind::Name(name) => self.lookup(name),
            TopologyKind::Filter(filter) => self.filter(filter),
            TopologyKind::Cell(patterns) => PartKind::Cell(self.patterns(patterns)),
            TopologyKind::Serial(stages) => {
                PartKind::Serial(stages.iter().map(|stage| self.topology(stage)).collect())
            }
            TopologyKind::Choice { ordered, branches } => {
                let branches = branches.iter().map(|branch| self.topology(branch)).collect();
                PartKind::Choice { ordered: *ordered, branches }
            }
            TopologyKind::Star { ordered, body, exits } => {
                let (body, exits) = (self.topology(body), self.patterns(exits));
                PartKind::Star { ordered: *ordered, body, exits }
            }
            TopologyKind::Feedback { ordered, body, back } => {
                let (body, back) = (self.topology(body), self.patterns(back));
                PartKind::Feedback { ordered: *ordered, body, back }
            }
            TopologyKind::Split { ordered, body, range, .. } => {
                let body = self.topology(body);
                let range = match range {
                    ast::Range::Index(tag) => SplitRange::Index(tag.into()),
                    ast::Range::Between(low, high) => SplitRange::Between(low.into(), high.into()),
                };
                PartKind::Split { ordered: *ordered, body, range }
            }
            // There is one machine, so the place says nothing.
            TopologyKind::Placed { body, .. } => return self.topology(body),
        };
        self.add(kind, topology.at.0)
    }

    fn lookup(&mut self, name: &'a Ident) -> PartKind {
        let word = name.name.as_str();
        let depth = self.scopes.iter().rposition(|scope| scope.components.contains_key(word));
        let Some(depth) = depth else {
            let known: Vec<&str> =
                self.scopes.iter().flat_map(|scope| scope.components.keys().copied()).collect();
            let message = format!("no box or net `{word}` in scope");
            self.errors.push(
                Diagnostic::new(Code::UnknownName, name.at.0, message, "not defined")
                    .did_you_mean(word, known, str::to_owned)
                    .help(format!("a box is declared with `box {word} (…);`")),
            );
            return PartKind::Error;
        };
        self.scopes[depth].used.insert(word);
        let found = self.component(depth, word);
        found.unwrap_or_else(|| {
            self.cycle(name);
            PartKind::Error
        })
    }
}

fn component_name(definition: &Definition) -> Option<&str> {
    match definition {
        Definition::Box(definition) => Some(&definition.name.name),
        Definition::Net(definition) => Some(&definition.name.name),
        _ => None,
    }
}
