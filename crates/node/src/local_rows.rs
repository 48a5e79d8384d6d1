//! Leaves out the storage provider's rows of other machines.
//!
//! On a node of a failover cluster the provider lists the disks, partitions and volumes of the other nodes too
//! (<https://github.com/PowerShell/PowerShell/issues/18935>), by the numbers and device paths that they have there. A
//! disk here may have the same number and path, and a method on such a row changes the other node's disk.
//!
//! The WMI path of an object begins with the machine that was queried; the object's id names the machine that has the
//! object (`{1}\\NODE\root/...` in every record that we found; none is of another node). If a row has both names and
//! they differ, it is left out.

use os::{Deadline, Instance, ObjectPath, Query, Result};

use crate::Node;

/// A NetBIOS name has no more letters.
const LONGEST_NAME: usize = 15;

/// The rows of this machine that meet the query.
pub(crate) fn query(node: &Node, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
    let rows = node.os().storage.query(query, deadline)?;
    Ok(own(rows))
}

/// Those of the class that an association ties to an object.
pub(crate) fn associated(
    node: &Node,
    of: &ObjectPath,
    association: &'static str,
    class: &'static str,
    deadline: Deadline,
) -> Result<Vec<Instance>> {
    let rows = node
        .os()
        .storage
        .associators(of, association, class, deadline)?;
    Ok(own(rows))
}

fn own(mut rows: Vec<Instance>) -> Vec<Instance> {
    rows.retain(|row| is_own(&row.path.0));
    rows
}

fn is_own(path: &str) -> bool {
    match (asked(path), owner(path)) {
        (Some(asked), Some(owner)) => computer(asked) == computer(owner),
        _ => true,
    }
}

/// The machine in `\\SERVER\namespace:Class.Key="..."`.
fn asked(path: &str) -> Option<&str> {
    let server = path.strip_prefix(r"\\")?.split('\\').next()?;
    Some(server).filter(|server| !["", "."].contains(server))
}

/// The machine in `ObjectId="{1}\\\\NODE\\root/..."`, where each backslash is doubled.
fn owner(path: &str) -> Option<&str> {
    let (_, id) = path.split_once("ObjectId=\"{")?;
    let (_, place) = id.split_once('}')?;
    let node = place.strip_prefix(r"\\\\")?.split('\\').next()?;
    Some(node).filter(|node| !node.is_empty())
}

/// A machine's name as NetBIOS has it, in one case: either of the two may be that, or DNS's.
fn computer(name: &str) -> String {
    let host = name.split('.').next().unwrap_or_default();
    let short = host.chars().take(LONGEST_NAME);
    short.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::is_own;

    fn disk(server: &str, node: &str) -> String {
        format!(
            r#"\\{server}\root\microsoft\windows\storage:MSFT_Disk.ObjectId="{{1}}\\\\{node}\\root/Microsoft/Windows/Storage/Providers_v2\\WSP_Disk.ObjectId=\"{{baa8a04d-1faa-11f0-b07c-806e6f6e6963}}:DI:\\\\?\\scsi#disk\"""#
        )
    }

    #[test]
    fn an_object_of_the_machine_that_was_asked_is_own_in_each_spelling() {
        for (server, node) in [
            ("VL-STOR1", "VL-STOR1"),
            ("DEV-MX25100000E", "dev-mx25100000E"),
            ("A-RATHER-LONG-N", "a-rather-long-name-of-a-host"),
            ("NODE-1", "node-1.corp.example"),
            (".", "node-1"),
        ] {
            assert!(is_own(&disk(server, node)), "{server} {node}");
        }
    }

    #[test]
    fn an_object_of_another_machine_is_not() {
        for (server, node) in [("NODE-1", "NODE-2"), ("NODE-1", "NODE-11")] {
            assert!(!is_own(&disk(server, node)), "{server} {node}");
        }
    }

    #[test]
    fn an_object_that_names_no_machine_is_taken_for_own() {
        for path in [
            "",
            r"\\NODE-1\x:MSFT_StorageSetting=@",
            "MSFT_Disk.ObjectId=\"x\"",
        ] {
            assert!(is_own(path), "{path}");
        }
    }
}
