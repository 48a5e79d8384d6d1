//! The command line of `wincsi node`, from one table; each flag also comes from `WINCSI_<NAME>`.
//!
//! In a HostProcess container the runtime starts programs through `cmd /c`, as SYSTEM, so that what an operator sets must
//! not travel as an argument: `-max-volumes` is `WINCSI_MAX_VOLUMES` there.

mod foreign;
mod page;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use program::flags::{Configuration, Section};
use program::http::BindAddress;
use program::log;
use transport::Endpoint;
use wincsi::WinPath;

use crate::kinds;
use crate::kubelet::Topology;

pub use program::flags::{FlagError, Invocation, unicode};

pub use self::page::page;

/// What the command line asks for. [`parse`] begins with the defaults of the table.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Whether the driver has a controller, in this process or another.
    pub has_controller: bool,
    /// How long a stop waits for calls in flight.
    pub drain_timeout: Duration,
    pub driver_name: String,
    /// Where CSI is served; `None` is below the kubelet's folder.
    pub endpoint: Option<Endpoint>,
    /// Where the pages for probes alone are served.
    pub health_address: Option<BindAddress>,
    pub host: Host,
    /// Arguments behind the flags, which mean nothing.
    pub ignored: Vec<String>,
    /// Flags that were given and have no effect.
    pub ineffective: Vec<&'static str>,
    /// How volumes of each kind are served.
    pub kinds: kinds::Settings,
    /// How kubelet dials `endpoint`; `None` is as it is served.
    pub kubelet_endpoint: Option<String>,
    pub kubelet_path: PathBuf,
    /// Where the log goes, and how it looks.
    pub log: log::Options,
    /// How many volumes the node takes; zero leaves it to Kubernetes.
    pub max_volumes: i64,
    /// How long `wincsi node drain` waits for calls in flight.
    pub pre_stop_timeout: Duration,
    pub metrics_address: Option<BindAddress>,
    /// The node's id; empty is the UUID of its firmware.
    pub node_id: String,
    /// The folder of csi-proxy's sockets where there are no named pipes.
    pub proxy_sockets: Option<PathBuf>,
    /// Whether the driver registers itself with kubelet; otherwise a sidecar does.
    pub registers: bool,
    /// How long kubelet may leave the registration socket alone before it is made anew; `None` is for ever.
    pub registration_timeout: Option<Duration>,
    /// Where registration is served; `None` is below the kubelet's folder.
    pub registration_endpoint: Option<Endpoint>,
    /// Whether mappings of shares have to be encrypted, where a volume's options do not say.
    pub require_privacy: bool,
    /// The folder of the simulated node.
    pub simulate: Option<PathBuf>,
    /// The folder of the records; `None` is beside the socket of CSI.
    pub state_dir: Option<PathBuf>,
    pub topology: Topology,
}

/// Who does the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// This process, unless it is in an ordinary container, where it is refused.
    #[default]
    Auto,
    /// This process, in a HostProcess container or on the machine itself.
    Native,
    /// csi-proxy, over its pipes.
    Proxy,
    Simulated,
}

impl Config {
    pub fn csi_endpoint(&self) -> Endpoint {
        let below = || {
            let folder = self.kubelet_path.join("plugins").join(&self.driver_name);
            Endpoint::socket(folder.join("csi.sock"))
        };
        self.endpoint.clone().unwrap_or_else(below)
    }

    /// Where kubelet finds the driver.
    pub fn registry_endpoint(&self) -> Endpoint {
        let below = || {
            let socket = format!("{}-reg.sock", self.driver_name);
            Endpoint::socket(self.kubelet_path.join("plugins_registry").join(socket))
        };
        self.registration_endpoint.clone().unwrap_or_else(below)
    }

    /// Where this driver registers itself; `None` leaves it to a sidecar.
    pub fn own_registry(&self) -> Option<Endpoint> {
        self.registers.then(|| self.registry_endpoint())
    }

    /// Kubelet's folder as the node knows it; `None` if it is no path of Windows.
    pub fn kubelet_folder(&self) -> Option<WinPath> {
        self.kubelet_path.to_str()?.parse().ok()
    }

    /// The folder of the records; `None` when nothing says where.
    pub fn records(&self) -> Option<PathBuf> {
        let beside = || match self.csi_endpoint() {
            Endpoint::Socket(path) => path.parent().map(|folder| folder.join("volumes")),
            _ => None,
        };
        self.state_dir.clone().or_else(beside)
    }
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
        match (self.host, &self.simulate) {
            (Host::Simulated, None) => Err("-host=sim needs -simulate=FOLDER"),
            (Host::Auto | Host::Native | Host::Proxy, Some(_)) => Err("-simulate needs -host=sim"),
            // `wincsi node -v=4 drain` must not serve.
            _ if !self.ignored.is_empty() => {
                Err("an argument is no flag: flags follow the command")
            }
            _ if self.records().is_none() => Err("a tcp endpoint needs -state-dir"),
            _ => Ok(()),
        }
    }
}

/// Reads the command line of `wincsi node`, behind that word, and the environment, which the command line overrides.
pub fn parse(
    arguments: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Invocation<Config>, FlagError> {
    program::flags::parse_with_variables(table::FLAGS, arguments, variable)
}

/// A warning of each variable that is of no flag, with the flag's that is nearest.
pub fn stray_variables(names: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    program::flags::stray_variables::<Config>(names)
}

pub fn usage() -> String {
    program::flags::usage::<Config>("wincsi node")
}

#[cfg(test)]
mod tests {
    use wire::csi::v1::Topology;

    use super::*;
    use crate::kinds::share::attributes::Strictness;

    fn config(arguments: &[&str], variables: &[(&str, &str)]) -> Config {
        let arguments: Vec<_> = arguments.iter().map(|one| (*one).to_owned()).collect();
        let variable = |name: &str| {
            let mut all = variables.iter();
            let found = all.find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        match parse(&arguments, variable).unwrap() {
            Invocation::Serve(config) => *config,
            _ => panic!("not served"),
        }
    }

    #[test]
    fn sockets_and_records_lie_below_the_kubelets_folder() {
        let config = config(&["-drivername=d", "-kubelet-path=/k"], &[]);
        assert_eq!(
            config.csi_endpoint(),
            Endpoint::socket("/k/plugins/d/csi.sock")
        );
        let registration = Endpoint::socket("/k/plugins_registry/d-reg.sock");
        assert_eq!(config.registry_endpoint(), registration);
        assert_eq!(
            config.records(),
            Some(PathBuf::from("/k/plugins/d/volumes"))
        );
    }

    #[test]
    fn a_variable_is_a_flag_whatever_a_shell_would_make_of_it() {
        let hostile = "& calc | %PATH% ^ \" ; $(x)";
        let config = config(
            &["-max-volumes=3"],
            &[("WINCSI_NODEID", hostile), ("WINCSI_MAX_VOLUMES", "2")],
        );
        assert_eq!((config.node_id.as_str(), config.max_volumes), (hostile, 3));
    }

    #[test]
    fn a_variable_of_no_flag_is_named_with_the_nearest() {
        let of = |name: &str| -> Vec<String> {
            stray_variables([name.to_owned()].into_iter()).collect()
        };
        let warnings = of("WINCSI_MAX_VOLUME");
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("WINCSI_MAX_VOLUME is"), "{warnings:?}");
        assert!(warnings[0].contains("WINCSI_MAX_VOLUMES?"), "{warnings:?}");
        assert_eq!(of("WINCSI_MAX_VOLUMES"), [""; 0]);
        assert_eq!(of("wincsi_max_volumes"), [""; 0]);
        assert_eq!(of("wincsi_max_volume").len(), 1);
        assert_eq!(of("PATH"), [""; 0]);
        for of_service in [
            "WINCSI_SERVICE_HOST",
            "WINCSI_SERVICE_PORT",
            "WINCSI_SERVICE_PORT_METRICS",
            "WINCSI_PORT",
            "WINCSI_PORT_29655_TCP",
            "WINCSI_PORT_29655_TCP_ADDR",
            "WINCSI_NODE_SERVICE_HOST",
            "WINCSI_NODE_PORT_29655_TCP_PROTO",
        ] {
            assert_eq!(of(of_service), [""; 0]);
        }
    }

    #[test]
    fn topology_keys_of_the_variable_and_of_each_flag_add_up() {
        let variable = ("WINCSI_TOPOLOGY", "a=1,b=2");
        let config = config(&["-topology=b=3,c=4", "-topology=d=5"], &[variable]);
        let expected = [("a", "1"), ("b", "3"), ("c", "4"), ("d", "5")];
        let segments = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let segments = segments.into();
        assert_eq!(config.topology.message(), Some(Topology { segments }));
    }

    #[test]
    fn there_is_a_controller_if_a_flag_or_its_variable_says_so() {
        let variable = ("WINCSI_CONTROLLER", "true");
        for (arguments, variables, expected) in [
            (&[][..], &[][..], false),
            (&["-controller"], &[], true),
            (&[], &[variable], true),
            (&["-controller=false"], &[variable], false),
        ] {
            assert_eq!(config(arguments, variables).has_controller, expected);
        }
    }

    #[test]
    fn what_means_nothing_together_is_refused() {
        for arguments in [
            &["-host=sim"][..],
            &["-simulate=/tmp/x"],
            &["-endpoint=tcp://127.0.0.1:7000"],
            &["-topology=a"],
            &["-topology=a=& calc"],
            &["-topology=zone=1", "-topology=Zone=1"],
            &["stray", "-max-volumes=3"],
            &["-max-volumes=3", "drain"],
            &["-registration-timeout=x"],
            &["-mount-options=loose"],
            &["-readonly="],
            &["-cluster-dns=dns.example"],
            &["-vol-stats-cache-expire-in-minutes=x"],
            &["-vol-stats-cache-expire-in-minutes=9223372036854775807"],
        ] {
            let arguments: Vec<_> = arguments.iter().map(|one| (*one).to_owned()).collect();
            assert!(parse(&arguments, |_| None).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn a_flag_of_another_driver_is_refused_with_what_replaces_it() {
        for (argument, replacement) in [
            ("--volume-attach-limit=8", "set -max-volumes"),
            ("-kubeconfig=C:\\k", "calls no Kubernetes API"),
            ("--enable-windows-host-process", "-host=native"),
            ("-pre-stop-hook=true", "wincsi node drain"),
            (
                "--remove-smb-mapping-during-unmount",
                "with its last volume",
            ),
        ] {
            let refused = parse(&[argument.to_owned()], |_| None).unwrap_err();
            let text = refused.to_string();
            assert!(text.contains(replacement), "{text}");
        }
        let unknown = parse(&[String::from("-nonsense")], |_| None).unwrap_err();
        assert_eq!(unknown, FlagError::Undefined(String::from("nonsense")));
    }

    #[test]
    fn a_flag_is_either_ours_or_refused_with_its_replacement() {
        let is_ours = |name: &str| program::flags::all::<Config>().any(|flag| flag.name == name);
        assert!(foreign::SHARED.iter().all(|name| is_ours(name)));
        assert!(foreign::FOREIGN.iter().all(|(name, ..)| !is_ours(name)));
        assert!(foreign::FOREIGN.is_sorted_by_key(|(name, ..)| *name));
    }

    #[test]
    fn no_wait_for_kubelet_is_endless_when_it_is_zero() {
        let patience = |text: &str| config(&[text], &[]).registration_timeout;
        assert_eq!(patience("-registration-timeout=0"), None);
        let ten = Some(Duration::from_secs(10));
        assert_eq!(patience("-registration-timeout=10"), ten);
    }

    #[test]
    fn figures_of_shares_are_kept_as_long_as_csi_driver_smb_keeps_them() {
        let kept = |arguments: &[&str]| config(arguments, &[]).kinds.shares.figures.as_secs() / 60;
        assert_eq!(kept(&[]), 10);
        for (minutes, expected) in [("3", 3), ("0", 10), ("-1", 10)] {
            let flag = format!("-vol-stats-cache-expire-in-minutes={minutes}");
            assert_eq!(kept(&[&flag]), expected, "{minutes}");
        }
    }

    #[test]
    fn shares_are_read_leniently_unless_flags_say_otherwise() {
        let read = |arguments: &[&str]| {
            let config = config(arguments, &[]);
            (
                config.kinds.shares.rules.options,
                config.kinds.shares.rules.readers,
                config.require_privacy,
            )
        };
        assert_eq!(read(&[]), (Strictness::Lenient, Strictness::Lenient, true));
        let flags = [
            "-mount-options=strict",
            "-readonly=strict",
            "-require-privacy=false",
        ];
        assert_eq!(
            read(&flags),
            (Strictness::Strict, Strictness::Strict, false)
        );
        assert_eq!(
            read(&flags[..1]),
            (Strictness::Strict, Strictness::Lenient, true)
        );
    }

    #[test]
    fn the_page_is_the_table() {
        let page = include_str!("../../../../docs/driver-flags.md").replace("\r\n", "\n");
        let is_fresh = page == super::page();
        assert!(
            is_fresh,
            "docs/driver-flags.md is stale: run `cargo xtask docs`"
        );
    }
}
