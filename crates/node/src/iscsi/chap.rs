use os::schema::iscsi_target::{authentication_type, connect};
use os::schema::iscsi_target_portal::new;
use os::{Arguments, Value};
use zeroize::Zeroizing;

use super::IscsiError;
use crate::provider::SecretArguments;

/// How initiator and target prove themselves to each other.
#[derive(Clone)]
pub enum Authentication {
    /// Not at all.
    None,
    /// The initiator to the target.
    OneWayChap(Chap),
    /// Each to the other; the target by the secret of
    /// [`Iscsi::set_mutual_chap_secret`](crate::api::Iscsi::set_mutual_chap_secret).
    MutualChap(Chap),
}

/// The initiator's credentials.
#[derive(Clone)]
pub struct Chap {
    username: Option<String>,
    secret: ChapSecret,
}

/// A CHAP secret. It cannot be printed and is wiped when this is dropped.
#[derive(Clone)]
pub struct ChapSecret(Zeroizing<String>);

os::assert_no_debug!(Authentication, Chap, ChapSecret);

impl Chap {
    /// A user's secret. With an empty name the initiator gives its own.
    ///
    /// # Errors
    /// The name has a NUL, behind which Windows would not read on.
    pub fn new(username: &str, secret: ChapSecret) -> Result<Self, IscsiError> {
        if username.contains('\0') {
            return Err(IscsiError::ChapUsername);
        }
        let username = (!username.is_empty()).then(|| username.to_owned());
        Ok(Self { username, secret })
    }

    /// The name; `None` for the initiator's own.
    #[must_use]
    pub fn username(&self) -> Option<&str> {
        self.username.as_deref()
    }

    /// The secret.
    #[must_use]
    pub fn secret(&self) -> &ChapSecret {
        &self.secret
    }
}

impl ChapSecret {
    /// A secret of 12 to 16 bytes: what Microsoft's initiator takes without IPsec, of which neither
    /// csi-proxy's interface nor the WMI classes know anything.
    /// <https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret>
    ///
    /// # Errors
    /// It is shorter or longer, or has a NUL.
    pub fn new(secret: Zeroizing<String>) -> Result<Self, IscsiError> {
        let is_good = (12..=16).contains(&secret.len()) && !secret.contains('\0');
        is_good
            .then_some(Self(secret))
            .ok_or(IscsiError::ChapSecret)
    }

    /// The secret itself; the caller wipes any copy.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `arguments` with this secret among them.
    pub(super) fn argument(&self, arguments: Arguments, name: &'static str) -> SecretArguments {
        SecretArguments::new(arguments).with(name, self.0.clone())
    }
}

impl Authentication {
    /// As the class table spells it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::None => authentication_type::NONE.value,
            Self::OneWayChap(_) => authentication_type::ONE_WAY_CHAP.value,
            Self::MutualChap(_) => authentication_type::MUTUAL_CHAP.value,
        }
    }

    /// `arguments` of a login with how it is authenticated.
    pub(super) fn of_login(&self, arguments: Arguments) -> SecretArguments {
        let arguments = arguments.with(connect::AUTHENTICATION_TYPE.name, Value::text(self.word()));
        let names = (connect::CHAP_USERNAME.name, connect::CHAP_SECRET.name);
        self.credentials(arguments, names)
    }

    /// `arguments` of a new portal with how its discovery is authenticated. csi-proxy sends no type; nor do we
    /// without CHAP.
    pub(super) fn of_discovery(&self, arguments: Arguments) -> SecretArguments {
        let arguments = match self {
            Self::None => arguments,
            _ => arguments.with(new::AUTHENTICATION_TYPE.name, Value::text(self.word())),
        };
        let names = (new::CHAP_USERNAME.name, new::CHAP_SECRET.name);
        self.credentials(arguments, names)
    }

    /// What is empty or unused is left out: an empty secret is a secret to Windows, and too short a one.
    fn credentials(
        &self,
        mut arguments: Arguments,
        (username, secret): (&'static str, &'static str),
    ) -> SecretArguments {
        match self {
            Self::None => SecretArguments::new(arguments),
            Self::OneWayChap(chap) | Self::MutualChap(chap) => {
                if let Some(name) = &chap.username {
                    arguments = arguments.with(username, Value::text(name));
                }
                chap.secret.argument(arguments, secret)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Result<ChapSecret, IscsiError> {
        ChapSecret::new(Zeroizing::new(text.to_owned()))
    }

    /// The arguments of a login, and of a portal.
    fn names(authentication: &Authentication) -> [Vec<&'static str>; 2] {
        let none = Arguments::none;
        [
            authentication.of_login(none()),
            authentication.of_discovery(none()),
        ]
        .map(|arguments| arguments.expose().0.keys().copied().collect())
    }

    /// Guards: P45
    #[test]
    fn weakness_38_a_secret_has_twelve_to_sixteen_bytes() {
        for text in ["", "0123456789a", "0123456789abcdefg", "0123456789a\0"] {
            assert_eq!(secret(text).err(), Some(IscsiError::ChapSecret));
        }
        assert!(secret("0123456789ab").is_ok());
        assert!(secret("0123456789abcdef").is_ok());
        assert!(secret("éééééé").is_ok(), "bytes count, not characters");
    }

    /// Guards: P45
    #[test]
    fn weakness_30_what_is_empty_is_not_sent() {
        let none: [&[_]; 2] = [&["AuthenticationType"], &[]];
        assert_eq!(names(&Authentication::None), none);
        let nameless = Chap::new("", secret("0123456789ab").unwrap()).unwrap();
        let one_way = Authentication::OneWayChap(nameless);
        assert_eq!(names(&one_way), [["AuthenticationType", "ChapSecret"]; 2]);
        let named = Chap::new("node", secret("0123456789ab").unwrap()).unwrap();
        assert_eq!(
            names(&Authentication::MutualChap(named)),
            [["AuthenticationType", "ChapSecret", "ChapUsername"]; 2]
        );
    }

    #[test]
    fn a_name_that_windows_would_cut_is_refused() {
        let cut = Chap::new("node\0x", secret("0123456789ab").unwrap());
        assert_eq!(cut.err(), Some(IscsiError::ChapUsername));
    }
}
