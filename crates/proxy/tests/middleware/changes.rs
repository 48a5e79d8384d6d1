//! Each changing call is in the audit log, under any version's name.

use std::collections::BTreeSet;

use super::harness::Proxy;

/// By every name in any version; independent of the server's own table.
const CHANGES: &[(&str, &[&str])] = &[
    ("disk", &["PartitionDisk", "SetAttachState", "SetDiskState"]),
    (
        "filesystem",
        &[
            "CreateSymlink",
            "LinkPath",
            "Mkdir",
            "Rmdir",
            "RmdirContents",
        ],
    ),
    (
        "iscsi",
        &[
            "AddTargetPortal",
            "ConnectTarget",
            "DisconnectTarget",
            "DiscoverTargetPortal",
            "RemoveTargetPortal",
            "SetMutualChapSecret",
        ],
    ),
    ("smb", &["NewSmbGlobalMapping", "RemoveSmbGlobalMapping"]),
    ("system", &["StartService", "StopService"]),
    (
        "volume",
        &[
            "DismountVolume",
            "FormatVolume",
            "MountVolume",
            "ResizeVolume",
            "UnmountVolume",
        ],
    ),
];

fn is_change(group: &str, method: &str) -> bool {
    let mut groups = CHANGES.iter().filter(|(name, _)| *name == group);
    groups.any(|(_, methods)| methods.contains(&method))
}

/// Guards: P18
#[test]
fn each_method_that_changes_the_node_writes_one_line_and_no_other_does() {
    let proxy = Proxy::start_with(|config| {
        config.audit_log = Some(config.listen.with_file_name("audit.log"));
    });
    let mut seen = BTreeSet::new();
    for group in wire::GROUPS {
        for method in group.methods {
            let before = proxy.audit_lines().len();
            // All fields are empty: most calls fail, and are written all the same.
            proxy.call_empty(group, method.path);
            let lines = proxy.audit_lines().len() - before;
            let expected = usize::from(is_change(group.name, method.name));
            assert_eq!(lines, expected, "{}", method.path);
            seen.insert((group.name, method.name));
        }
    }
    for (group, methods) in CHANGES {
        for method in *methods {
            assert!(seen.contains(&(group, method)), "{group}.{method}");
        }
    }
}
