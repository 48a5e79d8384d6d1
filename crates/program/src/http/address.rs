use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::{fmt, io};

/// Where to listen: `host:port`, or `:port` with [`BarePort`]'s meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindAddress {
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Every,
    Loopback,
    Named(String),
}

/// The meaning of a port without a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarePort {
    /// Every address of the machine, of IPv4 and IPv6, as in Go.
    EveryAddress,
    /// 127.0.0.1.
    Loopback,
}

impl BindAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// It is no `host:port`; the text has the valid form.
    pub fn parse(text: &str, bare: BarePort) -> Result<Self, &'static str> {
        let wanted = "host:port or :port";
        let (host, port) = text.rsplit_once(':').ok_or(wanted)?;
        let port = port.parse().map_err(|_| wanted)?;
        if host.contains(char::is_whitespace) {
            return Err(wanted);
        }
        let host = match (host, bare) {
            ("", BarePort::EveryAddress) => Host::Every,
            ("", BarePort::Loopback) => Host::Loopback,
            (host, _) => Host::Named(host.to_owned()),
        };
        Ok(Self { host, port })
    }

    /// Listens.
    pub(super) fn bind(&self) -> io::Result<Vec<TcpListener>> {
        let one = match &self.host {
            Host::Every => return bind_every(self.port),
            Host::Loopback => TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)),
            Host::Named(_) => {
                let addresses: Vec<SocketAddr> = self.to_string().to_socket_addrs()?.collect();
                TcpListener::bind(&*addresses)
            }
        };
        Ok(vec![one?])
    }
}

/// Go has one socket for both families. On Windows a socket of IPv6 is for IPv6 only unless
/// `IPV6_V6ONLY` is switched off, impossible with `std`, so there are two; if one takes both, as on
/// Linux, the second is refused as taken, and the one for both replaces the first.
///
/// <https://learn.microsoft.com/windows/win32/winsock/dual-stack-sockets>
fn bind_every(port: u16) -> io::Result<Vec<TcpListener>> {
    let four = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let both = (Ipv6Addr::UNSPECIFIED, four.local_addr()?.port());
    match TcpListener::bind(both) {
        Ok(six) => Ok(vec![four, six]),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            drop(four);
            Ok(vec![TcpListener::bind(both)?])
        }
        Err(error) => {
            tracing::info!("http: no IPv6 on this machine: {error}");
            Ok(vec![four])
        }
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match &self.host {
            Host::Named(host) => host,
            Host::Every | Host::Loopback => "",
        };
        write!(f, "{host}:{}", self.port)
    }
}

/// The address by which a client of this machine reaches a listening socket.
pub(super) fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, listening.port())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpStream};

    use super::{BarePort, BindAddress};

    #[test]
    fn a_bare_port_is_what_the_flag_says_and_others_are_what_they_say() {
        let bound = |text: &str, bare| {
            let address = BindAddress::parse(text, bare).expect(text);
            let listeners = address.bind().expect(text);
            let ips = listeners
                .iter()
                .map(|listener| listener.local_addr().expect(text).ip());
            ips.collect::<Vec<_>>()
        };
        for (text, ip) in [("127.0.0.1:0", "127.0.0.1"), ("0.0.0.0:0", "0.0.0.0")] {
            for bare in [BarePort::Loopback, BarePort::EveryAddress] {
                assert_eq!(
                    bound(text, bare),
                    [ip.parse::<Ipv4Addr>().expect(ip)],
                    "{text}"
                );
            }
        }
        assert_eq!(bound(":0", BarePort::Loopback), [Ipv4Addr::LOCALHOST]);
        let every = bound(":0", BarePort::EveryAddress);
        assert!(
            every.iter().all(std::net::IpAddr::is_unspecified),
            "{every:?}"
        );
        for wrong in ["9090", "", "a:b", ":99999", "a b:1"] {
            assert!(
                BindAddress::parse(wrong, BarePort::Loopback).is_err(),
                "{wrong}"
            );
        }
    }

    /// One port for both families, by one or two sockets.
    #[test]
    fn every_address_has_one_port() {
        let address = BindAddress::parse(":0", BarePort::EveryAddress).expect("an address");
        let listeners = address.bind().expect("a free port");
        let addresses: Vec<SocketAddr> = listeners
            .iter()
            .map(|listener| listener.local_addr().expect("it listens"))
            .collect();
        let port = addresses[0].port();
        assert!(addresses.iter().all(|address| address.port() == port));
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
    }
}
