//! A user's name and password in the one text that providers of WMI take for a `PSCredential`: the name with
//! `\` before `\` and `:`, then `:`, then the password as it is.
//!
//! So [PowerShell](https://github.com/PowerShell/PowerShell/blob/9303de597da55963a6e26a8fe164d0b256ca3d4d/src/Microsoft.PowerShell.Commands.Management/cimSupport/cmdletization/cim/cimConverter.cs#L166-L178)
//! makes it.

use zeroize::Zeroizing;

/// The text of a name and a password.
#[must_use]
pub fn quoted(name: &str, password: &str) -> Zeroizing<String> {
    // Room for all of it from the start: a string that grows leaves a copy behind.
    let room = 2 * name.len() + 1 + password.len();
    let mut quoted = Zeroizing::new(String::with_capacity(room));
    for character in name.chars() {
        if matches!(character, '\\' | ':') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push(':');
    quoted.push_str(password);
    quoted
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
            name in r"([^\x00]|[\\:]){0,20}",
            password in r"([^\x00]|[\\:]){0,20}",
        ) {
            let quoted = quoted(&name, &password);
            prop_assert_eq!(read(&quoted), Some((name, password.as_str())));
        }
    }

    #[test]
    fn the_name_is_escaped_and_the_password_is_not() {
        let quoted = |name, password| String::clone(&quoted(name, password));
        assert_eq!(quoted("user", "pass"), "user:pass");
        assert_eq!(quoted(r"DOM\user", r"a\b:c"), r"DOM\\user:a\b:c");
        assert_eq!(quoted("a:b", ""), r"a\:b:");
    }
}
