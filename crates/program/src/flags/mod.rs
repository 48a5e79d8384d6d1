//! A command line in the style of Go's `flag` package, read and rendered from one table.

mod klog;
mod parse;
mod render;

use crate::log;

pub use self::klog::Klog;
pub use self::parse::{FlagError, parse, unicode};
pub use self::render::{table_of, usage};

/// What a program's command line sets. `Default` is what it is without a flag.
pub trait Configuration: Default + 'static {
    /// Every flag of the program.
    const SECTIONS: &'static [Section<Self>];

    /// Where klog's flags are kept.
    fn log(&mut self) -> &mut log::Options;

    /// Notes a flag that was given and has no effect.
    fn note_ineffective(&mut self, flag: &'static str);

    /// Notes the arguments behind the flags.
    fn note_ignored(&mut self, arguments: Vec<String>);

    /// Whether nobody misses a flag of this name behind an argument that is no flag, where Go's package ignores it.
    fn may_be_ignored(_flag: &str) -> bool {
        false
    }

    /// What replaces a flag of this name, which other programs of the kind have and this one does not, in a sentence
    /// without its end.
    fn replacement_of(_flag: &str) -> Option<&'static str> {
        None
    }

    /// Refuses flags that mean nothing together, in a sentence without its end.
    ///
    /// # Errors
    /// They are such.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// One flag of the command line.
pub struct Flag<C: 'static> {
    /// The name, without dashes.
    pub name: &'static str,
    /// What follows it.
    pub value: Value,
    /// The default, as it would be written.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// How it changes the configuration.
    pub apply: Apply<C>,
}

/// What follows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing, or `=true` and `=false`.
    Bool,
    /// A value, called this in the usage.
    Of(&'static str),
}

/// How a flag changes the configuration; an error says what its value should have been.
pub enum Apply<C> {
    /// A flag that is true or false.
    Bool(fn(&mut C, bool)),
    /// As [`Apply::Text`], but the error is Go's own text.
    Go(fn(&mut C, &str) -> Result<(), String>),
    /// The program does this instead of serving, whatever follows.
    Instead(Instead),
    /// The flag is taken and has no effect.
    Nothing,
    /// A flag with a value.
    Text(fn(&mut C, &str) -> Result<(), &'static str>),
}

/// What a flag has the program do instead of serving.
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
    /// What the reader should know about all of them.
    pub about: &'static str,
    /// The flags.
    pub flags: &'static [Flag<C>],
}

/// What the caller of the program wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation<C> {
    /// Print the usage.
    Help,
    /// Serve.
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
/// None; flags take a function that can fail.
pub fn set<T>(place: &mut T, value: T) -> Result<(), &'static str> {
    *place = value;
    Ok(())
}

/// The value of a flag that an empty text turns off.
#[must_use]
pub fn optional(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
