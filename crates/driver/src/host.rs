//! Who does the work on the node.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use wincsi::sim::{ClockMode, CreateError, NodeSpec, SimNode};
use wincsi::smb::Privacy;
use wincsi::{Node, NodeApi, NotWindows, Options, pipes};

use crate::flags::{Config, Host as Mode};
use crate::machine::{Machine, Own, Simulated};

pub struct Host {
    pub node: Arc<dyn NodeApi>,
    /// Kubelet's files and the event log.
    pub machine: Arc<dyn Machine>,
}

/// The variable of a HostProcess container that has the folder of its image (microsoft/hcsshim,
/// `internal/jobcontainers`). No other container has it.
const SANDBOX: &str = "CONTAINER_SANDBOX_MOUNT_POINT";

/// A variable of every container of a pod, for the API server's service
/// (<https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/>).
const KUBERNETES: &str = "KUBERNETES_SERVICE_HOST";

/// How long the process before this one may take to end, and how often it is looked at.
const END: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Where this process runs, as far as its variables report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In a HostProcess container with its image in this folder: what it does, it does on the node.
    HostProcess(String),
    /// In an ordinary container of a pod, which has neither the node's disks nor its paths.
    Container,
    /// On the machine, or in a container that nothing reports.
    Machine,
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(
        "this is an ordinary container ({KUBERNETES} is set and {SANDBOX} is not), where the node's disks are out of reach: set -host=proxy and mount csi-proxy's pipes, or run the pod as HostProcess"
    )]
    OrdinaryContainer,
    #[error("{0}: name a simulated node with -host=sim -simulate=FOLDER")]
    NotWindows(#[from] NotWindows),
    #[error("-host=sim needs -simulate=FOLDER")]
    NoFolder,
    #[error("simulated node: {0}")]
    Simulation(#[from] CreateError),
}

impl Placement {
    pub fn by(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name| variable(name).filter(|value| !value.is_empty());
        match (value(SANDBOX), value(KUBERNETES)) {
            (Some(root), _) => Self::HostProcess(root),
            (None, Some(_)) => Self::Container,
            (None, None) => Self::Machine,
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::HostProcess(root) => {
                format!("in a HostProcess container with its image in {root}")
            }
            Self::Container => String::from("in an ordinary container"),
            Self::Machine => String::from("on the machine"),
        }
    }
}

/// The node that the configuration names, for a process in this place.
pub fn open(config: &Config, placement: &Placement) -> Result<Host, HostError> {
    let place = placement.describe();
    let node: Arc<dyn NodeApi> = match (config.host, placement) {
        (Mode::Auto, Placement::Container) => return Err(HostError::OrdinaryContainer),
        (Mode::Auto | Mode::Native, _) => {
            if *placement == Placement::Container {
                // Variables can be set by others, and -host=native was asked for.
                tracing::warn!("{}", HostError::OrdinaryContainer);
            }
            let os = wincsi::native(crate::EVENT_SOURCE)?;
            tracing::info!("operations: native, {place}");
            Arc::new(Node::new(os, options(config)))
        }
        (Mode::Proxy, _) => {
            tracing::info!(
                "operations: through csi-proxy's pipes, {place}; no volume of another driver is taken over"
            );
            Arc::new(match &config.proxy_sockets {
                Some(folder) => pipes::Node::sockets(folder),
                None => pipes::Node::pipes(),
            })
        }
        (Mode::Simulated, _) => {
            let folder = config.simulate.as_deref().ok_or(HostError::NoFolder)?;
            return simulated(folder, config);
        }
    };
    let machine = Arc::new(Own);
    Ok(Host { node, machine })
}

fn options(config: &Config) -> Options {
    let mut options = Options::default();
    options.privacy = match config.require_privacy {
        true => Privacy::All,
        false => Privacy::Unasked,
    };
    options
}

fn simulated(folder: &Path, config: &Config) -> Result<Host, HostError> {
    tracing::warn!(
        "SIMULATED NODE in {}: nothing here touches a real disk",
        folder.display()
    );
    let node = match SimNode::exists(folder) {
        true => open_simulated(folder)?,
        false => SimNode::create(folder, &NodeSpec::named(&config.node_id), ClockMode::Real)?,
    };
    Ok(Host {
        node: Arc::new(Node::new(node.os(), options(config))),
        machine: Arc::new(Simulated(node.files().clone())),
    })
}

/// The process before this one lets its records go a moment before its simulated node.
fn open_simulated(folder: &Path) -> Result<SimNode, CreateError> {
    let end = Instant::now() + END;
    loop {
        match SimNode::open(folder, ClockMode::Real) {
            Err(CreateError::InUse { .. }) if Instant::now() < end => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::flags::{self, Invocation};

    fn placement(set: &[&str]) -> Placement {
        Placement::by(|name| set.contains(&name).then(|| String::from(r"C:\hpc")))
    }

    #[test]
    fn a_host_process_container_is_recognised_by_its_variable_also_in_a_pod() {
        let host_process = Placement::HostProcess(String::from(r"C:\hpc"));
        assert_eq!(placement(&[SANDBOX, KUBERNETES]), host_process);
        assert_eq!(placement(&[SANDBOX]), host_process);
        assert_eq!(placement(&[KUBERNETES]), Placement::Container);
        assert_eq!(placement(&[]), Placement::Machine);
        let empty = Placement::by(|_| Some(String::new()));
        assert_eq!(empty, Placement::Machine);
    }

    #[test]
    fn an_ordinary_container_is_refused_by_default_with_the_way_out() {
        let refused = open(&Config::default(), &Placement::Container);
        let text = refused.err().map(|error| error.to_string());
        assert!(text.is_some_and(|text| text.contains("-host=proxy")));
    }

    #[test]
    fn encryption_is_demanded_of_all_mappings_unless_a_flag_says_otherwise() {
        let privacy = |require_privacy| {
            let config = Config {
                require_privacy,
                ..Config::default()
            };
            options(&config).privacy
        };
        assert_eq!(
            (privacy(true), privacy(false)),
            (Privacy::All, Privacy::Unasked)
        );
        let by_default = flags::parse(&[], |_| None).unwrap();
        let Invocation::Serve(config) = by_default else {
            panic!("not served");
        };
        assert!(config.require_privacy);
    }

    #[test]
    fn a_simulated_node_of_a_process_that_ends_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let (spec, folder) = (NodeSpec::named("n"), home.path().join("node"));
        let before = SimNode::create(&folder, &spec, ClockMode::Real).unwrap();
        let (sender, opening) = mpsc::channel();
        let opened = thread::scope(|scope| {
            let next = scope.spawn(|| {
                sender.send(()).unwrap();
                open_simulated(&folder).map(drop)
            });
            opening.recv().unwrap();
            (0..1_000).for_each(|_| thread::yield_now());
            drop(before);
            next.join().unwrap()
        });
        assert!(opened.is_ok(), "{opened:?}");
    }

    #[test]
    fn an_ordinary_container_works_through_the_pipes() {
        let config = Config {
            host: Mode::Proxy,
            ..Config::default()
        };
        assert!(open(&config, &Placement::Container).is_ok());
    }
}
