//! `wincsi doctor //server/share`: name, TCP and one SMB NEGOTIATE, each timed, and with which code Windows would fail to
//! map the share. Nothing logs on: a wrong password cannot lock an account, and a stranger's server learns no user.

mod negotiate;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use program::hidden;
use serde::Serialize;
use wincsi::smb::RemotePath;

pub use self::negotiate::{AnswerError, Negotiated, parse};
use crate::cluster_dns::ClusterDns;
use crate::flags::Config;
use crate::kinds::share::attributes::{SourceError, remote};

const PORT: u16 = 445;

/// How many addresses of a name are dialled.
const MOST_ADDRESSES: usize = 4;

/// A share, as a volume's `source` names it.
#[derive(Clone, Debug)]
pub struct Source(RemotePath);

impl Source {
    /// # Errors
    /// A volume's `source` would be refused so.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let context = BTreeMap::from([(String::from("source"), text.to_owned())]);
        remote(&context).map(Self)
    }
}

/// How a step went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub step: &'static str,
    pub milliseconds: u64,
    pub result: String,
}

/// Why Windows would not map the share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Windows's code, where it is known.
    pub code: Option<u32>,
    pub text: String,
    pub advice: &'static str,
}

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    version: u32,
    pub server: String,
    pub port: u16,
    pub steps: Vec<Step>,
    pub failure: Option<Failure>,
}

/// How long each step may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub name: Duration,
    /// Of each address.
    pub connect: Duration,
    pub negotiate: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            name: Duration::from_secs(5),
            connect: Duration::from_secs(3),
            negotiate: Duration::from_secs(5),
        }
    }
}

/// What a look needs to know of the configuration.
pub struct Rules<'a> {
    pub limits: Limits,
    pub port: Option<u16>,
    /// Whether mappings have to be encrypted.
    pub privacy: bool,
    pub cluster_dns: Option<&'a ClusterDns>,
}

impl<'a> Rules<'a> {
    pub fn of(config: &'a Config, port: Option<u16>) -> Self {
        Self {
            limits: Limits::default(),
            port,
            privacy: config.require_privacy,
            cluster_dns: config.kinds.shares.rules.cluster_dns.as_ref(),
        }
    }
}

/// Looks at the server of a share, in 22 s at most.
pub fn look(source: &Source, rules: &Rules<'_>) -> Server {
    let mut server = Server {
        version: 1,
        server: source.0.server(),
        port: rules.port.unwrap_or(PORT),
        steps: Vec::new(),
        failure: None,
    };
    server.failure = server.walk(source, rules).err();
    server
}

impl Server {
    fn walk(&mut self, source: &Source, rules: &Rules<'_>) -> Result<(), Failure> {
        let port = self.port;
        let named = self.timed("name", || Addresses::of(source, rules, port));
        let addresses = named.map_err(|why| {
            let text = format!("the name {} has no address: {why}", self.server);
            Failure::network_path(text, "compare the name with DNS; a service of the cluster needs -cluster-dns (docs/smb.md#servers-in-the-cluster)")
        })?;
        let connected = self.timed("tcp", || addresses.connect(rules.limits.connect));
        let stream = connected.map_err(|why| {
            let text = format!("port {} does not answer: {why}", self.port);
            Failure::network_path(
                text,
                "open the port between node and server, and see that the server runs",
            )
        })?;
        let negotiated = self.timed("smb", || negotiate::ask(stream.0, rules.limits.negotiate));
        let negotiated = negotiated.map_err(|error| Failure {
            code: error.is_cut().then_some(64),
            text: format!("no SMB 2 or 3 is spoken there: {error}"),
            advice: "see that the port is a server's of SMB 2.1 or later, and that nothing between cuts the connection",
        })?;
        match rules.privacy && !negotiated.can_encrypt() {
            true => Err(Failure {
                code: Some(65),
                text: String::from(
                    "the server does not encrypt, and mappings have to be encrypted (-require-privacy)",
                ),
                advice: "switch encryption on at the server; or WINCSI_REQUIRE_PRIVACY=false, and seal for other volumes",
            }),
            false => Ok(()),
        }
    }

    fn timed<T: fmt::Display, E: fmt::Display>(
        &mut self,
        step: &'static str,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let began = Instant::now();
        let outcome = run();
        let result = match &outcome {
            Ok(done) => done.to_string(),
            Err(error) => error.to_string(),
        };
        self.steps.push(Step {
            step,
            milliseconds: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            result: hidden::shown(&result),
        });
        outcome
    }

    /// 0: a mapping is not kept from it by what was looked at; 3: it would fail.
    pub fn exit_code(&self) -> u8 {
        if self.failure.is_some() { 3 } else { 0 }
    }

    /// As JSON, of one line.
    pub fn to_json(&self) -> String {
        // Strings and numbers have JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The steps, and what Windows would make of them.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at port {}", self.server, self.port)?;
        for step in &self.steps {
            let Step {
                step,
                milliseconds,
                result,
            } = step;
            write!(f, "\n{step}: {result} ({milliseconds} ms)")?;
        }
        let Some(failure) = &self.failure else {
            return f.write_str("\nnothing known that keeps Windows from mapping it");
        };
        let code = failure.code.map(|code| format!(" with {code}"));
        let code = code.unwrap_or_default();
        write!(f, "\nWindows would fail{code}: {}. ", failure.text)?;
        write!(f, "Do: {}", failure.advice)
    }
}

impl Failure {
    /// `ERROR_BAD_NETPATH`.
    fn network_path(text: String, advice: &'static str) -> Self {
        Self {
            code: Some(53),
            text,
            advice,
        }
    }
}

struct Addresses(Vec<SocketAddr>);

impl Addresses {
    fn of(source: &Source, rules: &Rules<'_>, port: u16) -> io::Result<Self> {
        if let Some(server) = source.0.ipv6_server() {
            let zone = server.zone.map_or(0, u32::from);
            let address = SocketAddrV6::new(server.address, port, 0, zone);
            return Ok(Self(vec![address.into()]));
        }
        let name = source.0.server();
        let dns = rules.cluster_dns;
        if let Some(dns) = dns.filter(|_| ClusterDns::is_of_cluster(&name)) {
            let address: IpAddr = dns
                .address_of(&name, rules.limits.name)
                .map_err(io::Error::other)?;
            return Ok(Self(vec![SocketAddr::new(address, port)]));
        }
        let (sender, found) = mpsc::channel();
        // The system's look-up has no bound.
        let resolve = move || sender.send((name, port).to_socket_addrs().map(Vec::from_iter));
        thread::Builder::new().spawn(resolve)?;
        match found.recv_timeout(rules.limits.name) {
            Ok(found) => found.map(|mut found| {
                found.truncate(MOST_ADDRESSES);
                Self(found)
            }),
            Err(_) => Err(io::Error::new(ErrorKind::TimedOut, "no answer in time")),
        }
    }

    /// To the first that answers.
    fn connect(&self, within: Duration) -> io::Result<Connected> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in &self.0 {
            match TcpStream::connect_timeout(address, within) {
                Ok(stream) => return Ok(Connected(stream, *address)),
                Err(error) => last = io::Error::new(error.kind(), format!("{address}: {error}")),
            }
        }
        Err(last)
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self.0.iter().map(|address| address.ip().to_string());
        f.write_str(&Vec::from_iter(addresses).join(", "))
    }
}

struct Connected(TcpStream, SocketAddr);

impl fmt::Display for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} accepts", self.1)
    }
}
