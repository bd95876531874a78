//! Filters and tag expressions.
//!
//! The `>` that ends an expression is also an operator. Outside parentheses it is an operator
//! only if an operand follows; so `<a > 4>` is a comparison and its end.

use super::{Parser, TokenKind};
use crate::diagnostics::{Code, Diagnostic};
use crate::syntax::Span;
use crate::syntax::ast::{
    Arm, BinaryOperator, Expression, ExpressionKind, Filter, Item, ItemValue, LabelKind, Place,
    Template, UnaryOperator, WrittenLabel,
};

/// The most operations of one expression: every phase recurses over a sum.
const MOST_OPERATIONS: usize = 1000;

impl Parser<'_> {
    /// `[]` or `[pattern -> …]`, from its opening.
    pub(super) fn filter(&mut self) -> Option<Filter> {
        let bracket = self.next;
        let open = self.advance();
        if self.eat(TokenKind::CloseBracket) {
            return Some(Filter { pattern: None, arms: Vec::new() });
        }
        let pattern = self.variant(false)?;
        let help = match self.peek() {
            TokenKind::Comma => {
                let closing = self.closing_of(bracket).unwrap_or(self.next);
                let inside = self.text(open.to(self.tokens[closing].span)).trim_matches(['[', ']']);
                Some(format!("records are joined by a synchro-cell: `[| {} |]`", inside.trim()))
            }
            TokenKind::CloseBracket => {
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
        while self.eat(TokenKind::If) {
            let guard = Some(self.guard()?);
            self.expect(TokenKind::Then, "`then`")?;
            arms.push(Arm { guard, records: self.templates()? });
            if self.peek() != TokenKind::Else {
                let help = "the last arm of a filter has no guard; `else` alone drops the record";
                self.unexpected_with("`;` or `else`", Some(help));
                return None;
            }
            self.advance();
        }
        arms.push(Arm { guard: None, records: self.templates()? });
        self.close(TokenKind::CloseBracket, open, "`;` or `]`")?;
        Some(arms)
    }

    fn templates(&mut self) -> Option<Vec<Template>> {
        let mut templates = Vec::new();
        if self.peek() == TokenKind::OpenBrace {
            templates.push(self.template()?);
            while self.peek() == TokenKind::Semicolon && !self.ends_at(1) {
                self.advance();
                templates.push(self.template()?);
            }
        }
        Some(templates)
    }

    /// Whether the definition must have ended before the token `ahead`.
    fn ends_at(&self, ahead: usize) -> bool {
        let next = self.peek_at(ahead);
        next.defines()
            || matches!(next, TokenKind::End | TokenKind::CloseBrace | TokenKind::Connect)
    }

    fn template(&mut self) -> Option<Template> {
        let open = self.expect(TokenKind::OpenBrace, "a record to make: `{a, b=c, <t=1>}`")?;
        let mut items = Vec::new();
        while self.peek() != TokenKind::CloseBrace {
            items.push(self.item()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close(TokenKind::CloseBrace, open, "`,` or `}`")?;
        Some(Template { items, at: self.since(open) })
    }

    fn item(&mut self) -> Option<Item> {
        let first = self.next;
        if self.peek() != TokenKind::Less {
            let label = self.label()?;
            if !self.eat(TokenKind::Equal) {
                return Some(Item { label, value: ItemValue::Same });
            }
            let value = (self.peek() == TokenKind::Ident).then(|| self.label()).flatten();
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
            TokenKind::Equal => {
                self.advance();
                ItemValue::Expression(self.expression()?)
            }
            TokenKind::Greater => ItemValue::Same,
            _ => {
                let help = format!("a value follows `=`: `<{0}={0} + 1>`", name.name);
                self.unexpected_with("`=` or `>`", Some(&help));
                return None;
            }
        };
        self.expect(TokenKind::Greater, "an operator or `>`")?;
        if self.peek() == TokenKind::Equal {
            let text = self.rest_of_item(first).replacen('>', "", 1);
            let help = format!("the value stands inside the brackets: `{text}>`");
            self.unexpected_with("`,` or `}`", Some(&help));
            return None;
        }
        Some(Item { label: WrittenLabel { kind, name: name.name, at: self.since(start) }, value })
    }

    /// Whether an operator follows that only tags know.
    fn computes(&self) -> bool {
        let more = [
            TokenKind::Less,
            TokenKind::Greater,
            TokenKind::Question,
            TokenKind::Equal,
            TokenKind::OpenParen,
        ];
        self.operator(true).is_some() || more.contains(&self.peek())
    }

    /// The text from the token `first` to before the `,` or the bracket behind it.
    fn rest_of_item(&self, first: usize) -> &str {
        let ends = [
            TokenKind::Comma,
            TokenKind::CloseBrace,
            TokenKind::CloseBracket,
            TokenKind::Semicolon,
            TokenKind::End,
        ];
        let mut rest = self.tokens[first..].iter().take_while(|token| !ends.contains(&token.kind));
        let Some(start) = rest.next() else { return "" };
        self.text(start.span.to(rest.last().map_or(start.span, |last| last.span)))
    }

    /// `<expression>`
    pub(super) fn guard(&mut self) -> Option<Expression> {
        self.expect(TokenKind::Less, "`<` and a tag expression")?;
        let guard = self.expression()?;
        self.expect(TokenKind::Greater, "an operator or `>`")?;
        Some(guard)
    }

    fn expression(&mut self) -> Option<Expression> {
        self.operations = 0;
        self.deeper(|parser| parser.conditional(false))
    }

    fn conditional(&mut self, inside: bool) -> Option<Expression> {
        let start = self.span();
        let condition = self.binary(1, inside)?;
        if !self.eat(TokenKind::Question) {
            return Some(condition);
        }
        let yes = self.deeper(|parser| parser.conditional(inside))?;
        self.expect(TokenKind::Colon, "`:`")?;
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
        if self.peek() == TokenKind::Equal {
            self.unexpected_with("an operator or `>`", Some("did you mean `==`?"));
            self.tokens[self.next].kind = TokenKind::EqualEqual;
        }
    }

    fn operator(&self, inside: bool) -> Option<BinaryOperator> {
        let followed = || inside || self.operand_at(1);
        Some(match self.peek() {
            TokenKind::BarBar => BinaryOperator::Or,
            TokenKind::AndAnd => BinaryOperator::And,
            TokenKind::EqualEqual => BinaryOperator::Equal,
            TokenKind::NotEqual => BinaryOperator::NotEqual,
            TokenKind::Less => BinaryOperator::Less,
            TokenKind::LessEqual => BinaryOperator::LessEqual,
            TokenKind::Greater if followed() => BinaryOperator::Greater,
            TokenKind::GreaterEqual if followed() => BinaryOperator::GreaterEqual,
            TokenKind::Plus => BinaryOperator::Add,
            TokenKind::Minus => BinaryOperator::Subtract,
            TokenKind::Star => BinaryOperator::Multiply,
            TokenKind::Slash => BinaryOperator::Divide,
            TokenKind::Percent => BinaryOperator::Remainder,
            TokenKind::Ident => match self.text(self.span()) {
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
            TokenKind::Int | TokenKind::Ident | TokenKind::Hash | TokenKind::OpenParen => true,
            TokenKind::Minus | TokenKind::Bang | TokenKind::BangBang => {
                ahead < 4
                    && self.peek_at(ahead + 1) != TokenKind::Less
                    && self.operand_at(ahead + 1)
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
            TokenKind::Minus => {
                self.advance();
                let operand = self.deeper(Self::unary)?;
                Some(match operand.kind {
                    ExpressionKind::Integer(value) if value > 0 => {
                        Expression { kind: ExpressionKind::Integer(-value), at: self.since(start) }
                    }
                    _ => negate(UnaryOperator::Negate, operand),
                })
            }
            TokenKind::Bang => {
                self.advance();
                let operand = self.deeper(Self::unary)?;
                Some(negate(UnaryOperator::Not, operand))
            }
            TokenKind::BangBang => {
                self.advance();
                let operand = self.deeper(Self::unary)?;
                Some(negate(UnaryOperator::Not, negate(UnaryOperator::Not, operand)))
            }
            TokenKind::Ident if self.text(start) == "abs" && self.operand_at(1) => {
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
            TokenKind::Int => ExpressionKind::Integer(self.integer()?),
            TokenKind::Hash | TokenKind::Ident => {
                let binding = self.eat(TokenKind::Hash);
                let kind = if binding { LabelKind::BindingTag } else { LabelKind::Tag };
                let name = self.ident("the name of a tag")?.name;
                ExpressionKind::Tag(WrittenLabel { kind, name, at: self.since(start) })
            }
            TokenKind::OpenParen => {
                self.advance();
                let mut inner = self.deeper(|parser| parser.conditional(true))?;
                self.close(TokenKind::CloseParen, start, "an operator or `)`")?;
                inner.at = self.since(start);
                return Some(inner);
            }
            _ => {
                let help = "tags stand without angle brackets in expressions: `<n = n + 1>`";
                let help = (self.peek() == TokenKind::Less).then_some(help);
                self.unexpected_with("a number, a tag or `(`", help);
                return None;
            }
        };
        Some(Expression { kind, at: self.since(start) })
    }
}
