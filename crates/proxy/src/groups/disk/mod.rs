//! The disk group. v1beta3 numbers its disks as v1 does; the versions before it write the number as
//! text.

/// A location in the messages in scope: alike in all versions.
macro_rules! wire_location {
    () => {
        fn wire_location(location: formats::location::Location) -> DiskLocation {
            DiskLocation {
                adapter: location.adapter.unwrap_or_default(),
                bus: location.bus.unwrap_or_default(),
                target: location.target.unwrap_or_default(),
                lun_id: location.lun.unwrap_or_default(),
            }
        }
    };
}

mod from_v1beta3;
mod until_v1beta2;

use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    until_v1beta2::register(registry);
    from_v1beta3::register(registry);
}
