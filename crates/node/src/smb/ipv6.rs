//! Servers with an IPv6 address as name. UNC paths cannot have its colons.

use std::fmt;
use std::net::Ipv6Addr;
use std::num::NonZeroU32;

use crate::text::number;

/// Windows reads names in this domain as addresses, without a DNS query
/// (<https://learn.microsoft.com/biztalk/core/using-ipv6-addressing-with-biztalk-adapters>).
const DOMAIN: &str = ".ipv6-literal.net";

/// The IPv6 address of an SMB server, and the interface for a link-local one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Ipv6Server {
    /// The address.
    pub address: Ipv6Addr,
    /// The number of the interface.
    pub zone: Option<NonZeroU32>,
}

impl Ipv6Server {
    /// Parses a server's address, with or without brackets, or a name of Windows's domain for addresses.
    pub(super) fn read(server: &str) -> Option<Self> {
        let bare = server.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let server = bare.unwrap_or(server).to_ascii_lowercase();
        match server.strip_suffix(DOMAIN) {
            Some(label) => Self::parts(&label.replace('-', ":"), 's'),
            None => Self::parts(&server, '%'),
        }
    }

    fn parts(text: &str, before_zone: char) -> Option<Self> {
        let (address, zone) = match text.split_once(before_zone) {
            Some((address, zone)) => (address, Some(number(zone)?)),
            None => (text, None),
        };
        let address = address.parse().ok()?;
        Some(Self { address, zone })
    }

    /// Its canonical name for UNC paths: in lower case, with zeros left out as by RFC 5952. An address that would
    /// begin or end with a hyphen, or contains an IPv4 address, keeps all of its groups: no host's name looks so.
    pub(super) fn name(self) -> String {
        let short = self.address.to_string();
        let is_plain = !short.starts_with(':') && !short.ends_with(':') && !short.contains('.');
        let address = match is_plain {
            true => short.replace(':', "-"),
            false => {
                let groups = self.address.segments();
                groups.map(|group| format!("{group:x}")).join("-")
            }
        };
        let zone = self.zone.map(|zone| format!("s{zone}"));
        format!("{address}{}{DOMAIN}", zone.unwrap_or_default())
    }
}

impl fmt::Display for Ipv6Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)?;
        match self.zone {
            Some(zone) => write!(f, "%{zone}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(server: &str) -> Option<String> {
        Ipv6Server::read(server).map(Ipv6Server::name)
    }

    #[test]
    fn one_server_has_one_name_however_it_is_spelled() {
        for server in [
            "fe80::1%3",
            "[FE80:0:0::0001%3]",
            "fe80--1s3.ipv6-literal.net",
            "FE80-0-0-0-0-0-0-1S3.IPv6-Literal.net",
        ] {
            assert_eq!(name(server).unwrap(), "fe80--1s3.ipv6-literal.net");
        }
        let long = "2001:db8:85a3:8d3:1319:8a2e:370:7348";
        let expected = "2001-db8-85a3-8d3-1319-8a2e-370-7348.ipv6-literal.net";
        assert_eq!(name(long).unwrap(), expected);
    }

    #[test]
    fn a_name_is_one_that_a_host_can_have() {
        assert_eq!(name("::1").unwrap(), "0-0-0-0-0-0-0-1.ipv6-literal.net");
        assert_eq!(
            name("fe80::").unwrap(),
            "fe80-0-0-0-0-0-0-0.ipv6-literal.net"
        );
        let mapped = name("::ffff:192.0.2.1").unwrap();
        assert_eq!(mapped, "0-0-0-0-0-ffff-c000-201.ipv6-literal.net");
    }

    #[test]
    fn what_is_no_address_has_no_such_name() {
        for server in [
            "server",
            "192.0.2.1",
            "fe80::1%eth0",
            "fe80::1%0",
            "fe80::1%+3",
            "fe80::1%",
            "fe80:::1",
            "x.ipv6-literal.net",
            ".ipv6-literal.net",
            "[]",
        ] {
            assert_eq!(name(server), None, "{server}");
        }
    }

    proptest! {
        #[test]
        fn a_name_stands_for_its_address(address: [u16; 8], zone: Option<NonZeroU32>) {
            let server = Ipv6Server { address: address.into(), zone };
            prop_assert_eq!(Ipv6Server::read(&server.name()), Some(server));
            prop_assert_eq!(Ipv6Server::read(&server.to_string()), Some(server));
        }
    }
}
