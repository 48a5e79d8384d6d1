use std::collections::BTreeMap;
use std::fmt;

use driver::record::VolumeHandle;
use smb::Name;

use super::place::volume_name;
use super::{Place, RequestError};
use crate::volumes::Consistency;

/// How ids of snapshots begin: no handle does, as its source has a share behind a server.
const PREFIX: &str = "snapshot#";

/// Parameters of a class, in lower case: ours, and those of csi-snapshotter's `--extra-create-metadata`.
const KEYS: [&str; 4] = [
    CONSISTENCY,
    "csi.storage.k8s.io/volumesnapshot/name",
    "csi.storage.k8s.io/volumesnapshot/namespace",
    "csi.storage.k8s.io/volumesnapshotcontent/name",
];
const CONSISTENCY: &str = "consistency";

/// A snapshot's id: `snapshot#host/share[/path]#NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotId {
    text: String,
    /// Its base folder; the folder is empty.
    pub place: Place,
    pub name: Name,
}

impl SnapshotId {
    pub fn read(text: &str) -> Result<Self, RequestError> {
        VolumeHandle::parse(text)?;
        let fields = text.strip_prefix(PREFIX).and_then(|it| it.split_once('#'));
        let (source, name) = fields.ok_or(RequestError::Form)?;
        if source.starts_with(['/', '\\']) {
            return Err(RequestError::Form);
        }
        Ok(Self {
            text: text.to_owned(),
            place: Place::read(&format!("//{source}"), "")?,
            name: volume_name(name)?,
        })
    }

    /// The id of a snapshot of a volume with this source.
    pub fn of(source: &str, name: &str) -> Result<Self, RequestError> {
        let source = source.replace('\\', "/");
        Self::read(&format!("{PREFIX}{}#{name}", source.trim_matches('/')))
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a VolumeSnapshotClass says.
pub(crate) fn consistency(given: &BTreeMap<String, String>) -> Result<Consistency, RequestError> {
    let mut found = None;
    for (key, value) in given {
        let known = key.to_lowercase();
        if !KEYS.contains(&known.as_str()) {
            return Err(RequestError::Parameter(key.clone()));
        }
        if known == CONSISTENCY && found.replace(value.as_str()).is_some() {
            return Err(RequestError::Twice(key.clone()));
        }
    }
    match found.unwrap_or_default() {
        "" | "listed" => Ok(Consistency::Listed),
        "strict" => Ok(Consistency::Strict),
        other => Err(RequestError::Consistency(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Handle;
    use super::{Place, SnapshotId};

    proptest! {
        #[test]
        fn no_id_of_a_snapshot_is_a_handle(
            source in "(//)?[a-z./\\\\]{1,12}",
            name in "[a-z.#/ ]{1,6}",
        ) {
            let text = format!("snapshot#{source}#{name}");
            let handle = Handle::read(&text).map(|it| Place::read(&it.source, &it.folder));
            prop_assert!(handle.is_none_or(|place| place.is_err()));
            if let Ok(id) = SnapshotId::of(&source, &name) {
                prop_assert_eq!(SnapshotId::read(&id.to_string()).ok(), Some(id));
            }
        }
    }
}
