//! Addresses of the cluster's services. A Windows node has no DNS of the cluster, so that a share of a service in it,
//! `//samba.files.svc.cluster.local/data`, has no address there (kubernetes-csi/csi-driver-smb issue 294).
//!
//! Only such names are looked up here, and only with the server that `-cluster-dns` names.

mod exchange;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use simple_dns::rdata::RData;
use simple_dns::{Name, Packet, RCODE, TYPE};

use self::exchange::Query;

const PORT: u16 = 53;

/// How long one attempt waits for its answer. A lookup makes four at most: two for each kind of address.
const PATIENCE: Duration = Duration::from_secs(2);

/// The names that are looked up end in this.
const CLUSTER: &str = ".svc.cluster.local";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDns {
    server: SocketAddr,
    patience: Duration,
}

/// A name has no address now. It may have one later: a service that is made anew has none meanwhile.
#[derive(Debug, thiserror::Error)]
#[error("{name} is not resolved by {server} (-cluster-dns): {reason}")]
pub struct LookupError {
    name: String,
    server: SocketAddr,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("it has no address")]
    NoAddress,
    #[error("there is no such name")]
    NoSuchName,
    #[error("it is no name of DNS")]
    NoName,
    #[error("the server answers {0:?}")]
    Refused(RCODE),
    #[error("the answer is malformed")]
    Malformed,
    #[error("{0}")]
    Unreachable(#[from] io::Error),
}

impl LookupError {
    /// Whether the server says that the name has no address, and is not out of reach or at a loss.
    pub fn is_an_answer(&self) -> bool {
        matches!(
            self.reason,
            Reason::NoAddress | Reason::NoSuchName | Reason::NoName
        )
    }
}

impl ClusterDns {
    /// The server at an address, with or without a port.
    ///
    /// # Errors
    /// The text says what it should have been.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let address = bare.unwrap_or(text).parse::<IpAddr>();
        let server = match address {
            Ok(address) => Ok(SocketAddr::new(address, PORT)),
            Err(_) => text.parse(),
        };
        let server = server.map_err(|_| "it must be an address, or an address and a port")?;
        Ok(Self {
            server,
            patience: PATIENCE,
        })
    }

    /// Whether a server's name is one that is looked up here.
    pub fn is_of_cluster(name: &str) -> bool {
        let end = name.len().checked_sub(CLUSTER.len());
        let end = end.filter(|end| *end > 0).and_then(|end| name.get(end..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(CLUSTER))
    }

    /// The address of a name: of IPv4 if it has one. Of several it is the least, so that a repeated call has the same.
    ///
    /// # Errors
    /// It has none now, or the server does not answer in this time.
    pub fn address_of(&self, name: &str, within: Duration) -> Result<IpAddr, LookupError> {
        let until = Instant::now() + within;
        self.lookup(name, until).map_err(|reason| LookupError {
            name: name.to_owned(),
            server: self.server,
            reason,
        })
    }

    fn lookup(&self, name: &str, until: Instant) -> Result<IpAddr, Reason> {
        for kind in [TYPE::A, TYPE::AAAA] {
            if let Some(address) = self.least(name, kind, until)? {
                return Ok(address);
            }
        }
        Err(Reason::NoAddress)
    }

    fn least(&self, name: &str, kind: TYPE, until: Instant) -> Result<Option<IpAddr>, Reason> {
        let query = Query::new(name, kind).map_err(|_| Reason::NoName)?;
        let answer = query.ask(self.server, || until.min(Instant::now() + self.patience))?;
        let answer = Packet::parse(&answer).map_err(|_| Reason::Malformed)?;
        match answer.rcode() {
            RCODE::NoError => Ok(addresses(&answer, query.name()).into_iter().min()),
            RCODE::NameError => Err(Reason::NoSuchName),
            other => Err(Reason::Refused(other)),
        }
    }
}

/// The addresses in an answer that are the name's own, or of the name that it stands for.
fn addresses(answer: &Packet<'_>, name: &Name<'_>) -> Vec<IpAddr> {
    let owner = meant(answer, name);
    let own = answer.answers.iter().filter(|record| record.name == *owner);
    let addresses = own.filter_map(|record| match &record.rdata {
        RData::A(it) => Some(Ipv4Addr::from_bits(it.address).into()),
        RData::AAAA(it) => Some(Ipv6Addr::from_bits(it.address).into()),
        _ => None,
    });
    addresses.collect()
}

/// The name at the end of the aliases. There are no more of them than records, however they lead.
fn meant<'a>(answer: &'a Packet<'a>, mut name: &'a Name<'a>) -> &'a Name<'a> {
    for _ in 0..answer.answers.len() {
        let mut records = answer.answers.iter();
        let alias = records.find_map(|record| match &record.rdata {
            RData::CNAME(target) if record.name == *name => Some(&target.0),
            _ => None,
        });
        let Some(target) = alias else { break };
        name = target;
    }
    name
}
