//! The SMB mappings of a node.

use os::schema::NamedValue;
use os::schema::smb_global_mapping::{
    CLASS, LOCAL_PATH, REMOTE_PATH, REQUIRE_INTEGRITY, REQUIRE_PRIVACY, STATUS, USE_WRITE_THROUGH,
    status,
};
use os::{Deadline, Instance, Query, WinPath};

use super::SmbError;
use crate::{Node, ProviderError};

/// A mapping of a share, made by any process, as Windows reports it. Properties that may be null
/// are optional. Windows does not report its user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareMapping {
    /// `\\server\share` as it was mapped; a foreign mapping may be of a folder below a share.
    pub remote: String,
    /// A drive letter with its colon; [`Smb::map`](crate::api::Smb::map) requests none.
    pub local: Option<String>,
    /// The status that Windows saw last: a share that nobody used since its server went away may still be
    /// [`MappingStatus::Ok`].
    pub status: Option<MappingStatus>,
    /// Whether it is signed (`RequireIntegrity`).
    pub integrity: Option<bool>,
    /// Whether it is encrypted (`RequirePrivacy`).
    pub privacy: Option<bool>,
    /// Whether writes bypass all caches, to the server's disk (`UseWriteThrough`).
    pub write_through: Option<bool>,
}

/// The status of a mapping, in the words of [`os::schema::smb_global_mapping::status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MappingStatus {
    /// It is connected.
    Ok,
    /// It is paused.
    Paused,
    /// It has no session; Windows may connect it again at its next use.
    Disconnected,
    /// The network failed.
    NetworkError,
    /// It is being connected.
    Connecting,
    /// It is being connected again.
    Reconnecting,
    /// It is not available.
    Unavailable,
    /// A number without a documented meaning.
    Other(u32),
}

const SELECT: &[&str] = &[
    REMOTE_PATH.name,
    LOCAL_PATH.name,
    STATUS.name,
    REQUIRE_INTEGRITY.name,
    REQUIRE_PRIVACY.name,
    USE_WRITE_THROUGH.name,
];

const STATUSES: [(NamedValue, MappingStatus); 7] = [
    (status::OK, MappingStatus::Ok),
    (status::PAUSED, MappingStatus::Paused),
    (status::DISCONNECTED, MappingStatus::Disconnected),
    (status::NETWORK_ERROR, MappingStatus::NetworkError),
    (status::CONNECTING, MappingStatus::Connecting),
    (status::RECONNECTING, MappingStatus::Reconnecting),
    (status::UNAVAILABLE, MappingStatus::Unavailable),
];

/// All mappings, by their remote paths.
pub(super) fn all(node: &Node, deadline: Deadline) -> Result<Vec<ShareMapping>, SmbError> {
    let query = Query::all(CLASS.name, SELECT);
    let rows = rows(node, &query, deadline).map_err(ProviderError::from)?;
    let shares: os::Result<Vec<_>> = rows.iter().map(ShareMapping::read).collect();
    let mut shares = shares.map_err(ProviderError::from)?;
    shares.sort_by(|one, other| (&one.remote, &one.local).cmp(&(&other.remote, &other.local)));
    Ok(shares)
}

/// Whether the node has a mapping of this share, or of a folder of it that contains the path. The server is not
/// contacted.
pub(crate) fn is_mapped(node: &Node, path: &WinPath, deadline: Deadline) -> os::Result<bool> {
    let query = Query::all(CLASS.name, &[REMOTE_PATH.name]);
    let rows = rows(node, &query, deadline)?;
    let path = path.to_string();
    let remotes: os::Result<Vec<_>> = rows.iter().map(|row| row.text(REMOTE_PATH.name)).collect();
    Ok(remotes?.into_iter().any(|remote| is_within(&path, remote)))
}

/// The mappings that meet the query; none is no error.
pub(super) fn rows(
    node: &Node,
    query: &Query<'_>,
    deadline: Deadline,
) -> os::Result<Vec<Instance>> {
    match node.os().smb.query(query, deadline) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        rows => rows,
    }
}

fn is_within(path: &str, remote: &str) -> bool {
    let names = |text: &str| -> Vec<String> {
        let text = text.to_lowercase();
        let names = text.split('\\').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    names(path).starts_with(&names(remote))
}

impl ShareMapping {
    fn read(mapping: &Instance) -> os::Result<Self> {
        let local = mapping.text_or_null(LOCAL_PATH.name)?;
        let status = mapping.u32_or_null(STATUS.name)?;
        Ok(Self {
            remote: mapping.text(REMOTE_PATH.name)?.to_owned(),
            local: local.filter(|it| !it.is_empty()).map(str::to_owned),
            status: status.map(MappingStatus::of),
            integrity: mapping.bool_or_null(REQUIRE_INTEGRITY.name)?,
            privacy: mapping.bool_or_null(REQUIRE_PRIVACY.name)?,
            write_through: mapping.bool_or_null(USE_WRITE_THROUGH.name)?,
        })
    }
}

impl MappingStatus {
    fn of(number: u32) -> Self {
        let known = STATUSES.iter().find(|(row, _)| row.value == number);
        known.map_or(Self::Other(number), |(_, status)| *status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_within_a_mapping_by_its_names_and_not_by_its_letters() {
        assert!(is_within(r"\\Files\Data\pv\", r"\\files\data"));
        assert!(is_within(r"\\files\data", r"\\FILES\data\"));
        assert!(is_within(r"\\files\data\pv\x", r"\\files\data\pv"));
        assert!(!is_within(r"\\files\database", r"\\files\data"));
        assert!(!is_within(r"\\files\data", r"\\files\data\pv"));
    }

    #[test]
    fn every_status_of_the_table_has_a_word_and_no_other() {
        for row in status::VALUES {
            let of_row = MappingStatus::of(row.value);
            assert_eq!(
                format!("{of_row:?}").to_lowercase(),
                row.name.to_lowercase()
            );
        }
        assert_eq!(MappingStatus::of(7), MappingStatus::Other(7));
    }
}
