//! The command line: csi-proxy's flags in Go's style, and ours beside them, from one table.

mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use os::WinPath;
use program::flags::{Configuration, Section};
use program::http::BindAddress;
use program::log;

use crate::paths::Confinement;

pub use program::flags::{Flag, FlagError, unicode};

/// The parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The record of each changing call.
    pub audit_log: Option<PathBuf>,
    /// How long a call may take before its client is answered `DeadlineExceeded`.
    pub call_timeout: Duration,
    /// The rule for disks while page files and crash dumps are unknown.
    pub disk_guard: node::DiskGuard,
    /// How long a stop waits for calls in flight.
    pub drain_timeout: Duration,
    /// Refuse unknown non-zero bytes before a format, not only known signatures.
    pub format_guard: node::FormatGuard,
    /// Where the pages of health alone are served.
    pub healthz_address: Option<BindAddress>,
    /// Ignored arguments after the flags.
    pub ignored: Vec<String>,
    /// Given flags of csi-proxy without effect here.
    pub ineffective: Vec<&'static str>,
    /// The kubelet's folder: always an allowed root.
    pub kubelet_path: String,
    /// The folder for sockets where there are no named pipes.
    pub listen: PathBuf,
    /// Where the log goes, and how it looks.
    pub log: log::Options,
    /// How long no call may run on a connection before it is ended; see
    /// [`transport::ServerOptions::max_idle`].
    pub max_connection_idle: Duration,
    /// The bytes that the clients of all endpoints together may make the server hold; see
    /// [`transport::ServerOptions::max_held_bytes`].
    pub max_held_bytes: usize,
    /// Where `/metrics` and the pages of health are served.
    pub metrics_address: Option<BindAddress>,
    /// Facilities kept native beside a simulated node.
    pub native: Vec<os::Facility>,
    /// The access to the pipes, as SDDL; `None` is the built-in default.
    pub pipe_security: Option<String>,
    /// The policy of callable operations; `None` allows all.
    pub policy_file: Option<PathBuf>,
    /// Ask for encryption in new SMB global mappings.
    pub require_privacy: bool,
    /// Serve a simulated node in this folder.
    pub simulate: Option<PathBuf>,
    /// Where the paths of clients may lead.
    pub confinement: Confinement,
    /// The folder for notes of links being made; `None` writes none.
    pub state_dir: Option<WinPath>,
    /// Further folders for mounting and unmounting volumes.
    pub volume_dirs: Vec<String>,
    /// Run under the service control manager.
    pub windows_service: bool,
    /// Further allowed roots.
    pub working_dirs: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            audit_log: None,
            call_timeout: Duration::from_secs(600),
            disk_guard: node::DiskGuard::Refuse,
            drain_timeout: Duration::from_secs(20),
            format_guard: node::FormatGuard::Signatures,
            healthz_address: None,
            ignored: Vec::new(),
            ineffective: Vec::new(),
            kubelet_path: String::from(r"C:\var\lib\kubelet"),
            listen: PathBuf::from("csi-proxy"),
            log: log::Options::default(),
            max_connection_idle: Duration::from_secs(30 * 60),
            max_held_bytes: 64 << 20,
            metrics_address: None,
            native: Vec::new(),
            pipe_security: None,
            policy_file: None,
            confinement: Confinement::WorkingDirs,
            require_privacy: true,
            simulate: None,
            state_dir: r"C:\Program Files\wincsi".parse().ok(),
            volume_dirs: Vec::new(),
            windows_service: false,
            working_dirs: Vec::new(),
        }
    }
}

impl Config {
    /// The allowed roots in csi-proxy's order: the working folders, then the kubelet's.
    #[must_use]
    pub fn roots(&self) -> Vec<String> {
        let mut roots = self.working_dirs.clone();
        roots.push(self.kubelet_path.clone());
        roots
    }
}

impl Configuration for Config {
    const SECTIONS: &'static [Section<Self>] = table::SECTIONS;
    const VARIABLES: &'static str = "CSI_PROXY_";

    fn log(&mut self) -> &mut log::Options {
        &mut self.log
    }

    fn note_ineffective(&mut self, flag: &'static str) {
        self.ineffective.push(flag);
    }

    fn note_ignored(&mut self, arguments: Vec<String>) {
        self.ignored = arguments;
    }

    /// csi-proxy's command lines have none of ours.
    fn may_be_ignored(flag: &str) -> bool {
        !table::is_ours(flag)
    }

    /// An operator who names native facilities may think that the rest is simulated.
    fn check(&self) -> Result<(), &'static str> {
        match self.simulate.is_none() && !self.native.is_empty() {
            true => Err("-native without -simulate: everything is this machine's own already"),
            false => Ok(()),
        }
    }
}

/// csi-proxy's invocation.
pub type Invocation = program::flags::Invocation<Config>;

/// Reads csi-proxy's command line, without the program's name.
///
/// # Errors
/// As [`program::flags::parse`].
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Invocation, FlagError> {
    program::flags::parse(arguments)
}

/// As [`parse`], below it the flags of variables: `-drain-timeout` is `CSI_PROXY_DRAIN_TIMEOUT`. One that is no flag's is
/// ignored, as Kubernetes makes such variables for a Service named csi-proxy.
///
/// # Errors
/// As [`program::flags::parse`].
pub fn parse_with_variables(
    arguments: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Invocation, FlagError> {
    program::flags::parse_with_variables(&[], arguments, variable)
}

/// Every flag of csi-proxy's.
pub fn all() -> impl Iterator<Item = &'static Flag<Config>> {
    program::flags::all()
}

/// The usage of csi-proxy.
#[must_use]
pub fn usage() -> String {
    program::flags::usage::<Config>("csi-proxy")
}

/// The page `docs/flags.md`, rendered from the table.
#[must_use]
pub fn page() -> String {
    [PREFACE, &program::flags::table_of::<Config>()].concat()
}

const PREFACE: &str = "\
# Flags of csi-proxy

<!-- Written by `cargo xtask docs` from the table in crates/proxy/src/flags. -->

Look up a flag of `csi-proxy.exe`, its default, and how to write it.

The syntax is that of Go's `flag` package:

| rule | example |
|---|---|
| one dash or two, the value after `=` or as the next argument | `-v=2`, `--v=2`, `-v 2` |
| a flag that is true or false takes its value only by `=` | `-windows-service=false` |
| true is `1`, `t`, `T`, `true`, `TRUE`, `True`; false likewise | |
| the last of several values holds; `-working-dir` and `-volume-dir` add up | |
| `--` ends the flags | |
| an invalid command line ends the program with code 2 | |
| each flag is also a variable, which the command line overrides; one that is no flag's is ignored | `CSI_PROXY_DRAIN_TIMEOUT=3` |

Go's package stops at the first argument that is no flag, and csi-proxy of Kubernetes ignores all arguments after it.
This program ignores them with a warning: `-windows-service true -v=4` runs as a service, without `-v=4`. If a flag of
wincsi's is among them it rejects the command line, since that flag may limit what can be called.
";
