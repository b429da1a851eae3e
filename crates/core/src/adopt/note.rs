//! What a person who takes a draft over should know.

use core::fmt;

use crate::shown::Shown;

/// One thing to know about a draft: our sentence, and what of the author's it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    about: String,
    kind: NoteKind,
}

macro_rules! notes {
    ($( $variant:ident $sentence:literal )*) => {
        /// What a note says.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum NoteKind { $( #[doc = $sentence] $variant, )* }

        impl NoteKind {
            /// The note as one sentence.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $sentence, )* }
            }
        }
    };
}

notes! {
    SourceTooLarge "It is larger than 256 KiB and was not read."
    SourceEncoding "It is not UTF-8 text and was not read."
    Library "Nothing happens when it runs; it is there to be imported."
    NoInterpreter "Nothing says what runs it."
    NotUnderstood "It takes arguments that could not be read."
    Subcommands "It has subcommands, which typed parameters cannot express."
    SeveralUses "It shows several ways to be called, which typed parameters cannot express."
    RequiredInexpressible "It requires this argument, which no typed parameter can express."
    TooManyScripts "More scripts than an overlay may declare."
    ToolNameTooLong "Its tool's name would be longer than 64 characters; declare it by hand with another name for it."
    TooManyParams "It takes more than 32 arguments."
    Named "The script's name was made from this file's name."
    ParamNamed "The parameter's name was made from this word."
    NoDescription "It says nothing about itself; the description is a placeholder."
    PathRead "Taken for a file to read, by its name; the access is read and nothing else."
    PathOutput "Looks like a file that it writes; the access is read all the same. If it writes there, change it to create or write."
    PathFolder "Looks like a folder; a parameter gives one file only, so give folders with --workspace."
    OptionalLeftOut "It can be left out and has no flag, so it was left out of the draft."
    Inexpressible "It takes its values in a way that no typed parameter can express, so it was left out."
    SeveralAsOne "It takes several values, or can be given several times; the parameter takes one."
    NameUnusable "No flag or name by our rules can be made of it, so it was left out."
    ChoicesUnusable "Its choices cannot be an enum, so any text is taken."
    TypeUnknown "Its type is computed, so any text is taken."
    RequiredUnknown "Whether it must be given is computed; the draft says that it need not."
    PositionRequired "The source does not say whether it can be left out; the draft requires it."
    Exclusive "Some of its flags exclude each other or one of them must be given; the draft does not say so."
    HelpOnly "Only the help text shows it; the source computes it."
    NotInHelp "The source has it and the help text does not show it, so it was left out."
    HelpTooLong "Its help is longer than 64 KiB and was not read."
    HelpHidden "Its help holds control characters or is not UTF-8, and was not read."
    HelpForm "Its help has no usage line of the usual form and was not read."
    NeedsPackages "It says that it needs packages; nothing is downloaded, so they must be there already."
    RequiresPython "It says which versions of Python it runs with; the host has the one it has."
}

impl Note {
    /// A note about a whole script.
    pub(super) fn of(kind: NoteKind) -> Self {
        Self { about: String::new(), kind }
    }

    /// A note about something of the author's, cut to 128 characters.
    pub(super) fn about(about: &str, kind: NoteKind) -> Self {
        Self { about: about.chars().take(ABOUT_CHARS_MAX).collect(), kind }
    }

    /// What it is about, in the author's words: a flag, a name, a list. Empty for the whole script.
    pub fn subject(&self) -> &str {
        &self.about
    }

    /// What it says.
    pub fn kind(&self) -> NoteKind {
        self.kind
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.about.is_empty() {
            write!(f, "{}: ", Shown::inline(&self.about))?;
        }
        f.write_str(self.kind.as_str())
    }
}

const ABOUT_CHARS_MAX: usize = 128;
