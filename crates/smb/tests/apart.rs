//! The client, and the controller that has it, are no part of the programs of a node.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[test]
fn no_program_of_a_node_has_the_client() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = fs::read_to_string(lock).unwrap();
    let packages: BTreeMap<&str, Vec<&str>> =
        lock.split("[[package]]").filter_map(package).collect();
    for program in ["wincsi-driver", "wincsi-proxy"] {
        let mut reached = BTreeSet::new();
        let mut open = vec![program];
        while let Some(name) = open.pop() {
            if reached.insert(name) {
                open.extend(&packages[name]);
            }
        }
        let is_whole = reached.contains("wincsi-node") && reached.contains("thiserror");
        assert!(is_whole, "{program}");
        for crate_name in ["wincsi-smb", "wincsi-controller", "aes-gcm", "md4"] {
            assert!(packages.contains_key(crate_name));
            assert!(!reached.contains(crate_name), "{program} has {crate_name}");
        }
    }
}

/// The name of a package and those that it depends on, in tests too.
fn package(section: &str) -> Option<(&str, Vec<&str>)> {
    let mut lines = section.lines();
    let name = lines.find_map(|line| line.strip_prefix("name = "))?;
    let needs = lines.filter_map(|line| line.strip_prefix(" \""));
    let needs = needs.filter_map(|need| need.split(['"', ' ']).next());
    Some((name.trim_matches('"'), needs.collect()))
}
