//! A user and a password, in the forms that docs/smb.md has.

use zeroize::Zeroizing;

/// Longer texts are no names of users or domains.
const LONGEST: usize = 256;

/// Who logs on. It has no `Debug` form, and is zeroed when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) user: String,
    pub(crate) domain: String,
    pub(crate) password: Zeroizing<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// No user: the session would be anonymous.
    #[error("there is no user name")]
    NoUser,
    /// It has a form other than `user`, `DOMAIN\user` and `user@domain`.
    #[error("the user name has several separators")]
    Form,
    #[error("user, domain or password is longer than {LONGEST} characters")]
    TooLong,
}

impl Credentials {
    /// `DOMAIN\user` and `user@domain` are split, and then `domain` does not count; without any domain the server
    /// takes its own.
    pub fn new(
        user: &str,
        domain: Option<&str>,
        password: Zeroizing<String>,
    ) -> Result<Self, CredentialsError> {
        let (domain, user) = match (user.split_once('\\'), user.rsplit_once('@')) {
            (Some((domain, user)), _) => (domain, user),
            (None, Some((user, domain))) => (domain, user),
            (None, None) => (domain.unwrap_or_default(), user),
        };
        if user.is_empty() {
            return Err(CredentialsError::NoUser);
        }
        if user.contains(['\\', '@']) || domain.contains(['\\', '@']) {
            return Err(CredentialsError::Form);
        }
        if user.len().max(domain.len()).max(password.len()) > LONGEST {
            return Err(CredentialsError::TooLong);
        }
        Ok(Self {
            user: user.to_owned(),
            domain: domain.to_owned(),
            password,
        })
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::{Credentials, CredentialsError};

    #[test]
    fn users_are_split_and_no_domain_is_invented() {
        let long = "u".repeat(257);
        for (user, domain, expected) in [
            ("u", None, Ok(("u", ""))),
            ("u", Some("D"), Ok(("u", "D"))),
            ("D\\u", None, Ok(("u", "D"))),
            ("D\\u", Some("E"), Ok(("u", "D"))),
            ("u@d.example", Some("E"), Ok(("u", "d.example"))),
            ("", Some("D"), Err(CredentialsError::NoUser)),
            ("D\\", None, Err(CredentialsError::NoUser)),
            ("@d", None, Err(CredentialsError::NoUser)),
            ("a\\b\\c", None, Err(CredentialsError::Form)),
            ("D\\u@d", None, Err(CredentialsError::Form)),
            ("u@v@d", None, Err(CredentialsError::Form)),
            (long.as_str(), None, Err(CredentialsError::TooLong)),
        ] {
            let made = Credentials::new(user, domain, Zeroizing::new("p".into()));
            let found = made.as_ref().map(|c| (c.user.as_str(), c.domain.as_str()));
            assert_eq!(found.map_err(|error| *error), expected, "{user}");
        }
    }
}
