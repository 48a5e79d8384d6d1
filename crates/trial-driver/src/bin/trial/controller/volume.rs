//! A volume's id: the page 0x83 identifier of its disk, so an id alone leads to the disk.

use std::hash::{DefaultHasher, Hash, Hasher};

use transport::{Code, Status};

/// The key of the id in publish contexts.
pub(crate) const PAGE83: &str = "page83";

/// Microsoft's prefix of NAA identifiers, as of virtual disks.
const PREFIX: &str = "6002248";

/// A volume's id, and the page 0x83 identifier of its disk: 32 hexadecimal digits.
pub(crate) struct VolumeName(String);

impl VolumeName {
    /// The name of a new volume: the same for the same wish.
    pub(crate) fn of_wish(name: &str) -> Self {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, name).hash(&mut hasher);
            hasher.finish()
        };
        let digits = format!("{:016x}{:016x}", half(0), half(1));
        Self(format!("{PREFIX}{}", &digits[PREFIX.len()..]))
    }

    /// The name in an id, if it can be one of ours.
    pub(crate) fn of_id(id: &str) -> Option<Self> {
        let is_ours = id.len() == 32
            && id.starts_with(PREFIX)
            && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| Self(id.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name in the id of a request.
pub(crate) fn named(id: &str) -> Result<VolumeName, Status> {
    VolumeName::of_id(id).ok_or_else(|| not_found(id))
}

/// Refuses a request without a required value, before any lookup.
pub(crate) fn check_given(what: &str, value: &str) -> Result<(), Status> {
    match value {
        "" => Err(Status::new(
            Code::InvalidArgument,
            format!("the {what} is empty"),
        )),
        _ => Ok(()),
    }
}

pub(crate) fn not_found(id: &str) -> Status {
    Status::new(Code::NotFound, format!("there is no volume {id:?}"))
}
