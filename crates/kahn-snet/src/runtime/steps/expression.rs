//! Tag expressions, bound to the positions of a shape.

use super::shape::{Position, Shape, Shapes};
use crate::syntax::ast::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};

/// An expression over the tags of a record.
#[derive(Debug)]
pub(crate) enum BoundCode {
    Integer(i64),
    Tag(usize),
    Unary(UnaryOperator, Box<BoundCode>),
    Binary(BinaryOperator, Box<BoundCode>, Box<BoundCode>),
    Conditional(Box<BoundCode>, Box<BoundCode>, Box<BoundCode>),
}

/// Why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// The result does not fit 64 bits.
    #[error("a tag overflows 64 bits")]
    Overflow,
    /// A division or remainder by zero.
    #[error("a tag is divided by zero")]
    DivisionByZero,
}

impl BoundCode {
    /// Binds an expression; the labels in it were checked to be in the pattern.
    pub(crate) fn bind(expression: &Expression, shape: &Shape, shapes: &Shapes) -> Self {
        let bind = |part: &Expression| Box::new(Self::bind(part, shape, shapes));
        match &expression.kind {
            ExpressionKind::Integer(value) => Self::Integer(*value),
            ExpressionKind::Tag(label) => match shape.position(shapes.label(&label.into())) {
                Some(Position::Tag(index)) => Self::Tag(index),
                _ => Self::Integer(0),
            },
            ExpressionKind::Unary(operator, operand) => Self::Unary(*operator, bind(operand)),
            ExpressionKind::Binary(operator, left, right) => {
                Self::Binary(*operator, bind(left), bind(right))
            }
            ExpressionKind::Conditional(condition, yes, no) => {
                Self::Conditional(bind(condition), bind(yes), bind(no))
            }
        }
    }

    /// Computes the value; logical operators skip what they need not know.
    pub(crate) fn value(&self, tags: &[i64]) -> Result<i64, NoValue> {
        Ok(match self {
            Self::Integer(value) => *value,
            Self::Tag(index) => tags[*index],
            Self::Unary(operator, operand) => {
                let value = operand.operand(tags)?;
                match operator {
                    UnaryOperator::Negate => value.checked_neg().ok_or(NoValue::Overflow)?,
                    UnaryOperator::Not => i64::from(value == 0),
                    UnaryOperator::Absolute => value.checked_abs().ok_or(NoValue::Overflow)?,
                }
            }
            Self::Binary(BinaryOperator::And, left, right) => {
                i64::from(left.operand(tags)? != 0 && right.operand(tags)? != 0)
            }
            Self::Binary(BinaryOperator::Or, left, right) => {
                i64::from(left.operand(tags)? != 0 || right.operand(tags)? != 0)
            }
            Self::Binary(operator, left, right) => {
                binary(*operator, left.operand(tags)?, right.operand(tags)?)?
            }
            Self::Conditional(condition, yes, no) => {
                let taken = if condition.operand(tags)? != 0 { yes } else { no };
                taken.operand(tags)?
            }
        })
    }

    /// The value of a part; most are a number or a tag, which takes no call.
    #[inline]
    fn operand(&self, tags: &[i64]) -> Result<i64, NoValue> {
        match self {
            Self::Integer(value) => Ok(*value),
            Self::Tag(index) => Ok(tags[*index]),
            _ => self.value(tags),
        }
    }
}

fn binary(operator: BinaryOperator, left: i64, right: i64) -> Result<i64, NoValue> {
    let divide = |result: Option<i64>| {
        result.ok_or(if right == 0 { NoValue::DivisionByZero } else { NoValue::Overflow })
    };
    Ok(match operator {
        BinaryOperator::Or => i64::from(left != 0 || right != 0),
        BinaryOperator::And => i64::from(left != 0 && right != 0),
        BinaryOperator::Equal => i64::from(left == right),
        BinaryOperator::NotEqual => i64::from(left != right),
        BinaryOperator::Less => i64::from(left < right),
        BinaryOperator::LessEqual => i64::from(left <= right),
        BinaryOperator::Greater => i64::from(left > right),
        BinaryOperator::GreaterEqual => i64::from(left >= right),
        BinaryOperator::Add => left.checked_add(right).ok_or(NoValue::Overflow)?,
        BinaryOperator::Subtract => left.checked_sub(right).ok_or(NoValue::Overflow)?,
        BinaryOperator::Multiply => left.checked_mul(right).ok_or(NoValue::Overflow)?,
        BinaryOperator::Divide => divide(left.checked_div(right))?,
        BinaryOperator::Remainder => divide(left.checked_rem(right))?,
        BinaryOperator::Minimum => left.min(right),
        BinaryOperator::Maximum => left.max(right),
    })
}
