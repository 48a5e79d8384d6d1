use std::fmt;

use serde::{Deserialize, Serialize};

/// A password or a CHAP secret. The node's folder has it in plain text, like all simulated data, but
/// it is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_is_not_printed() {
        assert!(!format!("{:?}", Secret::from("hunter2")).contains("hunter2"));
    }
}
