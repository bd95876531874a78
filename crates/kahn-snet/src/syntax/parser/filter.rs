//! Filters and tag expressions.
//!
//! The `>` that ends an expression is also an operator. Outside parentheses it is an operator
//! only if an operand follows; so `<a > 4>` is a comparison and its end.

use super::{Kind, Parser};
use crate::syntax::Span;
use crate::syntax::ast::{
    Arm, BinaryOperator, Expression, ExpressionKind, Filter, Item, ItemValue, Label, LabelKind,
    Place, Template, UnaryOperator,
};

impl Parser<'_> {
    /// `[]` or `[pattern -> …]`, from its opening.
    pub(super) fn filter(&mut self) -> Option<Filter> {
        let open = self.advance();
        if self.eat(Kind::CloseBracket) {
            return Some(Filter { pattern: None, arms: Vec::new() });
        }
        let pattern = self.variant(false);
        let arms = pattern.is_some().then(|| self.arms(open)).flatten();
        if arms.is_none() {
            self.skip_to(&[Kind::CloseBracket, Kind::Semicolon, Kind::Net, Kind::Box]);
            self.eat(Kind::CloseBracket);
        }
        Some(Filter { pattern: Some(pattern?), arms: arms? })
    }

    fn arms(&mut self, open: Span) -> Option<Vec<Arm>> {
        self.expect(Kind::Arrow, "`->`")?;
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
            while self.eat(Kind::Semicolon) {
                templates.push(self.template()?);
            }
        }
        Some(templates)
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
        if self.peek() != Kind::Less {
            let label = self.label()?;
            if !self.eat(Kind::Equal) {
                return Some(Item { label, value: ItemValue::Same });
            }
            if self.peek() != Kind::Ident {
                let help = "only tags are computed; a field is given another field: `a=b`";
                self.unexpected_with("the name of a field", Some(help));
                return None;
            }
            let value = ItemValue::Field(self.label()?);
            return Some(Item { label, value });
        }
        let (start, kind, name) = self.open_tag()?;
        let value = match self.peek() {
            Kind::Equal => {
                self.advance();
                ItemValue::Expression(self.expression()?)
            }
            _ => ItemValue::Same,
        };
        self.expect(Kind::Greater, "an operator or `>`")?;
        Some(Item { label: Label { kind, name: name.name, at: self.since(start) }, value })
    }

    /// `<expression>`
    pub(super) fn guard(&mut self) -> Option<Expression> {
        self.expect(Kind::Less, "`<` and a tag expression")?;
        let guard = self.expression()?;
        self.expect(Kind::Greater, "an operator or `>`")?;
        Some(guard)
    }

    fn expression(&mut self) -> Option<Expression> {
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
        let mut steps = 0;
        while let Some(operator) = self.operator(inside).filter(|found| found.level() == level) {
            self.advance();
            steps += 1;
            if steps == super::DEEPEST {
                let deepest = self.depth;
                self.depth = super::DEEPEST;
                self.deeper(|_| None::<()>);
                self.depth = deepest;
                return None;
            }
            let right = self.binary(level + 1, inside)?;
            let kind = ExpressionKind::Binary(operator, Box::new(left), Box::new(right));
            left = Expression { kind, at: self.since(start) };
        }
        Some(left)
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
