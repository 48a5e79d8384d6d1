//! `wincsi doctor //server/share`: name, TCP and one SMB NEGOTIATE, each timed, and with which code Windows would fail to
//! map the share. Nothing logs on: a wrong password cannot lock an account, and a stranger's server learns no user.

mod negotiate;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use program::hidden;
use serde::Serialize;
use wincsi::smb::RemotePath;

pub use self::negotiate::{AnswerError, Negotiated, parse};
use crate::cluster_dns::{ClusterDns, LookupError};
use crate::flags::Config;
use crate::kinds::share::attributes::{SourceError, remote};

const PORT: u16 = 445;

/// `ERROR_BAD_NETPATH`, `ERROR_NETNAME_DELETED` and `ERROR_NETWORK_ACCESS_DENIED`.
const BAD_NETPATH: u32 = 53;
const NETNAME_DELETED: u32 = 64;
const NETWORK_ACCESS_DENIED: u32 = 65;

/// `WSAHOST_NOT_FOUND` and `WSANO_DATA`: the name has no address. Others are of this node or of a server of names that
/// does not answer.
const NO_ADDRESS: [i32; 2] = [11001, 11004];

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

/// Why Windows would not map the share, or may not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Whether it would fail for certain: what was only slow may answer Windows, which waits longer.
    pub is_certain: bool,
    /// Windows's code, where it is certain.
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
        let addresses = named.map_err(|why| Failure {
            is_certain: why.is_certain,
            // The driver looks up the others, and refuses the volume itself.
            code: (why.is_certain && why.is_of_system).then_some(BAD_NETPATH),
            text: format!("the name {} has no address: {why}", self.server),
            advice: "compare the name with DNS; a service of the cluster needs -cluster-dns (docs/smb.md#servers-in-the-cluster)",
        })?;
        let connected = self.timed("tcp", || addresses.connect(rules.limits.connect));
        let stream = connected.map_err(|why| Failure::of_port(port, &why))?;
        let negotiated = self.timed("smb", || negotiate::ask(stream.0, rules.limits.negotiate));
        let negotiated = negotiated.map_err(|error| Failure {
            is_certain: error.is_certain(),
            code: matches!(error, AnswerError::Ended).then_some(NETNAME_DELETED),
            text: format!("SMB 2 or 3 was not agreed on: {error}"),
            advice: "see that the port is a server's of SMB 2.1 or later, and that nothing between cuts the connection",
        })?;
        match rules.privacy && !negotiated.can_encrypt() {
            true => Err(Failure {
                is_certain: true,
                code: Some(NETWORK_ACCESS_DENIED),
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

    /// 0: nothing of this keeps Windows from mapping; 3: it would fail; 4: not known.
    pub fn exit_code(&self) -> u8 {
        match &self.failure {
            None => 0,
            Some(failure) if failure.is_certain => 3,
            Some(_) => 4,
        }
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
        match (failure.is_certain, failure.code) {
            (false, _) => f.write_str("\nnot known whether Windows would fail"),
            (true, None) => f.write_str("\nit would fail"),
            (true, Some(code)) => write!(f, "\nWindows would fail with {code}"),
        }?;
        write!(f, ": {}. ", failure.text)?;
        write!(f, "Do: {}", failure.advice)
    }
}

impl Failure {
    /// A port that was silent may only be slow, and what this process may not do says nothing of the server.
    fn of_port(port: u16, why: &io::Error) -> Self {
        let is_certain = matches!(
            why.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::NotFound
        );
        Self {
            is_certain,
            code: is_certain.then_some(BAD_NETPATH),
            text: format!("port {port} takes no connection: {why}"),
            advice: "open the port between node and server, and see that the server runs",
        }
    }
}

/// Why a name has no address.
struct Nameless {
    /// Whether that is an answer, and not the lack of one.
    is_certain: bool,
    /// Whether the system was asked, as Windows would ask it.
    is_of_system: bool,
    text: String,
}

impl fmt::Display for Nameless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Nameless {
    fn by_cluster(error: &LookupError) -> Self {
        Self {
            is_certain: error.is_an_answer(),
            is_of_system: false,
            text: error.to_string(),
        }
    }

    fn by_system(error: &io::Error) -> Self {
        let code = error.raw_os_error();
        Self {
            is_certain: code.is_some_and(|code| NO_ADDRESS.contains(&code)),
            is_of_system: true,
            text: error.to_string(),
        }
    }
}

struct Addresses(Vec<SocketAddr>);

impl Addresses {
    fn of(source: &Source, rules: &Rules<'_>, port: u16) -> Result<Self, Nameless> {
        if let Some(server) = source.0.ipv6_server() {
            let zone = server.zone.map_or(0, u32::from);
            let address = SocketAddrV6::new(server.address, port, 0, zone);
            return Ok(Self(vec![address.into()]));
        }
        let name = source.0.server();
        let dns = rules.cluster_dns;
        if let Some(dns) = dns.filter(|_| ClusterDns::is_of_cluster(&name)) {
            let address = dns.address_of(&name, rules.limits.name);
            let address = address.map_err(|error| Nameless::by_cluster(&error))?;
            return Ok(Self(vec![SocketAddr::new(address, port)]));
        }
        let found = Self::by_system(name, port, rules.limits.name);
        found.map_err(|error| Nameless::by_system(&error))
    }

    fn by_system(name: String, port: u16, within: Duration) -> io::Result<Self> {
        let (sender, found) = mpsc::channel();
        // The system's look-up has no bound.
        let resolve = move || sender.send((name, port).to_socket_addrs().map(Vec::from_iter));
        thread::Builder::new().spawn(resolve)?;
        match found.recv_timeout(within) {
            Ok(found) => found.map(|mut found| {
                found.truncate(MOST_ADDRESSES);
                Self(found)
            }),
            Err(_) => Err(io::Error::new(ErrorKind::TimedOut, "no answer in time")),
        }
    }

    /// To the first that answers. One that was only slow outweighs those that refuse.
    fn connect(&self, within: Duration) -> io::Result<Connected> {
        let mut why = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in &self.0 {
            match TcpStream::connect_timeout(address, within) {
                Ok(stream) => return Ok(Connected(stream, *address)),
                Err(_) if why.kind() == ErrorKind::TimedOut => {}
                Err(error) => why = io::Error::new(error.kind(), format!("{address}: {error}")),
            }
        }
        Err(why)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_has_a_code() {
        for (kind, code) in [
            (ErrorKind::ConnectionRefused, Some(53)),
            (ErrorKind::HostUnreachable, Some(53)),
            (ErrorKind::TimedOut, None),
            (ErrorKind::PermissionDenied, None),
        ] {
            let failure = Failure::of_port(445, &kind.into());
            let outcome = (failure.code, failure.is_certain);
            assert_eq!(outcome, (code, code.is_some()), "{kind}");
        }
        // Windows's codes of names, by their numbers here too.
        for (code, is_certain) in [
            (11001, true),
            (11004, true),
            (11002, false),
            (11003, false),
            (10055, false),
            (8, false),
        ] {
            let nameless = Nameless::by_system(&io::Error::from_raw_os_error(code));
            assert_eq!(nameless.is_certain, is_certain, "{code}");
        }
        assert!(!Nameless::by_system(&ErrorKind::TimedOut.into()).is_certain);
    }
}
