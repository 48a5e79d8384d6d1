use os::schema::{ReturnCode, iscsi_codes};
use serde::{Deserialize, Serialize};

use super::login::{Authentication, ChapLogin};
use crate::hardware::DiskSpec;
use crate::secret::Secret;

/// An iSCSI server: the content of `iscsi/<server>.toml`. The bytes of its disks are the images
/// `iscsi/<image>.img`.
///
/// ```
/// use wincsi_os_sim::iscsi::ServerSpec;
///
/// let server: ServerSpec = toml::from_str(
///     r#"
///     addresses = ["10.0.0.9"]
///
///     [[target]]
///     name = "iqn.2026-01.com.example:data"
///     chap = { user = "node", secret = "0123456789ab" }
///
///     [[target.lun]]
///     number = 0
///     image = "data"
///     disk = { bus = "iscsi", serial = "1" }
///     "#,
/// )
/// .unwrap();
/// assert_eq!(server.port, 3260);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct ServerSpec {
    /// The names and addresses that lead to it.
    pub addresses: Vec<String>,
    /// The TCP port of its portals.
    pub port: u16,
    /// Whether it does not answer.
    pub is_down: bool,
    /// How many milliseconds of the node's clock pass before it answers a query of its targets or a login.
    pub answers_after_ms: u64,
    /// Whether the first session of a node since its start is persistent, though the login did not ask for it: so is
    /// the first of a record (`formats::fixtures::field`, `hyper-v-iscsi`), and the second is not.
    pub first_login_persists: bool,
    /// The credentials that discovery of its targets requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Chap>,
    /// The targets that it offers.
    pub target: Vec<TargetSpec>,
}

/// A target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TargetSpec {
    /// Its iSCSI qualified name.
    pub name: String,
    /// The credentials that it requires of an initiator; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap: Option<Chap>,
    /// Its own secret, for an initiator that demands it (mutual CHAP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Secret>,
    /// Its disks.
    #[serde(default)]
    pub lun: Vec<Lun>,
}

/// The credentials that an initiator needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chap {
    /// The name that it has to give.
    pub user: String,
    /// The secret that goes with it.
    pub secret: Secret,
}

/// A disk of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lun {
    /// The logical unit's number.
    pub number: u8,
    /// The name of its image, and behind `iscsi-` of the disk when it is plugged in. Another image during a session is
    /// another disk behind the number.
    pub image: String,
    /// The disk's specification. The target sets bus and logical unit.
    pub disk: DiskSpec,
}

impl ServerSpec {
    /// A server at this address, with nothing to offer yet.
    #[must_use]
    pub fn at(address: &str) -> Self {
        Self {
            addresses: vec![address.to_owned()],
            ..Self::default()
        }
    }

    /// Offering this target.
    #[must_use]
    pub fn offering(mut self, target: TargetSpec) -> Self {
        self.target.push(target);
        self
    }

    pub(crate) fn has_address(&self, address: &str) -> bool {
        let mut addresses = self.addresses.iter();
        addresses.any(|own| own.eq_ignore_ascii_case(address))
    }

    pub(crate) fn target(&self, name: &str) -> Option<&TargetSpec> {
        self.target.iter().find(|target| target.name == name)
    }

    /// The names of its targets, if the initiator may list them.
    pub(crate) fn discover(&self, who: &Authentication) -> Result<Vec<String>, ReturnCode> {
        check(self.discovery.as_ref(), who)?;
        let names = self.target.iter().map(|target| target.name.clone());
        Ok(names.collect())
    }
}

impl Default for ServerSpec {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            port: 3260,
            is_down: false,
            answers_after_ms: 0,
            first_login_persists: false,
            discovery: None,
            target: Vec::new(),
        }
    }
}

impl TargetSpec {
    /// A target that asks nothing and has no disk.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            chap: None,
            proof: None,
            lun: Vec::new(),
        }
    }

    /// With this image as its next disk.
    #[must_use]
    pub fn with_disk(mut self, image: &str, disk: DiskSpec) -> Self {
        let number = u8::try_from(self.lun.len()).unwrap_or(u8::MAX);
        self.lun.push(Lun {
            number,
            image: image.to_owned(),
            disk,
        });
        self
    }

    /// Asking this of initiators.
    #[must_use]
    pub fn asking(self, user: &str, secret: &str) -> Self {
        let chap = Chap {
            user: user.to_owned(),
            secret: Secret::from(secret),
        };
        Self {
            chap: Some(chap),
            ..self
        }
    }

    /// Proving itself by this secret.
    #[must_use]
    pub fn proving(self, secret: &str) -> Self {
        Self {
            proof: Some(Secret::from(secret)),
            ..self
        }
    }

    /// Whether it lets the initiator in, and the initiator, who expects `proof`, lets it be.
    pub(crate) fn admit(
        &self,
        who: &Authentication,
        proof: Option<&Secret>,
    ) -> Result<(), ReturnCode> {
        check(self.chap.as_ref(), who)?;
        if !matches!(who, Authentication::Mutual(_)) {
            return Ok(());
        }
        // Which code an initiator without a secret of its own gives is unverified.
        let expected = proof.ok_or(iscsi_codes::TARGET_AUTH_INFO_UNAVAILABLE)?;
        if self.proof.as_ref() == Some(expected) {
            return Ok(());
        }
        Err(iscsi_codes::AUTHENTICATION_FAILURE)
    }
}

/// Both sides have to want CHAP, or neither.
fn check(wanted: Option<&Chap>, who: &Authentication) -> Result<(), ReturnCode> {
    let is_good = match (wanted, who.chap()) {
        (None, None) => true,
        (
            Some(Chap { user, secret }),
            Some(ChapLogin {
                user: name,
                secret: word,
            }),
        ) => user == name && secret == word,
        _ => false,
    };
    is_good
        .then_some(())
        .ok_or(iscsi_codes::AUTHENTICATION_FAILURE)
}
