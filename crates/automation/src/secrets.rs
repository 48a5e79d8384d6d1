use os::schema::Method;
use os::{Arguments, SystemText, Value};

/// The passwords among a call's arguments. The system's text for the call is kept only if it contains
/// none of them: a provider's text goes to logs and callers, and its content is not documented.
pub struct Secrets<'a>(Vec<&'a str>);

os::assert_no_debug!(Secrets<'static>);

impl<'a> Secrets<'a> {
    /// Those of a call.
    #[must_use]
    pub fn of(method: &Method, arguments: &'a Arguments) -> Self {
        let is_secret = |name| method.parameter(name).is_some_and(|row| row.secret);
        let secrets = arguments.0.iter().filter(|(name, _)| is_secret(name));
        let texts = secrets.filter_map(|(_, value)| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        });
        Self(texts.flat_map(parts).collect())
    }

    /// There are none.
    #[must_use]
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// The system's text, unless it contains a secret.
    #[must_use]
    pub fn keep(&self, system_text: &str) -> Option<SystemText> {
        let gives_away = self.0.iter().any(|secret| system_text.contains(secret));
        (!gives_away)
            .then(|| SystemText::new(system_text))
            .flatten()
    }
}

/// The whole text, and what follows each colon: a user's name and a password are one text in a
/// [credential](os::schema::smb_global_mapping::create::CREDENTIAL).
fn parts(secret: &str) -> impl Iterator<Item = &str> {
    let after_colons = secret.match_indices(':').map(|(at, _)| &secret[at + 1..]);
    let parts = std::iter::once(secret).chain(after_colons);
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use os::schema::smb_global_mapping as mapping;
    use os::{Arguments, Value};

    use super::Secrets;

    fn arguments() -> Arguments {
        let remote = Value::text(r"\\files\data");
        Arguments::none()
            .with(mapping::create::REMOTE_PATH.name, remote)
            .with(
                mapping::create::CREDENTIAL.name,
                Value::text(r"corp\\joe:hunter2"),
            )
    }

    #[test]
    fn a_text_that_gives_a_secret_away_is_not_kept() {
        let arguments = arguments();
        let secrets = Secrets::of(&mapping::CREATE, &arguments);
        for system_text in [r"corp\\joe:hunter2 is refused", "password \"hunter2\""] {
            assert_eq!(secrets.keep(system_text), None, "{system_text}");
        }
        let kept = secrets
            .keep(r"\\files\data: Zugriff verweigert")
            .expect("kept");
        assert_eq!(kept.as_str(), r"\\files\data: Zugriff verweigert");
    }

    #[test]
    fn an_empty_password_withholds_nothing() {
        let empty = Arguments::none().with(mapping::create::CREDENTIAL.name, Value::text(""));
        assert!(Secrets::of(&mapping::CREATE, &empty).keep("no").is_some());
        assert!(Secrets::none().keep("no").is_some());
    }
}
