//! A command line in the style of Go's `flag` package, read and rendered from one table.

mod klog;
mod parse;
mod render;
pub mod values;
mod variables;

use crate::log;

pub use self::klog::Klog;
pub use self::parse::{FlagError, parse, unicode};
pub use self::render::{table_of, usage};
pub use self::variables::{parse_with_variables, stray_variables};

/// A program's configuration by its command line. Parsing begins with `Default`.
pub trait Configuration: Default + 'static {
    /// Every flag of the program.
    const SECTIONS: &'static [Section<Self>];

    /// How the variables of its flags begin.
    const VARIABLES: &'static str = "WINCSI_";

    /// Where klog's flags are kept.
    fn log(&mut self) -> &mut log::Options;

    /// Notes a given flag without effect.
    fn note_ineffective(&mut self, flag: &'static str);

    /// Notes the arguments behind the flags.
    fn note_ignored(&mut self, arguments: Vec<String>);

    /// Whether a flag of this name may be ignored behind an argument that is no flag, as Go's package does.
    fn may_be_ignored(_flag: &str) -> bool {
        false
    }

    /// The replacement for a flag of this name in similar programs, missing here, in a sentence without its end.
    fn replacement_of(_flag: &str) -> Option<&'static str> {
        None
    }

    /// Refuses contradictory flags, in a sentence without its end.
    ///
    /// # Errors
    /// The flags are contradictory.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// One flag of the command line.
pub struct Flag<C: 'static> {
    /// The name, without dashes.
    pub name: &'static str,
    /// The kind of its value.
    pub value: Value,
    /// The default, as it would be written.
    pub default: &'static str,
    /// Its effect, in one sentence.
    pub help: &'static str,
    /// How it changes the configuration.
    pub apply: Apply<C>,
}

impl<C> Flag<C> {
    pub const HELP: Self = Self {
        name: "help",
        value: Value::Bool,
        default: "",
        help: "Print how the program is used, and end; -h, too.",
        apply: Apply::Instead(Instead::Help),
    };

    pub const VERSION: Self = Self {
        name: "version",
        help: "Print the version, and end.",
        apply: Apply::Instead(Instead::Version),
        ..Self::HELP
    };
}

/// The kind of a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing, or `=true` and `=false`.
    Bool,
    /// A value, called this in the usage.
    Of(&'static str),
}

/// How a flag changes the configuration; an error has the valid form of its value.
pub enum Apply<C> {
    /// A boolean flag.
    Bool(fn(&mut C, bool)),
    /// As [`Apply::Text`], but the error is Go's own text.
    Go(fn(&mut C, &str) -> Result<(), String>),
    /// The program does this instead of serving, whatever flags follow.
    Instead(Instead),
    /// The flag is taken and has no effect.
    Nothing,
    /// A flag with a value.
    Text(fn(&mut C, &str) -> Result<(), &'static str>),
}

/// A flag's action instead of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// Print the usage.
    Help,
    /// Print the version.
    Version,
}

/// A group of flags under one heading.
pub struct Section<C: 'static> {
    /// The heading.
    pub title: &'static str,
    /// Notes for the reader on all of them.
    pub about: &'static str,
    /// The flags.
    pub flags: &'static [Flag<C>],
}

/// The result of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation<C> {
    /// Print the usage.
    Help,
    Serve(Box<C>),
    /// Print the version.
    Version,
}

/// Every flag of every section.
pub fn all<C: Configuration>() -> impl Iterator<Item = &'static Flag<C>> {
    C::SECTIONS.iter().flat_map(|section| section.flags)
}

/// Puts a value where it belongs.
///
/// # Errors
/// None; the signature is that of a flag's function.
pub fn set<T>(place: &mut T, value: T) -> Result<(), &'static str> {
    *place = value;
    Ok(())
}

/// The value of a flag; an empty text turns it off.
#[must_use]
pub fn optional(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
