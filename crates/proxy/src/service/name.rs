use std::fmt;
use std::str::FromStr;

/// The service's name in csi-proxy's installation notes, and its source in the event log.
pub const NAME: &str = "csiproxy";

/// The name of a service, as the service control manager takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceName(String);

impl ServiceName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The display name, unique among services.
    #[must_use]
    pub fn display(&self) -> String {
        match self == &Self::default() {
            true => String::from("CSI Proxy"),
            false => format!("CSI Proxy ({})", self.0),
        }
    }
}

impl Default for ServiceName {
    fn default() -> Self {
        Self(String::from(NAME))
    }
}

/// The documentation of `CreateService`: at most 256 characters, no slash and no backslash.
impl FromStr for ServiceName {
    type Err = ServiceNameError;

    fn from_str(text: &str) -> Result<Self, ServiceNameError> {
        let is_allowed = |character: char| !character.is_control() && !"/\\".contains(character);
        let length = text.encode_utf16().count();
        if (1..=256).contains(&length) && text.trim() == text && text.chars().all(is_allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(ServiceNameError(text.to_owned()))
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that cannot name a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name for a service: 1 to 256 characters, without / and \\")]
pub struct ServiceNameError(String);

#[cfg(test)]
mod tests {
    use super::ServiceName;

    #[test]
    fn names_are_checked_before_the_system_sees_them() {
        let parse = |text: &str| text.parse::<ServiceName>();
        assert_eq!(parse("csiproxy"), Ok(ServiceName::default()));
        assert!(parse(&"x".repeat(256)).is_ok());
        for wrong in ["", "a/b", r"a\b", "a\0b", " a", "a\n", &"x".repeat(257)] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn two_services_have_two_display_names() {
        let other: ServiceName = "other".parse().expect("a name");
        assert_ne!(other.display(), ServiceName::default().display());
    }
}
