//! The syntax tree. Every part knows its place; equality ignores places.

use super::Span;

/// A place that is equal to every other, so that trees compare by what was written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place(pub Span);

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Place {}

/// A name and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub name: String,
    /// Its place.
    pub at: Place,
}

/// Tells fields, tags and binding tags apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelKind {
    /// A value of the box language, opaque to S-Net: `a`.
    Field,
    /// An integer that S-Net computes with: `<t>`.
    Tag,
    /// A tag that must be matched exactly and is never inherited: `<#t>`.
    BindingTag,
}

/// A label as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenLabel {
    /// Its kind.
    pub kind: LabelKind,
    /// Its name, without the angle brackets.
    pub name: String,
    /// Its place.
    pub at: Place,
}

/// A file, or the definitions inside a net.
pub type Definitions = Vec<Definition>;

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// `box name (…);`
    Box(BoxDefinition),
    /// `net name (…) { … } connect …;`
    Net(NetDefinition),
    /// `type name = …;`
    Type(TypeDefinition),
    /// `typesig name = …;`
    TypeSig(TypeSigDefinition),
    /// `<metadata> … </metadata>`
    Metadata(Metadata),
}

/// A box: a function of another language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxDefinition {
    /// Its name.
    pub name: Ident,
    /// What it takes; none for an initialiser.
    pub input: Option<Tuple>,
    /// What it may emit, in the order in which boxes number it.
    pub outputs: Vec<Tuple>,
    /// Code given in the file.
    pub code: Option<BoxCode>,
    /// The whole definition.
    pub at: Place,
}

/// Code of a box inside the file: `{ <<< language | text >>> }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxCode {
    /// The language, as written before the bar.
    pub language: String,
    /// The text.
    pub text: String,
    /// Its place.
    pub at: Place,
}

/// An ordered list of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuple {
    /// The labels in order.
    pub labels: Vec<TupleLabel>,
    /// Its place.
    pub at: Place,
}

/// A label in the signature of a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TupleLabel {
    /// The label.
    pub label: WrittenLabel,
    /// Whether the box takes it and it is passed on as well: `a=`.
    pub kept: bool,
}

/// A net: a name for a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetDefinition {
    /// Its name.
    pub name: Ident,
    /// The declared signature.
    pub signature: Option<Signature>,
    /// Definitions that only it sees.
    pub definitions: Option<Definitions>,
    /// The network.
    pub body: Topology,
    /// The whole definition.
    pub at: Place,
}

/// `type name = type;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDefinition {
    /// Its name.
    pub name: Ident,
    /// The variants it stands for.
    pub variants: Vec<WrittenVariant>,
    /// The whole definition.
    pub at: Place,
}

/// `typesig name = signature;`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeSigDefinition {
    /// Its name.
    pub name: Ident,
    /// The signature it stands for.
    pub signature: Signature,
    /// The whole definition.
    pub at: Place,
}

/// A set of maps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The maps, and names of others.
    pub items: Vec<SignatureItem>,
    /// Its place.
    pub at: Place,
}

/// A part of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureItem {
    /// The name of a `typesig`.
    Name(Ident),
    /// A map from inputs to outputs.
    Map(Map),
}

/// `inputs -> outputs`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    /// The inputs; none for what initialisers emit.
    pub inputs: Option<Vec<WrittenVariant>>,
    /// The outputs; none for `...`, which leaves them to inference.
    pub outputs: Option<Vec<WrittenVariant>>,
    /// Its place.
    pub at: Place,
}

/// A set of labels, or the name of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenVariant {
    /// `{a, <t>}`
    Set {
        /// The labels.
        labels: Vec<VariantLabel>,
        /// Its place.
        at: Place,
    },
    /// The name of a type.
    Name(Ident),
}

impl WrittenVariant {
    /// Returns where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Set { at, .. } => at.0,
            Self::Name(name) => name.at.0,
        }
    }
}

/// A label of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantLabel {
    /// The label.
    pub label: WrittenLabel,
    /// Whether it is promised to be the unchanged label of the input: `=a`.
    pub same: bool,
}

/// A network and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// What it is.
    pub kind: TopologyKind,
    /// Its place.
    pub at: Place,
}

/// What a network is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopologyKind {
    /// A box or net.
    Name(Ident),
    /// `[pattern -> …]` or `[]`
    Filter(Filter),
    /// `[| pattern, pattern |]`
    Cell(Vec<Guarded>),
    /// `a .. b .. c`
    Serial(Vec<Topology>),
    /// `a | b` or `a || b`
    Choice {
        /// Whether order is kept.
        ordered: bool,
        /// The branches.
        branches: Vec<Topology>,
    },
    /// `a * exits` or `a ** exits`
    Star {
        /// Whether order is kept.
        ordered: bool,
        /// What is replicated.
        body: Box<Topology>,
        /// What leaves.
        exits: Vec<Guarded>,
    },
    /// `a \ back` or `a \\ back`
    Feedback {
        /// Whether order is kept.
        ordered: bool,
        /// What is looped.
        body: Box<Topology>,
        /// What goes back.
        back: Vec<Guarded>,
    },
    /// `a ! <t>`, `a !! <t>`, `a !@ <t>`, `a ! <lo>:<hi>`
    Split {
        /// Whether order is kept.
        ordered: bool,
        /// Whether the tag places the replica.
        placed: bool,
        /// What is replicated.
        body: Box<Topology>,
        /// Which replica.
        range: Range,
    },
    /// `a @ n`
    Placed {
        /// What is placed.
        body: Box<Topology>,
        /// Where.
        place: i64,
    },
    /// What could not be read.
    Error,
}

/// The tags that select replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// The replica of the value of one tag.
    Index(WrittenLabel),
    /// A copy to every replica from one tag's value to another's.
    Between(WrittenLabel, WrittenLabel),
}

/// A pattern with a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The pattern.
    pub pattern: WrittenVariant,
    /// The guard.
    pub guard: Option<Expression>,
}

/// A filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// What it takes; none for `[]`.
    pub pattern: Option<WrittenVariant>,
    /// What it does; the first whose guard holds, the last without a guard.
    pub arms: Vec<Arm>,
}

/// One arm of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// When it is taken; the last arm has none.
    pub guard: Option<Expression>,
    /// The records it makes.
    pub records: Vec<Template>,
}

/// A record to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its labels.
    pub items: Vec<Item>,
    /// Its place.
    pub at: Place,
}

/// A label to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The label.
    pub label: WrittenLabel,
    /// Its value.
    pub value: ItemValue,
}

/// The value of a label to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemValue {
    /// That of the same label of the pattern; 0 for a tag that the pattern does not have.
    Same,
    /// That of another field.
    Field(WrittenLabel),
    /// That of an expression.
    Expression(Expression),
}

/// A tag expression and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Its place.
    pub at: Place,
}

/// What a tag expression is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionKind {
    /// A number.
    Integer(i64),
    /// The value of a tag or binding tag.
    Tag(WrittenLabel),
    /// `-a`, `!a`, `abs a`
    Unary(UnaryOperator, Box<Expression>),
    /// `a + b` and its like
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `a ? b : c`
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
}

/// An operator with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-`
    Negate,
    /// `!`
    Not,
    /// `abs`
    Absolute,
}

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after what it computes")]
pub enum BinaryOperator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Minimum,
    Maximum,
}

impl BinaryOperator {
    /// Returns how tightly it binds, 1 the loosest.
    pub fn level(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Equal | Self::NotEqual => 3,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 4,
            Self::Add | Self::Subtract => 5,
            Self::Multiply | Self::Divide | Self::Remainder => 6,
            Self::Minimum | Self::Maximum => 7,
        }
    }

    /// Returns how it is written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Minimum => "min",
            Self::Maximum => "max",
        }
    }
}

/// Facts about components for tools: box language, names, observers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The entries in order.
    pub entries: Vec<MetadataEntry>,
    /// The text as written, marks included.
    pub text: String,
    /// Its place.
    pub at: Place,
}

/// What is said about one component, or about all of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataEntry {
    /// Of what.
    pub subject: Subject,
    /// Keys with their values; a key without a value has an empty one.
    pub keys: Vec<(String, String)>,
    /// Its place.
    pub at: Place,
}

/// Of what metadata speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All boxes and nets.
    Default,
    /// All boxes.
    Boxes,
    /// All nets.
    Nets,
    /// The box of this path.
    Box(String),
    /// The net of this path.
    Net(String),
}
