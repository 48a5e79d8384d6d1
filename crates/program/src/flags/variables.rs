//! Flags from variables: `-max-volumes` is `WINCSI_MAX_VOLUMES`, or begins as [`Configuration::VARIABLES`] says.

use strsim::osa_distance;

use super::{Configuration, Flag, FlagError, Invocation, all, parse};

/// Reads the defaults of a program's own flags, its variables, and its command line; the later ones override.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_variables<C: Configuration>(
    own: &'static [Flag<C>],
    arguments: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Invocation<C>, FlagError> {
    let with_default = own.iter().filter(|flag| !flag.default.is_empty());
    let defaults = with_default.map(|flag| format!("-{}={}", flag.name, flag.default));
    let of_environment = all::<C>().filter_map(|flag| {
        let value = variable(&variable_of::<C>(flag.name))?;
        Some(format!("-{}={value}", flag.name))
    });
    let given = arguments.iter().cloned();
    parse(defaults.chain(of_environment).chain(given))
}

/// A warning of each variable that is of no flag, with the flag's that is nearest.
pub fn stray_variables<C: Configuration>(
    names: impl Iterator<Item = String>,
) -> impl Iterator<Item = String> {
    let known: Vec<_> = all::<C>().map(|flag| variable_of::<C>(flag.name)).collect();
    names.filter_map(move |name| {
        // Windows's have no case.
        let upper = name.to_uppercase();
        let is_of_service = upper.contains("_SERVICE_HOST") || upper.contains("_PORT");
        if !upper.starts_with(C::VARIABLES) || is_of_service || known.contains(&upper) {
            return None;
        }
        let distance = |known: &&String| osa_distance(known, &upper);
        let nearest = known.iter().min_by_key(distance)?;
        Some(format!(
            "{name} is the variable of no flag: is it {nearest}?"
        ))
    })
}

fn variable_of<C: Configuration>(flag: &str) -> String {
    let name = flag.to_uppercase().replace('-', "_");
    format!("{}{name}", C::VARIABLES)
}
