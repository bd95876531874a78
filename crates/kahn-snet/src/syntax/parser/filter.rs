//! Filters and tag expressions.
//!
//! The `>` that ends an expression is also an operator. Outside parentheses it is an operator
//! only if an operand follows; so `<a > 4>` is a comparison and its end.

use super::{Kind, Parser};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::Span;
use crate::syntax::ast::{
    Arm, BinaryOperator, Expression, ExpressionKind, Filter, Item, ItemValue, Label, LabelKind,
    Place, Template, UnaryOperator,
};

/// The most operations of one expression: every phase recurses over a sum.
const MOST_OPERATIONS: usize = 1000;

impl Parser<'_> {
    /// `[]` or `[pattern -> …]`, from its opening.
    pub(super) fn filter(&mut self) -> Option<Filter> {
        let bracket = self.next;
        let open = self.advance();
        if self.eat(Kind::CloseBracket) {
            return Some(Filter { pattern: None, arms: Vec::new() });
        }
        let pattern = self.variant(false)?;
        let help = match self.peek() {
            Kind::Comma => {
                let closing = self.closing_of(bracket).unwrap_or(self.next);
                let inside = self.text(open.to(self.tokens[closing].span)).trim_matches(['[', ']']);
                Some(format!("records are joined by a synchro-cell: `[| {} |]`", inside.trim()))
            }
            Kind::CloseBracket => {
                let pattern = self.text(open.to(self.last_span()));
                Some(format!("say what it makes: `{pattern} -> {{b}}]`; `[]` passes all on"))
            }
            _ => None,
        };
        self.arrow("`->`", help.as_deref())?;
        let arms = self.arms(open)?;
        Some(Filter { pattern: Some(pattern), arms })
    }

    fn arms(&mut self, open: Span) -> Option<Vec<Arm>> {
        let mut arms = Vec::new();
        while self.eat(Kind::If) {
            let guard = Some(self.guard()?);
            self.expect(Kind::Then, "`then`")?;
            arms.push(Arm { guard, records: self.templates()? });
            if self.peek() != Kind::Else {
                let help = "the last arm of a filter has no guard; `else` alone drops the record";
                self.unexpected_with("`;` or `else`", Some(help));
                return None;
            }
            self.advance();
        }
        arms.push(Arm { guard: None, records: self.templates()? });
        self.close(Kind::CloseBracket, open, "`;` or `]`")?;
        Some(arms)
    }

    fn templates(&mut self) -> Option<Vec<Template>> {
        let mut templates = Vec::new();
        if self.peek() == Kind::OpenBrace {
            templates.push(self.template()?);
            while self.peek() == Kind::Semicolon && !self.ends_at(1) {
                self.advance();
                templates.push(self.template()?);
            }
        }
        Some(templates)
    }

    /// Whether the definition must have ended before the token `ahead`.
    fn ends_at(&self, ahead: usize) -> bool {
        let next = self.peek_at(ahead);
        next.defines() || matches!(next, Kind::End | Kind::CloseBrace | Kind::Connect)
    }

    fn template(&mut self) -> Option<Template> {
        let open = self.expect(Kind::OpenBrace, "a record to make: `{a, b=c, <t=1>}`")?;
        let mut items = Vec::new();
        while self.peek() != Kind::CloseBrace {
            items.push(self.item()?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.close(Kind::CloseBrace, open, "`,` or `}`")?;
        Some(Template { items, at: self.since(open) })
    }

    fn item(&mut self) -> Option<Item> {
        let first = self.next;
        if self.peek() != Kind::Less {
            let label = self.label()?;
            if !self.eat(Kind::Equal) {
                return Some(Item { label, value: ItemValue::Same });
            }
            let value = (self.peek() == Kind::Ident).then(|| self.label()).flatten();
            if value.is_none() || self.computes() {
                let text = self.rest_of_item(first).replacen(" =", "=", 1);
                let help = format!("only tags are computed, and they are written `<{text}>`");
                let what = if value.is_none() { "the name of a field" } else { "`,` or `}`" };
                self.unexpected_with(what, Some(&help));
                return None;
            }
            return Some(Item { label, value: ItemValue::Field(value?) });
        }
        let (start, kind, name) = self.open_tag()?;
        let value = match self.peek() {
            Kind::Equal => {
                self.advance();
                ItemValue::Expression(self.expression()?)
            }
            Kind::Greater => ItemValue::Same,
            _ => {
                let help = format!("a value follows `=`: `<{0}={0} + 1>`", name.name);
                self.unexpected_with("`=` or `>`", Some(&help));
                return None;
            }
        };
        self.expect(Kind::Greater, "an operator or `>`")?;
        if self.peek() == Kind::Equal {
            let text = self.rest_of_item(first).replacen('>', "", 1);
            let help = format!("the value stands inside the brackets: `{text}>`");
            self.unexpected_with("`,` or `}`", Some(&help));
            return None;
        }
        Some(Item { label: Label { kind, name: name.name, at: self.since(start) }, value })
    }

    /// Whether an operator follows that only tags know.
    fn computes(&self) -> bool {
        let more = [Kind::Less, Kind::Greater, Kind::Question, Kind::Equal, Kind::OpenParen];
        self.operator(true).is_some() || more.contains(&self.peek())
    }

    /// The text from the token `first` to before the `,` or the bracket behind it.
    fn rest_of_item(&self, first: usize) -> &str {
        let ends = [Kind::Comma, Kind::CloseBrace, Kind::CloseBracket, Kind::Semicolon, Kind::End];
        let mut rest = self.tokens[first..].iter().take_while(|token| !ends.contains(&token.kind));
        let Some(start) = rest.next() else { return "" };
        self.text(start.span.to(rest.last().map_or(start.span, |last| last.span)))
    }

    /// `<expression>`
    pub(super) fn guard(&mut self) -> Option<Expression> {
        self.expect(Kind::Less, "`<` and a tag expression")?;
        let guard = self.expression()?;
        self.expect(Kind::Greater, "an operator or `>`")?;
        Some(guard)
    }

    fn expression(&mut self) -> Option<Expression> {
        self.operations = 0;
        self.deeper(|parser| parser.conditional(false))
    }

    fn conditional(&mut self, inside: bool) -> Option<Expression> {
        let start = self.span();
        let condition = self.binary(1, inside)?;
        if !self.eat(Kind::Question) {
            return Some(condition);
        }
        let yes = self.deeper(|parser| parser.conditional(inside))?;
        self.expect(Kind::Colon, "`:`")?;
        let no = self.deeper(|parser| parser.conditional(inside))?;
        let kind = ExpressionKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no));
        Some(Expression { kind, at: self.since(start) })
    }

    fn binary(&mut self, level: u8, inside: bool) -> Option<Expression> {
        if level > 7 {
            return self.unary();
        }
        let start = self.span();
        let mut left = self.binary(level + 1, inside)?;
        self.one_equal();
        while let Some(operator) = self.operator(inside).filter(|found| found.level() == level) {
            self.advance();
            self.operations += 1;
            if self.operations > MOST_OPERATIONS {
                let message = format!("more than {MOST_OPERATIONS} operations in one expression");
                let error = Diagnostic::new(Code::TooDeep, self.span(), message, "one too many");
                self.errors.push(error.help("compute a part of it in a filter before this one"));
                return None;
            }
            let right = self.binary(level + 1, inside)?;
            let kind = ExpressionKind::Binary(operator, Box::new(left), Box::new(right));
            left = Expression { kind, at: self.since(start) };
        }
        Some(left)
    }

    /// Says that `=` compares nothing, and reads on as if it were `==`.
    fn one_equal(&mut self) {
        if self.peek() == Kind::Equal {
            self.unexpected_with("an operator or `>`", Some("did you mean `==`?"));
            self.tokens[self.next].kind = Kind::EqualEqual;
        }
    }

    fn operator(&self, inside: bool) -> Option<BinaryOperator> {
        let followed = || inside || self.operand_at(1);
        Some(match self.peek() {
            Kind::BarBar => BinaryOperator::Or,
            Kind::AndAnd => BinaryOperator::And,
            Kind::EqualEqual => BinaryOperator::Equal,
            Kind::NotEqual => BinaryOperator::NotEqual,
            Kind::Less => BinaryOperator::Less,
            Kind::LessEqual => BinaryOperator::LessEqual,
            Kind::Greater if followed() => BinaryOperator::Greater,
            Kind::GreaterEqual if followed() => BinaryOperator::GreaterEqual,
            Kind::Plus => BinaryOperator::Add,
            Kind::Minus => BinaryOperator::Subtract,
            Kind::Star => BinaryOperator::Multiply,
            Kind::Slash => BinaryOperator::Divide,
            Kind::Percent => BinaryOperator::Remainder,
            Kind::Ident => match self.text(self.span()) {
                "min" => BinaryOperator::Minimum,
                "max" => BinaryOperator::Maximum,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Whether an operand begins `ahead` tokens from here.
    fn operand_at(&self, ahead: usize) -> bool {
        match self.peek_at(ahead) {
            Kind::Int | Kind::Ident | Kind::Hash | Kind::OpenParen => true,
            Kind::Minus | Kind::Bang | Kind::BangBang => {
                ahead < 4 && self.peek_at(ahead + 1) != Kind::Less && self.operand_at(ahead + 1)
            }
            _ => false,
        }
    }

    fn unary(&mut self) -> Option<Expression> {
        let start = self.span();
        let negate = |operator, operand: Expression| {
            let span = start.to(operand.at.0);
            Expression { kind: ExpressionKind::Unary(operator, Box::new(operand)), at: Place(span) }
        };
        match self.peek() {
            Kind::Minus => {
                self.advance();
                let operand = self.deeper(Self::unary)?;
                Some(match operand.kind {
                    ExpressionKind::Integer(value) if value > 0 => {
                        Expression { kind: ExpressionKind::Integer(-value), at: self.since(start) }
                    }
                    _ => negate(UnaryOperator::Negate, operand),
                })
            }
            Kind::Bang => {
                self.advance();
                let operand = self.deeper(Self::unary)?;
                Some(negate(UnaryOperator::Not, operand))
            }
            Kind::BangBang => {
                self.advance();
                let operand = self.deeper(Self::unary)?;
                Some(negate(UnaryOperator::Not, negate(UnaryOperator::Not, operand)))
            }
            Kind::Ident if self.text(start) == "abs" && self.operand_at(1) => {
                self.advance();
                let operand = self.deeper(Self::unary)?;
                Some(negate(UnaryOperator::Absolute, operand))
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Option<Expression> {
        let start = self.span();
        let kind = match self.peek() {
            Kind::Int => ExpressionKind::Integer(self.integer()?),
            Kind::Hash | Kind::Ident => {
                let binding = self.eat(Kind::Hash);
                let kind = if binding { LabelKind::BindingTag } else { LabelKind::Tag };
                let name = self.ident("the name of a tag")?.name;
                ExpressionKind::Tag(Label { kind, name, at: self.since(start) })
            }
            Kind::OpenParen => {
                self.advance();
                let mut inner = self.deeper(|parser| parser.conditional(true))?;
                self.close(Kind::CloseParen, start, "an operator or `)`")?;
                inner.at = self.since(start);
                return Some(inner);
            }
            _ => {
                let help = "tags stand without angle brackets in expressions: `<n = n + 1>`";
                let help = (self.peek() == Kind::Less).then_some(help);
                self.unexpected_with("a number, a tag or `(`", help);
                return None;
            }
        };
        Some(Expression { kind, at: self.since(start) })
    }
}
