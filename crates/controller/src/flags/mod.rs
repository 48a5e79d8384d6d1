//! The command line of `wincsi-controller`, from one table; each flag also comes from `WINCSI_<NAME>`.

mod foreign;
mod page;
mod table;

use program::flags::{Configuration, Section};
use program::http::BindAddress;
use program::log;
use transport::Endpoint;

pub use program::flags::{FlagError, Invocation, unicode};

pub use self::page::page;

/// What the command line asks for. [`parse`] begins with the defaults of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The word of `onDelete` where a class has none; empty is `delete`.
    pub default_policy: String,
    /// Whether a folder goes that no record proves to be the volume's.
    pub deletes_unrecorded: bool,
    pub driver_name: String,
    pub endpoint: Option<Endpoint>,
    /// Arguments behind the flags, which mean nothing.
    pub ignored: Vec<String>,
    pub ineffective: Vec<&'static str>,
    pub log: log::Options,
    pub metrics_address: Option<BindAddress>,
    pub requires_privacy: bool,
}

impl Configuration for Config {
    const SECTIONS: &'static [Section<Self>] = table::SECTIONS;

    fn log(&mut self) -> &mut log::Options {
        &mut self.log
    }

    fn note_ineffective(&mut self, flag: &'static str) {
        self.ineffective.push(flag);
    }

    fn note_ignored(&mut self, arguments: Vec<String>) {
        self.ignored = arguments;
    }

    fn replacement_of(flag: &str) -> Option<&'static str> {
        foreign::replacement_of(flag)
    }

    fn check(&self) -> Result<(), &'static str> {
        match &self.endpoint {
            None => Err("-endpoint is empty"),
            Some(_) if !self.ignored.is_empty() => Err("an argument is no flag"),
            Some(_) => Ok(()),
        }
    }
}

/// Reads the command line, and the environment, which the command line overrides.
pub fn parse(
    arguments: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Invocation<Config>, FlagError> {
    program::flags::parse_with_variables(table::FLAGS, arguments, variable)
}

pub fn usage() -> String {
    program::flags::usage::<Config>("wincsi-controller")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "test code")]
mod tests {
    use super::*;

    fn read(arguments: &[&str], variable: (&str, &str)) -> Result<Config, String> {
        let arguments: Vec<_> = arguments.iter().map(|one| (*one).to_owned()).collect();
        let variable = |name: &str| (name == variable.0).then(|| variable.1.to_owned());
        match parse(&arguments, variable) {
            Ok(Invocation::Serve(config)) => Ok(*config),
            Ok(_) => panic!("not served"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn flags_have_defaults_and_variables() {
        let config = read(&[], ("", "")).unwrap();
        assert_eq!(config.driver_name, "wincsi.io");
        assert!(config.requires_privacy && !config.deletes_unrecorded);
        assert_eq!(config.default_policy, "");
        let policy = "-default-ondelete-policy=Archive";
        let config = read(&[policy], ("WINCSI_REQUIRE_PRIVACY", "false")).unwrap();
        assert_eq!(config.default_policy, "Archive");
        assert!(!config.requires_privacy);
    }

    #[test]
    fn what_is_refused_names_its_replacement() {
        for (argument, part) in [
            ("--default-ondelete-policy=keep", "retain or archive"),
            ("--remove-archived-volume-path=false", "no archive is ever"),
            ("--working-mount-dir=/tmp", "mounts nothing"),
            ("--nodeid=n", "needs no id"),
            ("--kubeconfig=k", "no Kubernetes API"),
            ("--krb5-prefix=k", "NTLM"),
            ("--enable-get-volume-stats", "wincsi node"),
            ("--endpoint=", "-endpoint is empty"),
            ("stray", "is no flag"),
        ] {
            let error = read(&[argument], ("", "")).unwrap_err();
            assert!(error.contains(part), "{argument}: {error}");
        }
    }

    #[test]
    fn a_flag_is_ours_or_has_a_replacement() {
        let is_ours = |name: &str| program::flags::all::<Config>().any(|flag| flag.name == name);
        assert!(foreign::SHARED.iter().all(|name| is_ours(name)));
        assert!(foreign::FOREIGN.iter().all(|(name, _)| !is_ours(name)));
        assert!(foreign::FOREIGN.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn the_page_is_the_table() {
        let page = include_str!("../../../../docs/controller-flags.md").replace("\r\n", "\n");
        let is_fresh = page == super::page();
        assert!(is_fresh, "it is stale: run `cargo xtask docs`");
    }
}
