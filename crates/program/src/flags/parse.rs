use std::ffi::OsString;

use super::{Apply, Configuration, Flag, Instead, Invocation, Value, all};

/// A command line as the system gives it, as text.
///
/// # Errors
/// An argument is no valid Unicode.
pub fn unicode(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, FlagError> {
    arguments
        .into_iter()
        .map(|argument| argument.into_string().map_err(FlagError::NoUnicode))
        .collect()
}

/// Reads a command line in the style of Go's `flag` package, without the program's name.
///
/// One dash or two; `-flag=value` or, for flags that are not boolean, `-flag value`; a repeated flag overrides, or adds
/// if it may be given several times; `--` ends the flags. Arguments behind the flags are ignored, unless a flag among
/// them would be missed ([`Configuration::may_be_ignored`]).
///
/// # Errors
/// An unknown flag, a missing or wrong value, a flag behind an argument that is none, or one without its required
/// other.
pub fn parse<C: Configuration>(
    arguments: impl IntoIterator<Item = String>,
) -> Result<Invocation<C>, FlagError> {
    let mut config = C::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let Some((name, value)) = split(&argument)? else {
            config.note_ignored(behind::<C>(argument, arguments)?);
            break;
        };
        let flag = find::<C>(name)?;
        match flag.apply {
            Apply::Instead(Instead::Help) => return Ok(Invocation::Help),
            Apply::Instead(Instead::Version) => return Ok(Invocation::Version),
            _ => {}
        }
        apply(&mut config, flag, value, &mut arguments)?;
    }
    config.check().map_err(FlagError::Together)?;
    Ok(Invocation::Serve(Box::new(config)))
}

/// An invalid command line. Texts are those of Go's `flag` package if it has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The value of a boolean flag is neither true nor false.
    #[error("invalid boolean value {value:?} for -{name}: parse error")]
    Boolean {
        name: &'static str,
        /// The given value.
        value: String,
    },
    /// The flag needs a value and is the last argument.
    #[error("flag needs an argument: -{0}")]
    NeedsArgument(&'static str),
    /// An argument is no valid Unicode.
    #[error("argument is no valid Unicode: {0:?}")]
    NoUnicode(OsString),
    /// The flag is another program's; this one has something else for it, or needs none.
    #[error("flag provided but not defined: -{name}: {replacement}")]
    Replaced {
        name: String,
        /// Its replacement.
        replacement: &'static str,
    },
    /// A flag behind an argument that is none: Go would ignore it.
    #[error("{stray:?} is no flag, and {flag:?} behind it would have no effect")]
    Shadowed {
        /// The argument before it.
        stray: String,
        /// The first such flag behind it.
        flag: String,
    },
    /// Three dashes, or no name.
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    /// Contradictory flags.
    #[error("{0}")]
    Together(&'static str),
    /// No flag has this name.
    #[error("flag provided but not defined: -{0}")]
    Undefined(String),
    /// The value is invalid for the flag.
    #[error("invalid value {value:?} for flag -{name}: {reason}")]
    Value {
        name: &'static str,
        /// The given value.
        value: String,
        /// What is wrong with it, or the valid form.
        reason: String,
    },
}

/// The flag's name and the value behind `=`; `None` if it is no flag.
#[allow(
    clippy::type_complexity,
    reason = "a name for this pair would say less"
)]
fn split(argument: &str) -> Result<Option<(&str, Option<&str>)>, FlagError> {
    let body = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'));
    let Some(body) = body.filter(|body| !body.is_empty()) else {
        return Ok(None);
    };
    if body.starts_with(['-', '=']) {
        return Err(FlagError::Syntax(argument.to_owned()));
    }
    Ok(Some(
        body.split_once('=')
            .map_or((body, None), |(name, value)| (name, Some(value))),
    ))
}

/// The arguments after the flags: Go's package ignores them all. `--` shows that this is meant.
fn behind<C: Configuration>(
    first: String,
    rest: impl Iterator<Item = String>,
) -> Result<Vec<String>, FlagError> {
    let rest: Vec<String> = rest.collect();
    if first == "--" {
        return Ok(rest);
    }
    match rest.iter().find(|argument| is_missed::<C>(argument)) {
        Some(flag) => Err(FlagError::Shadowed {
            stray: first,
            flag: flag.clone(),
        }),
        None => Ok([vec![first], rest].concat()),
    }
}

fn is_missed<C: Configuration>(argument: &str) -> bool {
    let name = argument.trim_start_matches('-').split('=').next();
    argument.starts_with('-') && !C::may_be_ignored(name.unwrap_or_default())
}

fn find<C: Configuration>(name: &str) -> Result<&'static Flag<C>, FlagError> {
    let name = if name == "h" { "help" } else { name };
    let found = all().find(|flag| flag.name == name);
    found.ok_or_else(|| match C::replacement_of(name) {
        Some(replacement) => FlagError::Replaced {
            name: name.to_owned(),
            replacement,
        },
        None => FlagError::Undefined(name.to_owned()),
    })
}

fn apply<C: Configuration>(
    config: &mut C,
    flag: &'static Flag<C>,
    value: Option<&str>,
    rest: &mut impl Iterator<Item = String>,
) -> Result<(), FlagError> {
    let value = match (flag.value, value) {
        (_, Some(value)) => value.to_owned(),
        (Value::Bool, None) => String::from("true"),
        (Value::Of(_), None) => rest.next().ok_or(FlagError::NeedsArgument(flag.name))?,
    };
    let outcome = match flag.apply {
        Apply::Bool(apply) => {
            let on = go_bool(&value).ok_or_else(|| not_boolean(flag, &value))?;
            apply(config, on);
            Ok(())
        }
        Apply::Go(apply) => apply(config, &value),
        // A reader of the command line ends there.
        Apply::Instead(_) => Ok(()),
        Apply::Nothing => {
            config.note_ineffective(flag.name);
            Ok(())
        }
        Apply::Text(apply) => apply(config, &value).map_err(|wanted| format!("want {wanted}")),
    };
    outcome.map_err(|reason| FlagError::Value {
        name: flag.name,
        value,
        reason,
    })
}

fn not_boolean<C>(flag: &Flag<C>, value: &str) -> FlagError {
    FlagError::Boolean {
        name: flag.name,
        value: value.to_owned(),
    }
}

/// Accepts the values of Go's `strconv.ParseBool`.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
