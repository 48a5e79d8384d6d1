//! `wincsi doctor`: asks the running driver, or looks itself.

use std::collections::BTreeSet;
use std::env;
use std::sync::Arc;
use std::time::Duration;

use transport::{CallError, Code, Owner};
use wincsi::NodeApi;
use wincsi::sim::SimNode;
use wire::lifecycle::v1::ExamineRequest;
use wire::lifecycle::v1::lifecycle::Examine;

use super::report::{Report, Way};
use super::server::{self, Rules, Source};
use super::subject::{ALL, Driver, Subject};
use crate::flags::{Config, Host as Mode};
use crate::host::{self, Placement};
use crate::kinds::{self, Row};
use crate::lifecycle;
use crate::record::{Peeked, Store};

/// How much longer than its look the driver's answer may take.
const MORE: Duration = Duration::from_secs(5);

/// What the words behind `wincsi doctor` ask for, but for the flags of `wincsi node`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Whether the report is JSON.
    pub json: bool,
    /// The share whose server is looked at, in place of the node.
    pub source: Option<String>,
    /// The port of its server (the mount option `port=N`).
    pub port: Option<u16>,
    /// The other words, which are flags of `wincsi node`.
    pub flags: Vec<String>,
}

impl Command {
    pub fn of(words: &[String]) -> Self {
        let mut command = Self::default();
        for word in words {
            match word.as_str() {
                "-json" | "--json" => command.json = true,
                source if source.starts_with("//") || source.starts_with(r"\\") => {
                    command.source = Some(word.clone());
                }
                _ => match port(word) {
                    Some(port) => command.port = Some(port),
                    None => command.flags.push(word.clone()),
                },
            }
        }
        command
    }

    /// Looks, and returns what to print and the exit code.
    pub fn run(&self, config: &Config) -> (String, u8) {
        if let Some(source) = &self.source {
            return match Source::parse(source) {
                Ok(source) => {
                    let looked = server::look(&source, &Rules::of(config, self.port));
                    let text = match self.json {
                        true => looked.to_json(),
                        false => looked.to_string(),
                    };
                    (text, looked.exit_code())
                }
                Err(error) => (format!("wincsi: {error}"), program::run::USAGE),
            };
        }
        let report = examine(config);
        let text = match self.json {
            true => report.to_json(),
            false => report.to_string(),
        };
        (text, report.exit_code())
    }
}

/// The port of a word, unless it is no number of one: then the flags refuse it.
fn port(word: &str) -> Option<u16> {
    let text = word.strip_prefix("--port=").or(word.strip_prefix("-port="));
    text?.parse().ok().filter(|port| *port > 0)
}

/// The running driver's report, or one's own if none answers.
pub fn examine(config: &Config) -> Report {
    let endpoint = config.csi_endpoint();
    // As for a drain.
    let owner = Owner::AdministratorsOrOwnUser;
    let answer = lifecycle::call::<Examine>(&endpoint, owner, &ExamineRequest {}, ALL + MORE);
    match answer {
        Ok(Ok(answer)) => Report::of_driver(answer),
        Ok(Err(error)) => look(config, Driver::Absent(format!("{endpoint}: {error}"))),
        Err(CallError::Status(status)) if status.code == Code::Unimplemented => {
            look(config, Driver::Older)
        }
        Err(error) => look(config, Driver::Absent(error.to_string())),
    }
}

/// The command looks itself.
fn look(config: &Config, driver: Driver) -> Report {
    let node = node(config);
    let kinds = kinds::table(config.kinds.clone());
    let peeked = match config.records() {
        Some(folder) => Store::peek(&folder, &Row::forms(&kinds)),
        None => Ok(Peeked::default()),
    };
    let (records, unreadable) = match peeked {
        Ok(peeked) => (peeked.records, peeked.unreadable),
        Err(error) => (Vec::new(), vec![error]),
    };
    let unreadable = unreadable.iter().map(ToString::to_string).collect();
    let subject = Subject::new(
        node.as_deref().map_err(Clone::clone),
        driver,
        config.kubelet_folder(),
        config.registry_endpoint(),
        (records, unreadable),
    );
    let looked = subject.look();
    subject.report(Way::Command, looked, &BTreeSet::new())
}

/// The node, as long as nothing has to be made for it.
fn node(config: &Config) -> Result<Arc<dyn NodeApi>, String> {
    let is_there = |folder| SimNode::exists(folder);
    if config.host == Mode::Simulated && !config.simulate.as_deref().is_some_and(is_there) {
        return Err(String::from("there is no simulated node"));
    }
    let placement = Placement::by(|name| env::var(name).ok());
    let opened = host::open(config, &placement);
    opened
        .map(|host| host.node)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command_are_no_flags_of_the_driver() {
        let words = ["-json", "//files/data", "-port=x", "-port=4450"].map(str::to_owned);
        let expected = Command {
            json: true,
            source: Some(words[1].clone()),
            port: Some(4450),
            flags: vec![words[2].clone()],
        };
        assert_eq!(Command::of(&words), expected);
    }
}
