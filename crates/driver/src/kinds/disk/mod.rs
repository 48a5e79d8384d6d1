//! Disks that a controller attaches to the node.

mod attributes;

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wincsi::disks::DiskQuery;

use super::block::{ARRIVAL, Source, Spec};
use crate::kubelet::{Refusal, Request};

pub(super) use self::attributes::names_disk;
pub use self::attributes::{AttributeError, Attributes, Luns, attribute_rows};

/// What disks may be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What azuredisk's key `LUN` counts.
    pub luns: Luns,
    /// How long a stage waits for its disk.
    pub arrival: Duration,
}

/// Disks that are attached when kubelet calls.
pub struct AttachedDisks(Luns);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The properties that identify it.
    #[serde(serialize_with = "write", deserialize_with = "read")]
    pub disk: DiskQuery,
}

impl AttachedDisks {
    pub fn new(luns: Luns) -> Self {
        if matches!(luns, Luns::Nvme { .. }) {
            tracing::warn!(
                "-azure-luns=nvme: LUN n is namespace n + 2, as Azure says of Linux; nobody has seen it on Windows"
            );
        }
        Self(luns)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            luns: Luns::default(),
            arrival: ARRIVAL,
        }
    }
}

impl Spec for Attached {
    const KIND: &'static str = "disk";
}

impl Source for AttachedDisks {
    type Spec = Attached;
    type Secret = ();

    /// Whatever no other kind accepts.
    fn accepts(&self, _request: &Request<'_>) -> bool {
        true
    }

    fn keys(&self) -> Vec<&'static str> {
        attributes::keys()
    }

    fn read(&self, request: &Request<'_>) -> Result<(Attached, ()), Refusal> {
        let attributes = Attributes {
            handle: request.volume.as_str(),
            publish: request.publish_context,
            volume: request.context,
        };
        let disk = attributes.query(self.0).map_err(Refusal::of_kind)?;
        Ok((Attached { disk }, ()))
    }

    fn query(&self, spec: &Attached) -> DiskQuery {
        spec.disk.clone()
    }
}

fn write<S: Serializer>(query: &DiskQuery, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&query.to_record())
}

fn read<'de, D: Deserializer<'de>>(from: D) -> Result<DiskQuery, D::Error> {
    let text = String::deserialize(from)?;
    DiskQuery::from_record(&text).map_err(|why| D::Error::custom(format_args!("{text:?}: {why}")))
}
