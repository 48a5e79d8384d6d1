use zeroize::Zeroizing;

/// A user of an SMB server. The password cannot be printed and is wiped when this is dropped.
pub struct Credentials {
    username: String,
    password: Zeroizing<String>,
}

impl Credentials {
    /// A user by name (`DOMAIN\user`) and password; `None` when the name is empty, with which
    /// Windows connects as the machine.
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

    /// The password itself; whoever copies it, wipes the copy.
    #[must_use]
    pub fn expose_password(&self) -> &str {
        &self.password
    }

    /// Name and password, the name without regard to case as Windows compares it.
    pub(super) fn parts(&self) -> (String, &str) {
        (self.username.to_lowercase(), &self.password)
    }

    /// The one text that `MSFT_SmbGlobalMapping.Create` takes: the name with `\` and `:` escaped,
    /// `:`, and the password as it is.
    pub(super) fn quoted(&self) -> Zeroizing<String> {
        // Room for all of it from the start: a string that grows leaves a copy behind.
        let room = 2 * self.username.len() + 1 + self.password.len();
        let mut quoted = Zeroizing::new(String::with_capacity(room));
        for character in self.username.chars() {
            if matches!(character, '\\' | ':') {
                quoted.push('\\');
            }
            quoted.push(character);
        }
        quoted.push(':');
        quoted.push_str(&self.password);
        quoted
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The name and the password, as a reader finds them: up to the first `:` without a `\` before it.
    fn read(quoted: &str) -> Option<(String, &str)> {
        let mut name = String::new();
        let mut characters = quoted.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                ':' => return Some((name, &quoted[at + 1..])),
                '\\' => name.push(characters.next()?.1),
                other => name.push(other),
            }
        }
        None
    }

    proptest! {
        #[test]
        fn no_name_reaches_into_the_password(
            name in r"([^\x00]|[\\:]){1,20}",
            password in r"([^\x00]|[\\:]){0,20}",
        ) {
            let quoted = quoted(&name, &password);
            prop_assert_eq!(read(&quoted), Some((name, password.as_str())));
        }
    }

    fn quoted(username: &str, password: &str) -> String {
        let password = Zeroizing::new(password.to_owned());
        let credentials = Credentials::new(username, password).unwrap();
        String::clone(&credentials.quoted())
    }

    #[test]
    fn the_name_is_escaped_and_the_password_is_not() {
        assert_eq!(quoted("user", "pass"), "user:pass");
        assert_eq!(quoted(r"DOM\user", r"a\b:c"), r"DOM\\user:a\b:c");
        assert_eq!(quoted("a:b", ""), r"a\:b:");
    }

    #[test]
    fn nobody_is_no_user() {
        assert!(Credentials::new("", Zeroizing::new("secret".to_owned())).is_none());
    }
}
