//! Volumes that are LUNs of iSCSI targets.

mod attributes;
mod error;
mod login;
mod portals;
mod secrets;
mod source;
#[cfg(test)]
mod tests;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use wincsi::disks::Page83;
use wincsi::iscsi::{Portal, TargetName};

use self::attributes::{RequestError, accepts, read};
pub use self::attributes::{attribute_rows, keys};
pub use self::error::{NotAttached, Refused};
pub(crate) use self::login::SERVICE;
pub use self::secrets::{Credentials, SECRET_KEYS};
pub use self::source::{IscsiDisks, Settings};
use super::block::Spec;
use crate::record::as_text;

/// A LUN, as a request names it and a record keeps it: without a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// In the order in which they are tried, each once. There is one at least.
    #[serde(
        serialize_with = "as_text::list::serialize",
        deserialize_with = "portals"
    )]
    pub portals: Vec<Portal>,
    #[serde(serialize_with = "as_text::serialize", deserialize_with = "iqn")]
    pub iqn: TargetName,
    pub lun: u8,
    /// What the disk's page 0x83 must have, if the volume's author wrote it.
    #[serde(
        serialize_with = "as_text::option::serialize",
        deserialize_with = "page83"
    )]
    pub page83: Option<Page83>,
    /// Whether discovery or the session is with CHAP.
    pub has_chap: bool,
    /// Whether targets prove themselves too, in either of both.
    pub mutual_chap: bool,
}

impl Spec for Target {
    const KIND: &'static str = "iscsi";
}

fn portals<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Portal>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let portals = texts.iter().map(|text| attributes::portal(text));
    portals.collect::<Result<_, _>>().map_err(D::Error::custom)
}

fn iqn<'de, D: Deserializer<'de>>(from: D) -> Result<TargetName, D::Error> {
    TargetName::parse(&String::deserialize(from)?).map_err(D::Error::custom)
}

fn page83<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Page83>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let parsed = text.as_deref().map(Page83::parse).transpose();
    parsed.map_err(D::Error::custom)
}
