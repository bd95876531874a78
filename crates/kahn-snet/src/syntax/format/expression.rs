//! Tag expressions as text, with as few brackets as they need.

use crate::syntax::ast::{Expression, ExpressionKind, LabelKind, UnaryOperator, WrittenLabel};

/// The expression, as it stands between `<` and `>`.
pub(crate) fn print(expression: &Expression) -> String {
    at(expression, 0)
}

/// The expression, in brackets if it binds more loosely than `least`.
fn at(expression: &Expression, least: u8) -> String {
    let (own, text) = match &expression.kind {
        ExpressionKind::Integer(value) if *value < 0 => (8, value.to_string()),
        ExpressionKind::Integer(value) => (9, value.to_string()),
        ExpressionKind::Tag(WrittenLabel { kind, name, .. }) => {
            (9, if *kind == LabelKind::BindingTag { format!("#{name}") } else { name.clone() })
        }
        ExpressionKind::Unary(operator, operand) => {
            let text = match operator {
                UnaryOperator::Negate => negated(operand),
                UnaryOperator::Not => format!("!{}", at(operand, 8)),
                UnaryOperator::Absolute => format!("abs {}", at(operand, 8)),
            };
            (8, text)
        }
        ExpressionKind::Binary(operator, left, right) => {
            let own = operator.level();
            let text = format!("{} {} {}", at(left, own), operator.text(), at(right, own + 1));
            (own, text)
        }
        ExpressionKind::Conditional(condition, yes, no) => {
            (0, format!("{} ? {} : {}", at(condition, 1), at(yes, 0), at(no, 0)))
        }
    };
    if own < least { format!("({text})") } else { text }
}

/// `-x`, so that it is not read as a number.
fn negated(operand: &Expression) -> String {
    match &operand.kind {
        ExpressionKind::Integer(_) => format!("-({})", at(operand, 0)),
        _ => format!("-{}", at(operand, 9)),
    }
}
