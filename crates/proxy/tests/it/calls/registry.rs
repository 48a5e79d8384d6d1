//! Every method in the table is served, in every group and version.

use std::collections::BTreeSet;

use wincsi_proxy::groups::registry;

/// Guards: P47
#[test]
fn every_method_of_every_version_has_a_handler() {
    let registry = registry();
    let handled: BTreeSet<_> = registry
        .methods()
        .map(|(group, path)| (group.to_string(), path))
        .collect();
    let declared: BTreeSet<_> = wire::GROUPS
        .iter()
        .flat_map(|group| {
            group
                .methods
                .iter()
                .map(|method| (group.to_string(), method.path))
        })
        .collect();
    assert_eq!(handled, declared);
    assert_eq!(handled.len(), 139);
}
