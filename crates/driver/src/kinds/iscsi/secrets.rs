//! As whom a node logs in, by the Secret of a volume.

use std::collections::BTreeMap;

use wincsi::iscsi::{Authentication, Chap, ChapSecret};
use zeroize::Zeroizing;

use super::RequestError;

/// Each secret in it is wiped when it is dropped.
pub struct Credentials {
    pub discovery: Authentication,
    pub session: Authentication,
    /// By what targets prove themselves.
    pub mutual: Option<ChapSecret>,
}

/// democratic-csi's keys, which has none for discovery, then csi-driver-iscsi's.
pub const SECRET_KEYS: [&str; 13] = [
    "node-db.node.session.auth.authmethod",
    "node-db.node.session.auth.username",
    "node-db.node.session.auth.password",
    "node-db.node.session.auth.username_in",
    "node-db.node.session.auth.password_in",
    "node.session.auth.username",
    "node.session.auth.password",
    "node.session.auth.username_in",
    "node.session.auth.password_in",
    "node.sendtargets.auth.username",
    "node.sendtargets.auth.password",
    "node.sendtargets.auth.username_in",
    "node.sendtargets.auth.password_in",
];

/// A key and its value.
pub(super) type Entry<T> = (&'static str, T);

pub(super) type Found<T> = Result<Option<Entry<T>>, RequestError>;

type Map = BTreeMap<String, String>;

impl Credentials {
    /// The attributes say whether discovery and the session are with CHAP.
    pub(super) fn read(
        secrets: &Map,
        chap: [Option<Entry<bool>>; 2],
    ) -> Result<Self, RequestError> {
        let (discovery, first) = login(secrets, "sendtargets", chap[0])?;
        let (session, second) = login(secrets, "session", chap[1])?;
        // Windows has one for all targets.
        let mutual = same(first, second)?.map(secret).transpose()?;
        Ok(Self {
            discovery,
            session,
            mutual,
        })
    }
}

/// How the node proves itself, and by what a target does. Where no key says whether it is by CHAP, it is if there is a user:
/// the attributes are csi-driver-iscsi's, and the method is democratic-csi's.
fn login<'a>(
    secrets: &'a Map,
    name: &str,
    by_attribute: Option<Entry<bool>>,
) -> Result<(Authentication, Option<Entry<&'a str>>), RequestError> {
    let entry = |word: &str| entry(secrets, &format!(".{name}.auth.{word}"));
    let pair = |user, password| match (entry(user)?, entry(password)?) {
        (Some((given, _)), None) => Err(RequestError::Half(given, password)),
        (None, Some((given, _))) => Err(RequestError::Half(given, user)),
        (user, password) => Ok(user.zip(password)),
    };
    let node = pair("username", "password")?;
    let target = pair("username_in", "password_in")?;
    let by_method = entry("authmethod")?.map(|(key, method)| match method {
        "CHAP" | "None" => Ok((key, method == "CHAP")),
        _ => Err(refused(key, "it must be CHAP or None")),
    });
    match (same(by_method.transpose()?, by_attribute)?, node, target) {
        (Some((_, false)), ..) | (None, None, None) => Ok((Authentication::None, None)),
        (Some((given, true)), None, _) | (None, None, Some(((given, _), _))) => {
            Err(RequestError::Half(given, "username"))
        }
        (_, Some(((key, user), password)), target) => {
            let chap = Chap::new(user, secret(password)?).map_err(|why| refused(key, why))?;
            Ok(match target {
                // Windows compares no name: `MSFT_iSCSISession.SetCHAPSecret` has the secret alone.
                Some((_, password)) => (Authentication::MutualChap(chap), Some(password)),
                None => (Authentication::OneWayChap(chap), None),
            })
        }
    }
}

/// What either key that ends so has. Blanks are a part of it, and the end of a line is not: `echo` writes one.
fn entry<'a>(secrets: &'a Map, end: &str) -> Found<&'a str> {
    let keys = SECRET_KEYS.into_iter().filter(|key| key.ends_with(end));
    let mut values = keys.filter_map(|key| {
        let value = secrets.get(key)?.trim_end_matches(['\r', '\n']);
        (!value.is_empty()).then_some((key, value))
    });
    same(values.next(), values.next())
}

/// The entry that there is, if the other is none or equal.
pub(super) fn same<T: PartialEq>(one: Option<Entry<T>>, other: Option<Entry<T>>) -> Found<T> {
    match (&one, &other) {
        (Some((key, value)), Some((other, its))) if value != its => {
            Err(RequestError::Different(key, other))
        }
        _ => Ok(one.or(other)),
    }
}

fn secret((key, value): Entry<&str>) -> Result<ChapSecret, RequestError> {
    let secret = ChapSecret::new(Zeroizing::new(value.to_owned()));
    secret.map_err(|why| refused(key, why))
}

pub(super) fn refused(key: &'static str, why: impl ToString) -> RequestError {
    RequestError::Value(key, why.to_string())
}
