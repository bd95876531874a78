//! Filters, patterns and guards: which labels they name, and where their values come from.

use std::collections::BTreeMap;

use super::Resolver;
use crate::diagnostics::{Code, Diagnostic};
use crate::plan::{ArmPlan, FilterPlan, PartKind, Pattern, ValueSource};
use crate::syntax::ast::{self, Expression, ExpressionKind, Guarded, ItemValue, LabelKind};
use crate::types::{Label, Variant};

impl<'a> Resolver<'a> {
    pub(super) fn patterns(&mut self, list: &'a [Guarded]) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        for Guarded { pattern, guard } in list {
            for (variant, _, span) in self.variants(pattern) {
                if let Some(guard) = guard {
                    self.tags_in(guard, &variant, Code::BadGuard);
                }
                patterns.push(Pattern { variant, guard: guard.clone(), span });
            }
        }
        patterns
    }

    /// Checks that every tag of an expression is in the pattern.
    fn tags_in(&mut self, expression: &Expression, pattern: &Variant, code: Code) {
        match &expression.kind {
            ExpressionKind::Integer(_) => {}
            ExpressionKind::Tag(label) => {
                if !pattern.has(&label.into()) {
                    self.not_in_pattern(label, pattern, code);
                }
            }
            ExpressionKind::Unary(_, operand) => self.tags_in(operand, pattern, code),
            ExpressionKind::Binary(_, left, right) => {
                self.tags_in(left, pattern, code);
                self.tags_in(right, pattern, code);
            }
            ExpressionKind::Conditional(condition, yes, no) => {
                for part in [condition, yes, no] {
                    self.tags_in(part, pattern, code);
                }
            }
        }
    }

    fn not_in_pattern(&mut self, label: &ast::WrittenLabel, pattern: &Variant, code: Code) {
        let shown = Label::from(label);
        let message = format!("`{shown}` is not in the pattern {pattern}");
        let mut error = Diagnostic::new(code, label.at.0, message, "not taken by the pattern");
        let same_name = pattern.0.iter().find(|known| *known.name == *label.name);
        let of_kind = pattern.0.iter().filter(|known| known.kind == label.kind);
        let close = crate::diagnostics::closest(&label.name, of_kind.map(|known| &*known.name));
        error = match (same_name, close) {
            _ if matches!(&*label.name, "true" | "false") => {
                error.help("there are no booleans: write 1 or 0")
            }
            (Some(other), _) if label.kind == LabelKind::Field => {
                error.help(format!("the pattern has the tag `{other}`"))
            }
            (Some(other), _) if other.kind == LabelKind::Field => error.help(format!(
                "the pattern has the field `{other}`; S-Net computes with tags only"
            )),
            (Some(other), _) => {
                let word = if other.kind == LabelKind::BindingTag { "#" } else { "" };
                error.help(format!("did you mean `{word}{}`?", other.name))
            }
            (None, Some(word)) => error.help(format!("did you mean `{word}`?")),
            (None, None) => {
                error.help(format!("add it to the pattern: {}", pattern.with([&shown])))
            }
        };
        self.errors.push(error);
    }

    pub(super) fn filter(&mut self, filter: &'a ast::Filter) -> PartKind {
        let Some(written) = &filter.pattern else { return PartKind::Identity };
        let found = self.variants(written);
        let [(pattern, _, _)] = found.as_slice() else {
            if let ast::WrittenVariant::Name(name) = written
                && !found.is_empty()
            {
                let message = format!("a filter takes one variant; `{}` has several", name.name);
                let error = Diagnostic::new(Code::Unexpected, name.at.0, message, "several");
                self.errors.push(error.help("write one filter for each, joined by `|`"));
            }
            return PartKind::Error;
        };
        let pattern = pattern.clone();
        let mut arms = Vec::new();
        for arm in &filter.arms {
            if let Some(guard) = &arm.guard {
                self.tags_in(guard, &pattern, Code::NotInPattern);
            }
            let records = arm.records.iter().map(|record| self.template(record, &pattern));
            arms.push(ArmPlan { records: records.collect(), guard: arm.guard.clone() });
        }
        PartKind::Filter(FilterPlan { pattern, arms })
    }

    fn template(&mut self, record: &ast::Template, pattern: &Variant) -> Vec<(Label, ValueSource)> {
        let mut made: BTreeMap<Label, ValueSource> = BTreeMap::new();
        for item in &record.items {
            let label = Label::from(&item.label);
            let source = match &item.value {
                ItemValue::Same if pattern.has(&label) => ValueSource::Label(label.clone()),
                ItemValue::Same if label.kind != LabelKind::Field => ValueSource::Zero,
                ItemValue::Same => {
                    self.not_in_pattern(&item.label, pattern, Code::NotInPattern);
                    continue;
                }
                ItemValue::Field(from) => {
                    if !pattern.has(&from.into()) {
                        self.not_in_pattern(from, pattern, Code::NotInPattern);
                        continue;
                    }
                    ValueSource::Label(from.into())
                }
                ItemValue::Expression(value) => {
                    self.tags_in(value, pattern, Code::NotInPattern);
                    ValueSource::Expression(value.clone())
                }
            };
            if made.insert(label.clone(), source).is_some() {
                let message = format!("`{label}` is given twice in one record");
                let span = item.label.at.0;
                let error = Diagnostic::new(Code::GivenTwice, span, message, "given again");
                self.errors.push(error.help("a second record is written after `;`"));
            }
        }
        made.into_iter().collect()
    }
}
