//! The table of all diagnostics; `docs/snet.md` has an example of each, and a test checks that.

/// Tells an error, which forbids running, from a warning, which does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The program is refused.
    Error,
    /// The program runs, but probably not as meant.
    Warning,
}

macro_rules! codes {
    ($($variant:ident $code:literal $severity:ident $title:literal;)*) => {
        /// Names a kind of mistake.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $title] $variant,)* }

        /// All codes, in the order of the document.
        pub const CODES: &[Code] = &[$(Code::$variant,)*];

        impl Code {
            /// Returns the code as it is printed.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns what the code stands for, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// Returns whether the code forbids running.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    StrayCharacter "E001" Error "a character that no token begins with";
    Unexpected "E002" Error "something else was expected here";
    Unclosed "E003" Error "opened but never closed";
    BadNumber "E004" Error "a number that is none, or too large";
    Directive "E005" Error "a preprocessor directive";
    BadMetadata "E006" Error "malformed metadata";
    TooDeep "E007" Error "nested too deeply";
    UnknownName "E010" Error "no box or net of this name in scope";
    DefinedTwice "E011" Error "a name defined twice in one scope";
    UnknownType "E012" Error "no type or typesig of this name in scope";
    Cycle "E013" Error "a definition that contains itself";
    LabelTwice "E014" Error "a label that occurs twice";
    NoNet "E015" Error "a file without the net to run";
    NotInPattern "E020" Error "a label that the pattern does not have";
    GivenTwice "E021" Error "a label given twice in one record";
    BadGuard "E022" Error "a guard on a label that its pattern does not have";
    DoesNotFit "E030" Error "records that the next component does not accept";
    NoInput "E031" Error "a component that accepts no record at all";
    UndeclaredOutput "E032" Error "an output that the signature does not declare";
    InputRefused "E033" Error "a declared input that the net does not accept";
    NotUnchanged "E034" Error "a label promised unchanged that is not";
    Initialiser "E035" Error "an initialiser where none may be";
    TooLarge "E036" Error "types too large to infer";
    Ambiguous "W050" Warning "a best match that is a tie";
    Unreachable "W051" Warning "a branch that no record of a known type takes";
    NeverLeft "W052" Warning "a star that no record can leave";
    NeverProduced "W053" Warning "a declared output that is never produced";
    Unused "W054" Warning "a definition that nothing uses";
    NeverFedBack "W055" Warning "a feedback that nothing takes";
    LateOutput "W056" Warning "an undeclared output of a synchro-cell that has fired";
    UnknownKey "W057" Warning "a metadata key without meaning here";
    MadeNowhere "W058" Warning "a label that is taken and made nowhere";
}
