use std::net::IpAddr;

use os::Value;
use os::schema::Parameter;
use os::schema::iscsi_target::connect;

use crate::setters::setters;

/// Options of a session, besides its target and authentication. An option that is `None` is not sent, and
/// the initiator decides. Meanings:
/// <https://learn.microsoft.com/en-us/previous-versions/windows/desktop/iscsidisc/msft-iscsitarget-connect>.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginOptions {
    /// Whether data carry a digest (`IsDataDigest`).
    pub data_digest: Option<bool>,
    /// Whether headers carry a digest (`IsHeaderDigest`).
    pub header_digest: Option<bool>,
    /// The address of this node that the session goes out from (`InitiatorPortalAddress`).
    pub initiator_address: Option<IpAddr>,
    /// Whether the multipath driver may have the session's disks (`IsMultipathEnabled`). A target that is
    /// connected gets no second session by it.
    pub multipath: Option<bool>,
    /// Whether the session comes back after a restart (`IsPersistent`).
    pub persistent: Option<bool>,
}

impl LoginOptions {
    setters! {
        with_data_digest: data_digest, bool;
        with_header_digest: header_digest, bool;
        with_initiator_address: initiator_address, IpAddr;
        with_multipath: multipath, bool;
        with_persistent: persistent, bool;
    }

    /// The names of the options that are asked for, as Windows spells them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.asked().into_iter().map(|(row, _)| row.name)
    }

    /// The arguments of what is asked for.
    pub(super) fn asked(&self) -> Vec<(Parameter, Value)> {
        let flag = |flag: Option<bool>| flag.map(Value::Bool);
        let address = self.initiator_address.map(|it| Value::text(it.to_string()));
        let all = [
            (connect::IS_DATA_DIGEST, flag(self.data_digest)),
            (connect::IS_HEADER_DIGEST, flag(self.header_digest)),
            (connect::INITIATOR_PORTAL_ADDRESS, address),
            (connect::IS_MULTIPATH_ENABLED, flag(self.multipath)),
            (connect::IS_PERSISTENT, flag(self.persistent)),
        ];
        let asked = all.into_iter();
        asked
            .filter_map(|(row, value)| Some((row, value?)))
            .collect()
    }

    /// In what a login with these differs from one with `wanted`, in words.
    pub(super) fn differences(&self, wanted: &Self) -> Vec<String> {
        let flag = |row, of: fn(&Self) -> Option<bool>| differs(row, &of(self), &of(wanted));
        let found = [
            flag(connect::IS_DATA_DIGEST, |it| it.data_digest),
            flag(connect::IS_HEADER_DIGEST, |it| it.header_digest),
            flag(connect::IS_MULTIPATH_ENABLED, |it| it.multipath),
            flag(connect::IS_PERSISTENT, |it| it.persistent),
            differs(
                connect::INITIATOR_PORTAL_ADDRESS,
                &self.initiator_address,
                &wanted.initiator_address,
            ),
        ];
        found.into_iter().flatten().collect()
    }
}

fn differs<T: PartialEq + ToString>(
    row: Parameter,
    has: &Option<T>,
    wanted: &Option<T>,
) -> Option<String> {
    let word = |value: &Option<T>| match value {
        Some(value) => value.to_string(),
        None => "left out".to_owned(),
    };
    (has != wanted).then(|| format!("{} {}, not {}", row.name, word(has), word(wanted)))
}
