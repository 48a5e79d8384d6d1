//! What is served is what the table says, whole groups with all their versions at a time.

use std::collections::BTreeSet;

use wincsi_proxy::groups::registry;

const SERVED: &[&str] = &[
    "filesystem", //
    "disk",
    "volume",
    "smb",
];

#[test]
fn every_method_of_every_version_of_a_served_group_has_a_handler() {
    let registry = registry();
    let handled: BTreeSet<_> = registry
        .methods()
        .map(|(group, path)| (group.to_string(), path))
        .collect();
    let served = wire::GROUPS
        .iter()
        .filter(|group| SERVED.contains(&group.name));
    let declared: BTreeSet<_> = served
        .flat_map(|group| {
            let methods = group.methods.iter();
            methods.map(|method| (group.to_string(), method.path))
        })
        .collect();
    assert_eq!(handled, declared);
}
