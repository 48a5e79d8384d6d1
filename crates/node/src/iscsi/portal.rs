use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::IscsiError;

/// The port that IANA gave iSCSI.
const ISCSI_PORT: u16 = 3260;
/// RFC 1035, 2.3.4, without the root's dot.
const LONGEST_HOST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Where an iSCSI server listens: an address or a host name, and a TCP port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Portal {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Host {
    Ip(IpAddr),
    /// A link-local address and the interface that it is on.
    Zoned(Ipv6Addr, String),
    /// In lower case.
    Name(String),
}

impl Portal {
    /// Reads a portal as clients send it: an IPv4 address, an IPv6 address with or without brackets, or
    /// a host name; and a port, of which 0 stands for 3260.
    ///
    /// # Errors
    /// No such address or name can be, or the port needs more than 16 bits.
    pub fn parse(address: &str, port: u32) -> Result<Self, IscsiError> {
        let host = Host::parse(address).ok_or_else(|| IscsiError::Address {
            address: address.to_owned(),
        })?;
        let port = match port {
            0 => ISCSI_PORT,
            port => u16::try_from(port).map_err(|_| IscsiError::Port { port })?,
        };
        Ok(Self { host, port })
    }

    /// The address or name alone, as it is given to the initiator.
    #[must_use]
    pub fn host(&self) -> String {
        self.host.to_string()
    }

    /// The TCP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether somebody's spelling means this portal.
    pub(super) fn is(&self, address: &str, port: u32) -> bool {
        u32::from(self.port) == port && Host::parse(address).as_ref() == Some(&self.host)
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let address = bare.unwrap_or(text);
        if let Ok(address) = address.parse::<Ipv6Addr>() {
            return Some(Self::Ip(address.into()));
        }
        if let Some((address, zone)) = address.split_once('%') {
            let is_zone = !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let address = address.parse().ok().filter(|_| is_zone)?;
            return Some(Self::Zoned(address, zone.to_owned()));
        }
        match text.parse() {
            Ok(address) => Some(Self::Ip(IpAddr::V4(address))),
            Err(_) => is_host_name(text).then(|| Self::Name(text.to_ascii_lowercase())),
        }
    }
}

/// Labels of letters, digits, `-` and the `_` that Windows allows, between dots. A name whose last
/// label is a number is a mistyped address: RFC 1123, 2.1.
fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let mut bytes = label.bytes();
        let is_good = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let is_bounded = (1..=LONGEST_LABEL).contains(&label.len());
        is_good && is_bounded && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= LONGEST_HOST_NAME
        && text.split('.').all(is_label)
        && !text.split('.').next_back().is_some_and(is_number)
}

impl fmt::Display for Portal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(IpAddr::V6(_)) | Host::Zoned(..) => write!(f, "[{}]:{}", self.host, self.port),
            Host::Ip(IpAddr::V4(_)) | Host::Name(_) => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Zoned(address, zone) => write!(f, "{address}%{zone}"),
            Self::Name(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn displayed(address: &str, port: u32) -> String {
        Portal::parse(address, port).unwrap().to_string()
    }

    #[test]
    fn addresses_and_names_are_read() {
        assert_eq!(displayed("10.0.0.9", 0), "10.0.0.9:3260");
        assert_eq!(
            displayed("Array-1.Example.COM", 3261),
            "array-1.example.com:3261"
        );
        assert_eq!(displayed("FD00:0:0::9", 3260), "[fd00::9]:3260");
        assert_eq!(displayed("[fd00::9]", 3260), "[fd00::9]:3260");
        assert_eq!(displayed("fe80::1%12", 3260), "[fe80::1%12]:3260");
        assert_eq!(Portal::parse("[::1]", 1).unwrap().host(), "::1");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = "a".repeat(64);
        for text in [
            "",
            " ",
            "10.0.0",
            "10.0.0.256",
            "1.2.3.4 ",
            "[10.0.0.9]",
            "a..b",
            ".a",
            "a.",
            "-a",
            "a-",
            "a\0b",
            "a'b",
            "fe80::1%",
            "fe80::1%'",
            "10.0.0.9:3260",
            "é.example",
            &long,
        ] {
            let error = Portal::parse(text, 0).unwrap_err();
            assert_eq!(
                error,
                IscsiError::Address {
                    address: text.to_owned()
                }
            );
        }
        assert!(Portal::parse(&vec!["a"; 128].join("."), 0).is_err());
    }

    #[test]
    fn weakness_25_a_port_beyond_sixteen_bits_is_an_error_and_not_cut() {
        assert_eq!(displayed("10.0.0.9", 65_535), "10.0.0.9:65535");
        for port in [65_536, 65_536 + 3260, u32::MAX] {
            assert_eq!(
                Portal::parse("10.0.0.9", port),
                Err(IscsiError::Port { port })
            );
        }
    }

    #[test]
    fn one_portal_may_be_spelled_in_several_ways() {
        let portal = Portal::parse("FD00::0009", 0).unwrap();
        assert!(portal.is("fd00:0:0:0:0:0:0:9", 3260));
        assert!(!portal.is("fd00::9", 3261));
        assert!(!portal.is("fd00::8", 3260));
        assert!(Portal::parse("Array", 0).unwrap().is("aRRAY", 3260));
    }
}
