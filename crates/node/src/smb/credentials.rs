use formats::credential;
use zeroize::Zeroizing;

/// A user of an SMB server. The password cannot be printed and is wiped when this is dropped.
#[derive(Clone)]
pub struct Credentials {
    username: String,
    password: Zeroizing<String>,
}

os::assert_no_debug!(Credentials);

impl Credentials {
    /// A user by name (`DOMAIN\user`) and password; `None` for an empty name: then Windows connects
    /// as the machine.
    #[must_use]
    pub fn new(username: impl Into<String>, password: Zeroizing<String>) -> Option<Self> {
        let username = username.into();
        (!username.is_empty()).then_some(Self { username, password })
    }

    /// The user's name.
    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The password itself; the caller wipes any copy.
    #[must_use]
    pub fn expose_password(&self) -> &str {
        &self.password
    }

    /// Name and password; the name in one case, as Windows ignores case.
    pub(super) fn parts(&self) -> (String, &str) {
        (self.username.to_lowercase(), &self.password)
    }

    /// The credential text for `MSFT_SmbGlobalMapping.Create`.
    pub(super) fn quoted(&self) -> Zeroizing<String> {
        credential::quoted(&self.username, &self.password)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_no_user() {
        assert!(Credentials::new("", Zeroizing::new("secret".to_owned())).is_none());
    }
}
