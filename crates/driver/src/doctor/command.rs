//! `wincsi doctor`: asks the running driver, or looks itself.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use transport::{CallError, Code, Endpoint, Owner};
use wincsi::NodeApi;
use wincsi::sim::SimNode;
use wire::lifecycle::v1::ExamineRequest;
use wire::lifecycle::v1::lifecycle::Examine;

use super::aside::Aside;
use super::report::{Report, Way};
use super::server::{self, Rules, Source};
use super::subject::{ALL, Driver, Site, Subject};
use crate::flags::{Config, Host as Mode};
use crate::host::{self, Placement};
use crate::kinds::{self, Row};
use crate::lifecycle;

/// How much longer than its look the driver's answer may take.
const MORE: Duration = Duration::from_secs(10);

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
                source if command.source.is_none() && is_source(source) => {
                    command.source = Some(word.clone());
                }
                _ => match port(word) {
                    Some(port) => command.port = Some(port),
                    None => command.flags.push(word.clone()),
                },
            }
        }
        // Without a source it is a flag that the driver does not know, and so is a second source.
        if command.source.is_none() {
            let port = command.port.take();
            command
                .flags
                .extend(port.map(|port| format!("-port={port}")));
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

fn is_source(word: &str) -> bool {
    word.starts_with("//") || word.starts_with(r"\\")
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
    let driver = match answer {
        Ok(Ok(answer)) => match Report::read(&answer.report) {
            Ok(report) => return report,
            Err(error) => Driver::Unknown(format!("{endpoint}: {error}")),
        },
        Ok(Err(error)) => Driver::Unknown(format!("{endpoint}: {error}")),
        Err(error) => unanswered(&error),
    };
    look(config, driver)
}

/// The driver that a call failed to reach: it is away only if the system says that nobody serves the socket.
fn unanswered(error: &CallError) -> Driver {
    match error {
        CallError::Status(status) if status.code == Code::Unimplemented => Driver::Older,
        CallError::Connect { endpoint, source } => match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Driver::Absent(error.to_string()),
            _ if is_missing(endpoint) => Driver::Absent(error.to_string()),
            _ => Driver::Unknown(error.to_string()),
        },
        _ => Driver::Unknown(error.to_string()),
    }
}

/// Windows has several codes for a socket that is no file.
fn is_missing(endpoint: &Endpoint) -> bool {
    let Endpoint::Socket(path) = endpoint else {
        return false;
    };
    let found = fs::symlink_metadata(path);
    found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The command looks itself.
fn look(config: &Config, driver: Driver) -> Report {
    let node = node(config);
    let site = Site {
        kubelet: config.kubelet_folder(),
        registry: config.own_registry(),
        records: config.records(),
        forms: Row::forms(&kinds::table(config.kinds.clone())),
        aside: Aside::default(),
    };
    let subject = Subject::new(node.as_deref().map_err(Clone::clone), driver, &site);
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
    use std::io;

    use transport::Status;

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
        for (words, port, flags) in [
            (["//a/b", "--port=1"], Some(1), 0),
            (["//a/b", "-port=0"], None, 1),
            (["//a/b", "-port=65536"], None, 1),
            (["//a/b", "//c/d"], None, 1),
            (["-json", "-port=1"], None, 1),
        ] {
            let command = Command::of(&words.map(str::to_owned));
            assert_eq!(
                (command.port, command.flags.len()),
                (port, flags),
                "{words:?}"
            );
        }
    }

    /// Only where nobody has the socket no driver runs.
    #[test]
    fn a_driver_that_does_not_answer_may_run() {
        let folder = tempfile::tempdir().unwrap();
        let connect = |at, kind: ErrorKind| CallError::Connect {
            endpoint: Endpoint::socket(at),
            source: io::Error::from(kind),
        };
        let (here, missing) = (folder.path().to_owned(), folder.path().join("none"));
        let endpoint = Endpoint::socket(&here);
        let status = |code| CallError::Status(Status::new(code, "no"));
        for (error, expected) in [
            (
                connect(here.clone(), ErrorKind::ConnectionRefused),
                "absent",
            ),
            (connect(here.clone(), ErrorKind::NotFound), "absent"),
            (connect(missing, ErrorKind::Other), "absent"),
            (connect(here, ErrorKind::PermissionDenied), "unknown"),
            (status(Code::Unimplemented), "older"),
            (status(Code::ResourceExhausted), "unknown"),
            (status(Code::Unavailable), "unknown"),
            (
                CallError::ForeignOwner {
                    endpoint: endpoint.clone(),
                    owner: String::new(),
                },
                "unknown",
            ),
            (
                CallError::Deadline {
                    endpoint,
                    method: String::new(),
                },
                "unknown",
            ),
        ] {
            let found = match unanswered(&error) {
                Driver::Absent(_) => "absent",
                Driver::Unknown(_) => "unknown",
                Driver::Older => "older",
                Driver::Own(_) => "own",
            };
            assert_eq!(found, expected, "{error}");
        }
    }
}
