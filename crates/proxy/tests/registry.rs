//! What is served is what the table says, whole groups and versions at a time.

use std::collections::BTreeSet;

use wincsi_proxy::groups::registry;

const SERVED: [&str; 11] = [
    "filesystem/v1alpha1",
    "filesystem/v1beta1",
    "filesystem/v1beta2",
    "filesystem/v1",
    "filesystem/v2alpha1",
    "disk/v1",
    "volume/v1",
    "smb/v1",
    "system/v1alpha1",
    "iscsi/v1alpha1",
    "iscsi/v1alpha2",
];

#[test]
fn every_method_of_every_served_version_has_a_handler() {
    let registry = registry();
    let handled: BTreeSet<_> = registry
        .methods()
        .map(|(group, path)| (group.to_string(), path))
        .collect();
    let declared: BTreeSet<_> = wire::GROUPS
        .iter()
        .filter(|group| SERVED.contains(&group.to_string().as_str()))
        .flat_map(|group| {
            group
                .methods
                .iter()
                .map(|method| (group.to_string(), method.path))
        })
        .collect();
    assert_eq!(handled, declared);
    assert_eq!(handled.len(), 64);
}
