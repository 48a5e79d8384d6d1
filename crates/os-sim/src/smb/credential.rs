use os::Win32;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// A user's name and password, as `MSFT_SmbGlobalMapping.Create` is given them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Credential {
    pub(crate) user: String,
    pub(crate) password: Secret,
}

impl Credential {
    /// Reads the one text: the name, in which `\` escapes `\` and `:`; then `:`; then the password as
    /// it is.
    ///
    /// A name without a domain belongs to no logon session that Windows could find: so csi-driver-smb's
    /// list of known issues and its issue 161.
    pub(crate) fn parse(text: &str) -> Result<Self, Win32> {
        let (user, password) = split(text).ok_or(Win32::INVALID_PARAMETER)?;
        if !user.contains(['\\', '@']) {
            return Err(Win32::NO_SUCH_LOGON_SESSION);
        }
        Ok(Self {
            user,
            password: Secret::from(password),
        })
    }

    pub(crate) fn is_user(&self, name: &str) -> bool {
        self.user.to_lowercase() == name.to_lowercase()
    }
}

fn split(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            ':' => return Some((name, &text[at + 1..])),
            '\\' => name.push(characters.next()?.1),
            _ => name.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use os::Win32;

    use super::Credential;

    #[test]
    fn the_name_is_unescaped_and_the_password_is_not() {
        let read = |text| {
            let credential = Credential::parse(text).unwrap();
            (credential.user, credential.password.0)
        };
        assert_eq!(
            read(r"DOM\\user:a\b:c"),
            (r"DOM\user".to_owned(), r"a\b:c".to_owned())
        );
        assert_eq!(read(r"a\:b@x:"), ("a:b@x".to_owned(), String::new()));
    }

    #[test]
    fn what_is_no_credential_is_refused() {
        let refused = |text| Credential::parse(text).unwrap_err();
        assert_eq!(refused(""), Win32::INVALID_PARAMETER);
        assert_eq!(refused(r"DOM\\user"), Win32::INVALID_PARAMETER);
        assert_eq!(refused(r"DOM\user\:x"), Win32::INVALID_PARAMETER);
        assert_eq!(refused("user:password"), Win32::NO_SUCH_LOGON_SESSION);
        assert_eq!(refused(r"DOM\user:password"), Win32::NO_SUCH_LOGON_SESSION);
    }

    #[test]
    fn a_password_is_not_printed() {
        let credential = Credential::parse(r"DOM\\user:secret").unwrap();
        assert!(!format!("{credential:?}").contains("secret"));
    }
}
