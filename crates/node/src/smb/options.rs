//! Options of a mapping, besides its path and user.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use os::schema::smb_global_mapping::{CLASS, create, transport_type};
use os::schema::{Parameter, Property};
use os::{Instance, Value};

use crate::setters::setters;
use crate::{Options, Privacy};

/// The TCP port of SMB unless a mapping has another.
const TCP_PORT: u16 = 445;

/// The options of a new SMB mapping, by the parameters of `MSFT_SmbGlobalMapping.Create`. An option that is
/// `None` or empty is not sent, and Windows decides.
///
/// Only newer builds of Windows know the newer options, see the rows of
/// [`os::schema::smb_global_mapping::create`]. A call checks its options in the class definition of the
/// node, and [`SmbError::UnknownOption`](super::SmbError::UnknownOption) names a missing one. Meanings:
/// <https://learn.microsoft.com/en-us/powershell/module/smbshare/new-smbglobalmapping>.
///
/// ```
/// use wincsi_node::MappingOptions;
///
/// let options = MappingOptions::default()
///     .with_integrity(true)
///     .with_full_access([r"NODE\pods"]);
/// assert_eq!(options.integrity, Some(true));
/// assert_eq!(options.persistent, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MappingOptions {
    /// Whether NTLM is refused, so that only Kerberos is left (`BlockNTLM`).
    pub block_ntlm: Option<bool>,
    /// Whether network traffic is compressed (`CompressNetworkTraffic`).
    pub compression: Option<bool>,
    /// Accounts that may not use the mapping (`DenyAccess`).
    pub deny_access: Vec<String>,
    /// Accounts that may use the mapping (`FullAccess`).
    pub full_access: Vec<String>,
    /// Whether it is signed (`RequireIntegrity`).
    pub integrity: Option<bool>,
    /// Whether Windows maps it again after a restart (`Persistent`).
    pub persistent: Option<bool>,
    /// Whether it is encrypted (`RequirePrivacy`); `None` is
    /// [`Options::privacy`](crate::Options::privacy).
    pub privacy: Option<bool>,
    /// Another UDP port than 443 (`QuicPort`).
    pub quic_port: Option<NonZeroU16>,
    /// Another port for RDMA than 445 (`RdmaPort`).
    pub rdma_port: Option<NonZeroU16>,
    /// Whether the server's certificate is accepted unchecked, over QUIC (`SkipCertificateCheck`).
    pub skip_certificate_check: Option<bool>,
    /// Another TCP port than 445 (`TcpPort`).
    pub tcp_port: Option<NonZeroU16>,
    /// The transport to the server (`TransportType`).
    pub transport: Option<Transport>,
    /// Whether writes bypass all caches, to the server's disk (`UseWriteThrough`).
    pub write_through: Option<bool>,
}

/// The transport to an SMB server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// Only QUIC.
    Quic,
    /// Only TCP.
    Tcp,
}

impl MappingOptions {
    setters! {
        with_block_ntlm: block_ntlm, bool;
        with_compression: compression, bool;
        with_integrity: integrity, bool;
        with_persistent: persistent, bool;
        with_privacy: privacy, bool;
        with_quic_port: quic_port, NonZeroU16;
        with_rdma_port: rdma_port, NonZeroU16;
        with_skip_certificate_check: skip_certificate_check, bool;
        with_tcp_port: tcp_port, NonZeroU16;
        with_transport: transport, Transport;
        with_write_through: write_through, bool;
    }

    /// Sets [`Self::deny_access`].
    #[must_use]
    pub fn with_deny_access(mut self, accounts: impl IntoIterator<Item: Into<String>>) -> Self {
        self.deny_access = accounts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`Self::full_access`].
    #[must_use]
    pub fn with_full_access(mut self, accounts: impl IntoIterator<Item: Into<String>>) -> Self {
        self.full_access = accounts.into_iter().map(Into::into).collect();
        self
    }

    /// The names of the options that are set, as Windows spells them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.asked().into_iter().map(|(row, _)| row.name)
    }

    /// The same, with the node's own encryption option if the request has none.
    pub(super) fn or_of(&self, node: &Options) -> Self {
        Self {
            privacy: self.privacy.or(Some(node.privacy != Privacy::Unasked)),
            ..self.clone()
        }
    }

    /// The arguments of the options that are set.
    pub(super) fn asked(&self) -> Vec<(Parameter, Value)> {
        let port = |port: Option<NonZeroU16>| port.map(|port| Value::uint16(port.get()));
        let transport = self.transport.map(|it| Value::uint32(it.number()));
        let all = [
            (create::PERSISTENT, flag(self.persistent)),
            (create::REQUIRE_INTEGRITY, flag(self.integrity)),
            (create::REQUIRE_PRIVACY, flag(self.privacy)),
            (create::FULL_ACCESS, accounts(&self.full_access)),
            (create::DENY_ACCESS, accounts(&self.deny_access)),
            (create::USE_WRITE_THROUGH, flag(self.write_through)),
            (create::TRANSPORT_TYPE, transport),
            (
                create::SKIP_CERTIFICATE_CHECK,
                flag(self.skip_certificate_check),
            ),
            (create::COMPRESS_NETWORK_TRAFFIC, flag(self.compression)),
            (create::BLOCK_NTLM, flag(self.block_ntlm)),
            (create::TCP_PORT, port(self.tcp_port)),
            (create::QUIC_PORT, port(self.quic_port)),
            (create::RDMA_PORT, port(self.rdma_port)),
        ];
        let asked = all.into_iter();
        asked
            .filter_map(|(row, value)| Some((row, value?)))
            .collect()
    }

    /// The TCP port of the mapping; `None` over QUIC, where no port shows whether the server listens.
    pub(super) fn probe_port(&self) -> Option<u16> {
        let port = self.tcp_port.map_or(TCP_PORT, NonZeroU16::get);
        (self.transport != Some(Transport::Quic)).then_some(port)
    }

    /// The first option that is set and missing from the parameters of a build.
    pub(super) fn unknown_to(&self, parameters: &BTreeSet<String>) -> Option<&'static str> {
        let is_known = |name: &str| parameters.iter().any(|it| it.eq_ignore_ascii_case(name));
        self.names().find(|name| !is_known(name))
    }

    /// The properties of a mapping that show whether it has the demanded options. Windows does not
    /// report most options.
    pub(super) fn reported_properties(&self) -> impl Iterator<Item = &'static str> {
        let row = |name| CLASS.property(name).map(|row: &Property| row.name);
        let asked = self.asked().into_iter();
        let demanded = asked.filter(|(_, value)| *value == Value::Bool(true));
        demanded.filter_map(move |(option, _)| row(option.name))
    }

    /// The demanded options that a mapping lacks, or does not report.
    pub(super) fn unmet_by(&self, mapping: &Instance) -> os::Result<Vec<&'static str>> {
        let mut unmet = Vec::new();
        for name in self.reported_properties() {
            if mapping.bool_or_null(name)? != Some(true) {
                unmet.push(name);
            }
        }
        Ok(unmet)
    }
}

impl Transport {
    fn number(self) -> u32 {
        match self {
            Self::Quic => transport_type::QUIC.value,
            Self::Tcp => transport_type::TCP.value,
        }
    }
}

fn flag(flag: Option<bool>) -> Option<Value> {
    flag.map(Value::Bool)
}

fn accounts(names: &[String]) -> Option<Value> {
    let texts = names.iter().map(Value::text).collect();
    (!names.is_empty()).then_some(Value::Array(texts))
}

#[cfg(test)]
mod tests {
    use os::schema::Direction;
    use os::schema::smb_global_mapping::CREATE;

    use super::*;

    fn everything() -> MappingOptions {
        let one = NonZeroU16::MIN;
        MappingOptions::default()
            .with_block_ntlm(true)
            .with_compression(false)
            .with_deny_access(["guests"])
            .with_full_access(["users"])
            .with_integrity(true)
            .with_persistent(false)
            .with_privacy(true)
            .with_quic_port(NonZeroU16::MAX)
            .with_rdma_port(one)
            .with_skip_certificate_check(false)
            .with_tcp_port(one)
            .with_transport(Transport::Quic)
            .with_write_through(true)
    }

    #[test]
    fn the_port_is_that_of_the_transport() {
        let port = |options: MappingOptions| options.probe_port();
        let odd = NonZeroU16::new(1445).unwrap();
        let plain = MappingOptions::default();
        assert_eq!(port(plain.clone()), Some(445));
        assert_eq!(port(plain.clone().with_tcp_port(odd)), Some(1445));
        let quic = plain.clone().with_transport(Transport::Quic);
        assert_eq!(port(quic.with_tcp_port(odd)), None);
        assert_eq!(port(plain.with_transport(Transport::Tcp)), Some(445));
    }

    #[test]
    fn nothing_is_asked_for_by_default() {
        assert_eq!(MappingOptions::default().names().next(), None);
    }

    #[test]
    fn every_parameter_of_the_table_can_be_asked_for() {
        let options: BTreeSet<_> = everything().names().collect();
        let not_options = [
            create::CREDENTIAL.name,
            create::LOCAL_PATH.name,
            create::REMOTE_PATH.name,
        ];
        let rows = CREATE.parameters.iter();
        let inputs = rows.filter(|row| row.direction == Direction::In);
        let rest: BTreeSet<_> = inputs
            .map(|row| row.name)
            .filter(|name| !not_options.contains(name))
            .collect();
        assert_eq!(options, rest);
    }

    #[test]
    fn a_build_is_told_by_the_names_that_it_has_in_any_case() {
        let build = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let options = MappingOptions {
            tcp_port: NonZeroU16::new(1445),
            ..MappingOptions::default()
        };
        assert_eq!(options.unknown_to(&build(&["TCPPORT"])), None);
        assert_eq!(options.unknown_to(&build(&["TcpPorts"])), Some("TcpPort"));
    }
}
