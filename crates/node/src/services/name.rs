use std::fmt;

use super::ServiceError;

/// The longest name that the service control manager takes, in UTF-16 units:
/// <https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew>.
const LONGEST: usize = 256;

/// The name of a Windows service, such as `MSiSCSI`; not its name for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceName(String);

impl ServiceName {
    /// Reads a name as clients send it.
    ///
    /// # Errors
    /// It is empty or too long, or has a separator or a control character.
    pub fn parse(text: &str) -> Result<Self, ServiceError> {
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.encode_utf16().count() > LONGEST {
            "it is longer than 256 characters"
        } else if text.contains(['/', '\\']) {
            r"it has a / or a \"
        } else if text.contains(char::is_control) {
            "it has a control character"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(ServiceError::Name {
            name: text.to_owned(),
            reason,
        })
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_windows_takes_for_one() {
        for text in [
            "MSiSCSI",
            "wuauserv",
            "MSSQL$X",
            "a b",
            "é",
            &"s".repeat(256),
        ] {
            assert_eq!(ServiceName::parse(text).unwrap().as_str(), text);
        }
        for text in [
            "",
            "a/b",
            r"a\b",
            r"\\host\s",
            "a\0",
            "a\n",
            &"s".repeat(257),
        ] {
            let refused = ServiceName::parse(text);
            assert!(
                matches!(refused, Err(ServiceError::Name { .. })),
                "{text:?}"
            );
        }
    }
}
