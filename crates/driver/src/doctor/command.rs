//! `wincsi doctor`: asks the running driver, or looks itself.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use transport::{CallError, Code, Endpoint, Owner};
use wincsi::NodeApi;
use wincsi::sim::SimNode;
use wire::lifecycle::v1::ExamineRequest;
use wire::lifecycle::v1::lifecycle::Examine;

use super::aside::Aside;
use super::bundle;
use super::report::{Report, Way};
use super::server::{self, Rules, Source};
use super::subject::{ALL, Driver, Site, Subject};
use crate::flags::{Config, Host as Mode};
use crate::host::{self, Placement};
use crate::kinds::{self, Row};
use crate::lifecycle;

/// There is no report.
pub const NOT_LOOKED: u8 = 4;

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
    /// The bundle whose findings are printed, in place of the node's.
    pub from: Option<PathBuf>,
    /// The other words, which are flags of `wincsi node`.
    pub flags: Vec<String>,
}

impl Command {
    pub fn of(words: &[String]) -> Self {
        let mut command = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-json" | "--json" => command.json = true,
                "-from" | "--from" if words.len() > 0 => {
                    command.from = words.next().map(PathBuf::from);
                }
                source if command.source.is_none() && is_source(source) => {
                    command.source = Some(word.clone());
                }
                _ => match (port(word), value_of("from", word)) {
                    (Some(port), _) => command.port = Some(port),
                    (_, Some(file)) => command.from = Some(file.into()),
                    _ => command.flags.push(word.clone()),
                },
            }
        }
        // Of a bundle nothing else is asked.
        if command.from.is_some() {
            command.flags.extend(command.source.take());
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
        if let Some(file) = &self.from {
            return match bundle::read(file) {
                Ok(report) => self.printed(&report),
                Err(error) => (format!("wincsi: {}: {error}", file.display()), NOT_LOOKED),
            };
        }
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
        self.printed(&examine(config))
    }

    fn printed(&self, report: &Report) -> (String, u8) {
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
    value_of("port", word)?
        .parse()
        .ok()
        .filter(|port| *port > 0)
}

/// Of `-flag=value` or `--flag=value`.
fn value_of<'a>(flag: &str, word: &'a str) -> Option<&'a str> {
    let name = word.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    name.strip_prefix(flag)?.strip_prefix('=')
}

/// The running driver's report, or one's own if none answers.
pub fn examine(config: &Config) -> Report {
    match ask(config, ExamineRequest::default()) {
        Ok((report, _)) => report,
        Err(driver) => with_subject(config, driver, look),
    }
}

/// As [`examine`], with a node to ask for more, and the driver's metrics or why there are none.
pub(super) fn with_answer<T>(
    config: &Config,
    then: impl FnOnce(&Subject<'_>, &Report, Result<String, String>) -> T,
) -> T {
    match ask(config, ExamineRequest { with_metrics: true }) {
        Ok((report, metrics)) => with_subject(config, Driver::Own(None), |subject| {
            let older = || String::from("the running driver has none, or is older");
            let metrics = Some(metrics).filter(|page| !page.is_empty());
            then(subject, &report, metrics.ok_or_else(older))
        }),
        Err(driver) => with_subject(config, driver, |subject| {
            let report = look(subject);
            then(subject, &report, Err(String::from("no driver answered")))
        }),
    }
}

/// The running driver's report and metrics.
fn ask(config: &Config, request: ExamineRequest) -> Result<(Report, String), Driver> {
    let endpoint = config.csi_endpoint();
    // As for a drain.
    let owner = Owner::AdministratorsOrOwnUser;
    let answer = lifecycle::call::<Examine>(&endpoint, owner, &request, ALL + MORE);
    let malformed = |error: &dyn Display| Driver::Unknown(format!("{endpoint}: {error}"));
    let answer = answer.map_err(|error| unanswered(&error))?;
    let answer = answer.map_err(|error| malformed(&error))?;
    let report = Report::read(&answer.report).map_err(|error| malformed(&error))?;
    Ok((report, answer.metrics))
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

fn with_subject<T>(config: &Config, driver: Driver, then: impl FnOnce(&Subject<'_>) -> T) -> T {
    let node = node(config);
    let site = Site {
        kubelet: config.kubelet_folder(),
        registry: config.own_registry(),
        records: config.records(),
        forms: Row::forms(&kinds::table(config.kinds.clone())),
        aside: Aside::default(),
    };
    let node = node.as_deref().map_err(Clone::clone);
    then(&Subject::new(node, driver, &site))
}

/// The command looks itself.
fn look(subject: &Subject<'_>) -> Report {
    subject.report(Way::Command, subject.look(), &BTreeSet::new())
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
            from: None,
            flags: vec![words[2].clone()],
        };
        assert_eq!(Command::of(&words), expected);
        for (words, port, flags) in [
            (["//a/b", "--port=1"], Some(1), 0),
            (["//a/b", "-port=0"], None, 1),
            (["//a/b", "-port=65536"], None, 1),
            (["//a/b", "//c/d"], None, 1),
            (["-json", "-port=1"], None, 1),
            (["-from", "f"], None, 0),
            (["-from=f", "-json"], None, 0),
            (["-from=f", "//a/b"], None, 1),
            (["--from=f", "-port=1"], None, 1),
            (["-json", "-from"], None, 1),
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
