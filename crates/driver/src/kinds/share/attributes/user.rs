//! As whom a share is mapped, by the Secret of a volume.

use std::collections::BTreeMap;

use wincsi::smb::Credentials;
use zeroize::Zeroizing;

use super::RequestError;
use crate::kubelet::value;

/// The domain of a user that names none, as csi-driver-smb has it on Windows.
const DEFAULT_DOMAIN: &str = "AZURE";

/// The credentials of a request's secrets; none if they have no user. Spaces around values are no part of them, as
/// csi-driver-smb reads them.
pub(super) fn credentials(
    secrets: &BTreeMap<String, String>,
) -> Result<Option<Credentials>, RequestError> {
    let Some(user) = plain(secrets, "username")? else {
        return Ok(None);
    };
    let domain = plain(secrets, "domain")?.unwrap_or(DEFAULT_DOMAIN);
    let user = match user.contains(['\\', '@']) {
        // It names its domain itself.
        true => user.to_owned(),
        false => format!(r"{domain}\{user}"),
    };
    let password = plain(secrets, "password")?.unwrap_or_default();
    let password = Zeroizing::new(password.to_owned());
    Ok(Credentials::new(user, password))
}

fn plain<'a>(
    secrets: &'a BTreeMap<String, String>,
    key: &'static str,
) -> Result<Option<&'a str>, RequestError> {
    match value(secrets, key) {
        Some(text) if text.contains(char::is_control) => Err(RequestError::Secret(key)),
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<(String, String)>, RequestError> {
        let pairs = pairs.iter();
        let owned = pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let credentials = credentials(&owned.collect())?;
        Ok(credentials.map(|it| (it.username().to_owned(), it.expose_password().to_owned())))
    }

    fn user(pairs: &[(&str, &str)]) -> String {
        read(pairs).unwrap().unwrap().0
    }

    #[test]
    fn a_user_has_a_domain_of_its_own_or_of_the_secret_or_azure() {
        assert_eq!(user(&[("username", "pods")]), r"AZURE\pods");
        let domain = ("domain", "CORP");
        assert_eq!(user(&[("username", "pods"), domain]), r"CORP\pods");
        for named in [r"FILES\pods", "pods@corp.example", r".\pods"] {
            assert_eq!(user(&[("username", named), domain]), named);
        }
    }

    #[test]
    fn keys_have_no_case_and_values_no_blanks_around_them() {
        let read = read(&[
            ("UserName", " pods\n"),
            ("PASSWORD", "\tcorrect horse "),
            ("Domain", " CORP "),
        ]);
        let expected = (String::from(r"CORP\pods"), String::from("correct horse"));
        assert_eq!(read, Ok(Some(expected)));
    }

    #[test]
    fn no_user_is_no_credential_whatever_else_the_secret_has() {
        let password = ("password", "correct horse");
        assert_eq!(read(&[password]), Ok(None));
        assert_eq!(read(&[("username", " "), password]), Ok(None));
    }

    #[test]
    fn what_windows_would_cut_is_refused_without_a_word_of_it() {
        for (key, value) in [
            ("username", "po\0ds"),
            ("domain", "CO\nRP"),
            ("password", "correct\0horse"),
        ] {
            let pairs = [("username", "pods"), (key, value)];
            let error = read(&pairs[usize::from(key == "username")..]).unwrap_err();
            assert_eq!(error, RequestError::Secret(key));
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("horse") && !shown.contains("RP"), "{shown}");
        }
    }
}
