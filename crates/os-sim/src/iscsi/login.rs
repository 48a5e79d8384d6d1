use os::schema::iscsi_target::authentication_type;
use os::schema::{ReturnCode, iscsi_codes};
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// Where a portal listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    pub(crate) address: String,
    pub(crate) port: u16,
}

/// The direction of authentication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Authentication {
    Mutual(ChapLogin),
    Nobody,
    OneWay(ChapLogin),
}

/// The initiator's credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChapLogin {
    pub(crate) user: String,
    pub(crate) secret: Secret,
}

/// The parameters of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Login {
    pub(crate) target: String,
    /// Any portal that told of the target, when left out.
    pub(crate) portal: Option<Endpoint>,
    pub(crate) authentication: Authentication,
    pub(crate) is_multipath: bool,
    #[serde(default)]
    pub(crate) has_data_digest: bool,
    #[serde(default)]
    pub(crate) has_header_digest: bool,
    /// The address of the node's own that was asked for.
    #[serde(default)]
    pub(crate) from: Option<String>,
}

impl Endpoint {
    pub(crate) fn is(&self, address: &str, port: Option<u16>) -> bool {
        self.address.to_lowercase() == address.to_lowercase()
            && port.is_none_or(|port| port == self.port)
    }
}

impl Authentication {
    /// Reads the arguments of `New` and `Connect`. The type is case-sensitive, a user's name and secret
    /// without a type mean nothing, and without a name the initiator gives its own.
    pub(crate) fn parse(
        kind: Option<&str>,
        user: Option<&str>,
        secret: Option<&str>,
        initiator: &str,
    ) -> Result<Self, ReturnCode> {
        let login = || {
            let user = user.filter(|user| !user.is_empty()).unwrap_or(initiator);
            let secret = chap_secret(secret.unwrap_or_default())?;
            Ok(ChapLogin {
                user: user.to_owned(),
                secret,
            })
        };
        match kind.unwrap_or(authentication_type::NONE.value) {
            kind if kind == authentication_type::NONE.value => Ok(Self::Nobody),
            kind if kind == authentication_type::ONE_WAY_CHAP.value => login().map(Self::OneWay),
            kind if kind == authentication_type::MUTUAL_CHAP.value => login().map(Self::Mutual),
            _ => Err(iscsi_codes::INVALID_LOGON_AUTH_TYPE),
        }
    }

    pub(crate) fn chap(&self) -> Option<&ChapLogin> {
        match self {
            Self::Mutual(login) | Self::OneWay(login) => Some(login),
            Self::Nobody => None,
        }
    }

    /// As the class table spells it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Mutual(_) => authentication_type::MUTUAL_CHAP.value,
            Self::Nobody => authentication_type::NONE.value,
            Self::OneWay(_) => authentication_type::ONE_WAY_CHAP.value,
        }
    }
}

/// A secret of 12 to 16 bytes, as it has to be without IPsec.
/// <https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret>
pub(crate) fn chap_secret(text: &str) -> Result<Secret, ReturnCode> {
    match text.len() {
        0..12 => Err(iscsi_codes::SHORT_CHAP_SECRET),
        12..=16 => Ok(Secret::from(text)),
        _ => Err(iscsi_codes::INVALID_CHAP_SECRET),
    }
}

/// The form of RFC 3720, 3.2.6.3.
pub(crate) fn check_name(name: &str) -> Result<(), ReturnCode> {
    let has_form = ["iqn.", "eui.", "naa."].iter().any(|form| {
        let head = name.get(..form.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(form))
    });
    has_form
        .then_some(())
        .ok_or(iscsi_codes::INVALID_ISCSI_NAME)
}

#[cfg(test)]
mod tests {
    use os::schema::iscsi_codes;

    use super::{Authentication, chap_secret, check_name};

    #[test]
    fn the_type_of_authentication_is_in_upper_case() {
        let parse =
            |kind, secret| Authentication::parse(kind, Some(""), secret, "iqn.1991-05.x:node");
        assert_eq!(parse(None, Some("")), Ok(Authentication::Nobody));
        assert_eq!(parse(Some("NONE"), Some("")), Ok(Authentication::Nobody));
        let one_way = parse(Some("ONEWAYCHAP"), Some("0123456789ab")).unwrap();
        assert_eq!(one_way.chap().unwrap().user, "iqn.1991-05.x:node");
        assert_eq!(
            parse(Some("OneWayChap"), Some("0123456789ab")),
            Err(iscsi_codes::INVALID_LOGON_AUTH_TYPE)
        );
        assert_eq!(
            parse(Some("MUTUALCHAP"), None),
            Err(iscsi_codes::SHORT_CHAP_SECRET)
        );
    }

    #[test]
    fn a_secret_has_twelve_to_sixteen_bytes() {
        assert_eq!(
            chap_secret("0123456789a"),
            Err(iscsi_codes::SHORT_CHAP_SECRET)
        );
        assert!(chap_secret("0123456789ab").is_ok());
        assert!(chap_secret("0123456789abcdef").is_ok());
        assert_eq!(
            chap_secret("0123456789abcdefg"),
            Err(iscsi_codes::INVALID_CHAP_SECRET)
        );
    }

    #[test]
    fn a_name_says_what_kind_it_is_of() {
        assert!(check_name("iqn.2026-01.com.example:data").is_ok());
        for name in ["", "iqn", "data", "\u{e9}qn.x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
