use std::fmt;

use zeroize::Zeroizing;

/// Where targets are found: the address of an iSCSI server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Portal {
    /// A host name or an IP address, without brackets.
    pub address: String,
    /// The TCP port; [`Portal::PORT`] unless the server was told another.
    pub port: u16,
}

impl Portal {
    /// The port that iSCSI has of IANA.
    pub const PORT: u16 = 3260;

    /// The portal at `address`, on iSCSI's own port.
    pub fn at(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            port: Self::PORT,
        }
    }
}

impl fmt::Display for Portal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.address, self.port)
    }
}

/// A target as one portal offers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The portal.
    pub portal: Portal,
    /// The target's qualified name, `iqn.` and so on, exactly as discovery spells it.
    pub iqn: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.iqn, self.portal)
    }
}

/// How a node proves to a target who it is.
#[derive(Clone, Copy)]
pub enum Login<'a> {
    /// Not at all.
    Anonymous,
    /// The node proves itself to the target.
    OneWay(&'a Chap),
    /// Each proves itself to the other; the node's own secret is set by `set_mutual_secret`.
    Mutual(&'a Chap),
}

impl<'a> Login<'a> {
    /// The name and secret, if any.
    #[must_use]
    pub fn chap(self) -> Option<&'a Chap> {
        match self {
            Self::Anonymous => None,
            Self::OneWay(chap) | Self::Mutual(chap) => Some(chap),
        }
    }
}

/// A name and secret for CHAP.
pub struct Chap {
    /// The name.
    pub username: String,
    /// The secret.
    pub secret: ChapSecret,
}

/// A secret for CHAP, which Windows takes with 12 to 16 bytes. It cannot be printed and is wiped when
/// this is dropped.
pub struct ChapSecret(Zeroizing<String>);

impl ChapSecret {
    /// Takes the secret over.
    #[must_use]
    pub fn new(secret: Zeroizing<String>) -> Self {
        Self(secret)
    }

    /// The secret itself; whoever copies it, wipes the copy.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}
