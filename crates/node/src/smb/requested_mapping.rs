use std::num::NonZeroU16;

use super::{Credentials, MappingOptions, Transport};
use crate::Options;

/// The TCP port of SMB unless a mapping has another.
const TCP_PORT: u16 = 445;

/// The user and the options of a requested mapping.
pub(super) struct RequestedMapping<'a> {
    pub(super) credentials: Option<&'a Credentials>,
    /// The options that the call demands.
    pub(super) asked: &'a MappingOptions,
    /// The same, with the node's own encryption option.
    pub(super) options: MappingOptions,
    /// Whether an existing mapping always stays.
    pub(super) keeps: bool,
}

impl<'a> RequestedMapping<'a> {
    pub(super) fn new(
        credentials: Option<&'a Credentials>,
        asked: &'a MappingOptions,
        node: &Options,
    ) -> Self {
        Self {
            credentials,
            asked,
            options: asked.or_of(node),
            keeps: false,
        }
    }

    /// The TCP port of the mapping; `None` over QUIC, where no port shows whether the server listens.
    pub(super) fn tcp_port(&self) -> Option<u16> {
        let port = self.options.tcp_port.map_or(TCP_PORT, NonZeroU16::get);
        (self.options.transport != Some(Transport::Quic)).then_some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_that_of_the_transport() {
        let port = |options: MappingOptions| {
            RequestedMapping::new(None, &options, &Options::default()).tcp_port()
        };
        let odd = NonZeroU16::new(1445).unwrap();
        let plain = MappingOptions::default();
        assert_eq!(port(plain.clone()), Some(445));
        assert_eq!(port(plain.clone().with_tcp_port(odd)), Some(1445));
        let quic = plain.clone().with_transport(Transport::Quic);
        assert_eq!(port(quic.with_tcp_port(odd)), None);
        assert_eq!(port(plain.with_transport(Transport::Tcp)), Some(445));
    }
}
