use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::{fmt, io};

/// Where to listen: `host:port`, or `:port` for loopback alone.
///
/// In Go `:port` is every address of the machine. What is served here concerns an operator of this
/// node, so others are let in only by who says so: `0.0.0.0:port` or `[::]:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindAddress {
    host: Option<String>,
    port: u16,
}

impl BindAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// It is no `host:port`; the text says what it should have been.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let wanted = "host:port or :port";
        let (host, port) = text.rsplit_once(':').ok_or(wanted)?;
        let port = port.parse().map_err(|_| wanted)?;
        if host.contains(char::is_whitespace) {
            return Err(wanted);
        }
        Ok(Self {
            host: (!host.is_empty()).then(|| host.to_owned()),
            port,
        })
    }

    /// Whether csi-proxy would have listened on every address here.
    #[must_use]
    pub fn is_narrowed(&self) -> bool {
        self.host.is_none()
    }

    pub(super) fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.host {
            None => Ok(vec![(Ipv4Addr::LOCALHOST, self.port).into()]),
            Some(_) => Ok(self.to_string().to_socket_addrs()?.collect()),
        }
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or_default();
        write!(f, "{host}:{}", self.port)
    }
}

/// The loopback address of the same family.
pub(super) fn loopback(of: IpAddr) -> IpAddr {
    match of {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::BindAddress;

    #[test]
    fn a_bare_port_is_loopback_and_others_are_what_they_say() {
        let resolved = |text: &str| {
            let address = BindAddress::parse(text).expect(text);
            address.resolve().expect(text)[0].to_string()
        };
        assert_eq!(resolved(":9090"), "127.0.0.1:9090");
        assert_eq!(resolved("0.0.0.0:9090"), "0.0.0.0:9090");
        assert_eq!(resolved("[::]:9090"), "[::]:9090");
        for wrong in ["9090", "", "a:b", ":99999", "a b:1"] {
            assert!(BindAddress::parse(wrong).is_err(), "{wrong}");
        }
    }
}
