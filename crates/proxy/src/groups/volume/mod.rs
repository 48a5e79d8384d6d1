//! The volume group. v1beta3 and v2alpha1 have the messages of v1, v2alpha1 with one call more; the
//! versions before have other names for some calls, forwarded by csi-proxy to the new ones.

mod from_v1beta3;
mod until_v1beta2;

use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    until_v1beta2::register(registry);
    from_v1beta3::register(registry);
}
