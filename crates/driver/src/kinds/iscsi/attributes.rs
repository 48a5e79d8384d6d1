//! Which LUN a volume is, as PersistentVolumes of democratic-csi and of csi-driver-iscsi have it.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::num::NonZeroU32;

use wincsi::disks::Page83;
use wincsi::iscsi::{Authentication, Portal, TargetName};

use super::Target;
use super::secrets::{Credentials, Found, SECRET_KEYS, refused, same};
use crate::kubelet::Request;

pub(super) struct Requested {
    pub(super) target: Target,
    pub(super) credentials: Credentials,
    /// The keys that are there and mean nothing on Windows.
    pub(super) ignored: Vec<&'static str>,
}

/// Why a request for a LUN is refused. It has no value of the Secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("{0} and {1} have different values, and have to be equal")]
    Different(&'static str, &'static str),
    #[error("{0} needs the {1} of its login, which the volume's Secret lacks (nodeStageSecretRef)")]
    Half(&'static str, &'static str),
    #[error("the volume is of iSCSI, and its attribute {0} is missing")]
    Missing(&'static str),
    #[error("{0} is refused: {1}")]
    Value(&'static str, String),
}

/// Key, meaning, and what its value is read as. An empty value is none: democratic-csi writes keys that it has none for.
const TABLE: [(&str, &str, &str); 14] = [
    ("node_attach_driver", "of democratic-csi", "iscsi"),
    ("portal", "tried first", "host, host:port or [IPv6]:port"),
    (
        "targetPortal",
        "tried first",
        "host, host:port or [IPv6]:port",
    ),
    ("portals", "tried next", "portals by commas or as JSON"),
    ("iqn", "the target's name", "a name of iSCSI"),
    ("lun", "the LUN", "a number from 0 to 255"),
    ("page83", "what the disk must have", "an identifier"),
    ("discoveryCHAPAuth", "whether by CHAP", "true or false"),
    ("sessionCHAPAuth", "whether by CHAP", "true or false"),
    ("secret", "refused: use nodeStageSecretRef", "nothing"),
    ("interface", IGNORED, "any text"),
    ("iscsiInterface", IGNORED, "any text"),
    ("initiatorName", IGNORED, "any text"),
    ("discovery", IGNORED, "any text"),
];

const IGNORED: &str = "ignored";

/// Whether a request is for a LUN, by keys that no other volume has, in whatever case: a key that is misspelt so has to be an
/// error here, as the rest might name an attached disk.
pub(super) fn accepts(request: &Request<'_>) -> bool {
    let marks = ["node_attach_driver", "iqn", "targetPortal"];
    let is_mark = |name: &String| marks.iter().any(|key| name.eq_ignore_ascii_case(key));
    request.context.keys().any(is_mark)
}

pub fn keys() -> Vec<&'static str> {
    TABLE.map(|(key, ..)| key).to_vec()
}

/// The keys as rows of Markdown, for docs/iscsi.md; one row for keys that follow each other with the same.
#[doc(hidden)]
pub fn attribute_rows() -> String {
    let of_secret = SECRET_KEYS.map(|key| (key, "of the Secret", "text"));
    let all: Vec<_> = TABLE.into_iter().chain(of_secret).collect();
    let same = all.chunk_by(|one, next| (one.1, one.2) == (next.1, next.2));
    let row = |rows: &[(&str, &str, &str)]| {
        let keys: Vec<_> = rows.iter().map(|(key, ..)| format!("`{key}`")).collect();
        let (_, meaning, form) = rows[0];
        format!("| {} | {meaning} | {form} |\n", keys.join(", "))
    };
    same.map(row).collect()
}

/// Reads a request. Neither controller attaches, so the publish context has nothing of it.
///
/// # Errors
/// The attributes or the Secret cannot be.
pub(super) fn read(request: &Request<'_>) -> Result<Requested, RequestError> {
    let driver = |text: &str| (text == "iscsi").then_some(()).ok_or("another driver's");
    parsed(request, "node_attach_driver", driver)?;
    // All who may list PersistentVolumes have it, and to read it would keep it in use.
    if text(request, "secret").is_some() {
        let why = "it is no secret there: use nodeStageSecretRef";
        return Err(refused("secret", why));
    }
    let first = |key| parsed(request, key, portal);
    let first = same(first("portal")?, first("targetPortal")?)?.map(|(_, first)| first);
    let others = parsed(request, "portals", portals)?.map(|(_, others)| others);
    let iqn = parsed(request, "iqn", TargetName::parse)?;
    let lun = parsed(request, "lun", str::parse)?;
    let page83 = parsed(request, "page83", Page83::parse)?;
    let chap = |key| parsed(request, key, str::parse);
    let chap = [chap("discoveryCHAPAuth")?, chap("sessionCHAPAuth")?];
    let credentials = Credentials::read(request.secrets, chap)?;
    let logins = [&credentials.discovery, &credentials.session];
    let mut logins = logins.iter();
    let has_chap = logins.any(|login| !matches!(login, Authentication::None));
    let mut ignored = TABLE.to_vec();
    ignored.retain(|(key, meaning, _)| *meaning == IGNORED && text(request, key).is_some());
    Ok(Requested {
        target: Target {
            portals: unique(first.into_iter().chain(others.unwrap_or_default()))?,
            iqn: iqn.ok_or(RequestError::Missing("iqn"))?.1,
            lun: lun.ok_or(RequestError::Missing("lun"))?.1,
            page83: page83.map(|(_, name)| name),
            has_chap,
            mutual_chap: credentials.mutual.is_some(),
        },
        credentials,
        ignored: ignored.into_iter().map(|(key, ..)| key).collect(),
    })
}

/// An attribute, unless it is empty.
fn text<'a>(request: &Request<'a>, key: &str) -> Option<&'a str> {
    let value = request.context.get(key).map(|value| value.trim());
    value.filter(|value| !value.is_empty())
}

fn parsed<T, E: Display>(
    request: &Request<'_>,
    key: &'static str,
    parse: fn(&str) -> Result<T, E>,
) -> Found<T> {
    let Some(text) = text(request, key) else {
        return Ok(None);
    };
    let row = TABLE.iter().find(|row| row.0 == key);
    let form = row.map_or("known", |(.., form)| form);
    let refused = |why| refused(key, format!("{text:?} is not {form}: {why}"));
    parse(text).map(|value| Some((key, value))).map_err(refused)
}

/// The portals in their order, each once.
fn unique(portals: impl Iterator<Item = Portal>) -> Result<Vec<Portal>, RequestError> {
    let mut seen = BTreeSet::new();
    let unique: Vec<_> = portals
        .filter(|portal| seen.insert(portal.clone()))
        .collect();
    match unique.len() {
        0 => Err(RequestError::Missing("portal, targetPortal or portals")),
        1..=32 => Ok(unique),
        // All are probed at the same time.
        _ => Err(refused("portals", "there are more than 32")),
    }
}

/// A JSON list begins with `[`, and so does an IPv6 address.
fn portals(text: &str) -> Result<Vec<Portal>, String> {
    let inside = text.strip_prefix('[').unwrap_or("address").trim_start();
    let texts: Vec<String> = match inside.starts_with(['"', ']']) {
        true => serde_json::from_str(text).map_err(|error| error.to_string())?,
        false => text.split(',').map(str::to_owned).collect(),
    };
    let texts = texts.iter().map(|text| text.trim());
    texts.filter(|text| !text.is_empty()).map(portal).collect()
}

/// Reads a host, and a port that may be left out.
pub(super) fn portal(text: &str) -> Result<Portal, String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    // Without brackets the last group of an IPv6 address might be a port.
    if host.contains(':') && !host.starts_with('[') {
        return Err(format!("{text:?} is an IPv6 address without brackets"));
    }
    let port = port.map_or(Ok(0), |port| port.parse().map(NonZeroU32::get));
    let port = port.map_err(|why| format!("the port of {text:?}: {why}"))?;
    Portal::parse(host, port).map_err(|why| why.to_string())
}
