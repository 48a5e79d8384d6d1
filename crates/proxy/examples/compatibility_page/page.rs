//! The page of compatibility: each operation with its versions, and the texts that drivers match on.

use std::fmt::Write as _;

use node::driver_texts::{self, Matched, Returned};
use wincsi_proxy::catalogue::{self, OPERATIONS, Operation};
use wire::Group;

use super::drivers::{DRIVERS, ON_SIMULATED_FILES, STRICTER};

const HEAD: &str = "\
# Compatibility with csi-proxy

<!-- Written by `cargo xtask docs` -->

What changes for your drivers if you replace Kubernetes' csi-proxy: [shares](#a-share-that-is-mapped-already), [new
disks](#new-disks-that-come-offline-or-read-only), [what this server
refuses](#what-csi-proxy-takes-and-this-server-does-not), [texts that drivers match](#texts-that-drivers-look-for).

The server has every method of every version, on the pipe `\\\\.\\pipe\\csi-proxy-GROUP-VERSION`. Each version of each
operation has a test (`crates/proxy/tests/simulated/pages/evidence.rs`). These run against the simulated node, on Linux
and under Wine; one test calls each group on Wine itself. Nothing has run on real Windows.
";

const FILES_HEAD: &str = "
## On simulated files only
Wine 8 has no reparse points. Only simulated files have seen
";

const MAPPED: &str = "
## A share that is mapped already
NewSmbGlobalMapping checks whether the share answers. If not, csi-proxy replaces a mapping whose Status is OK, and makes
another beside any other. Windows Server 2019 and later refuse the second (0x80041001, or 1219 after a restart of the
node).

| outcome of the check | here |
|---|---|
| the share is found | reuses it; logs a warning if `-require-privacy` is on and the mapping reports no encryption |
| access denied (5), also to the requested folder; this process made the mapping as another user | keeps it and fails |
| access denied (5), but the requested folder answers, or this process made the mapping with the same credentials | keeps it |
| access denied (5) otherwise | renews it |
| credentials rejected (65, 86, 1244, 1312, 1326 to 1331, 1793, 1907, 1909) | renews it; fails if the credentials are the same |
| server, share or network away (51, 53, 54, 59, 64, 67, 70, 71, 121, 1222, 1225, 1231 to 1234, 1236, 1256, 1311, 1460) | keeps it and fails |
| away, Status is not OK, but the server answers within 5 s at the mapping's TCP port (445, or the library's own) | renews it; if this process made it as another user, keeps it and fails |
| away, Status is not OK, and the library requires QUIC, whose port nobody can probe | makes another beside it |
| any other code | keeps it and fails |
| none in 30 s (csi-proxy waits) | keeps it and fails |

- A renewal that fails is an error in the log, and counted by `wincsi_smb_renewals_failed_total`; the next call retries.
- Of several mappings of a share (made with drive letters) it uses an OK one.
- Before it removes a mapping, and after a wait for another mapping of the server, the call checks again. It renews only
  a mapping in the same state as before.

### Volumes of one share with accounts of their own
If each account has access only to its own folder, csi-proxy renews the mapping for each newly staged volume, from under
the open files of the others: unwritten data may be lost. If the first user holds another share of the server, Windows
may refuse the new mapping (1219), and no volume has one.

Here the second volume fails with the reason; RemoveSmbGlobalMapping makes room for its user. Users compare by name, in any
case. The user of a mapping made by others or before a restart is unknown.

### A server that is away
csi-proxy removes the mapping, and pods lack it until the next stage of one of its volumes. Here they keep it. After a
lost connection (59, 64, 1236) the same call checks once more; else kubelet repeats it.

Some mappings stay dead after a reboot while their server is alive (azurefile-csi-driver#3416, csi-driver-smb#1219).
Nobody has recorded the code. If no row above has it, the call fails: use RemoveSmbGlobalMapping.

Calls for one share [take turns](operating.md#calls-that-wait), and a server gets one new mapping at a time. A slow removal
(azurefile-csi-driver#1925) delays only its own share.

## What SMB global mappings cannot do
- **Folder shares of a DFS namespace** are not supported
  ([New-SmbGlobalMapping](https://learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping)): the root is
  mapped, and its folders fail with \"The network location cannot be reached.\" (PowerShell/PowerShell#18733). Name the
  server and share behind the folder.
- **Mappings that nobody removes** add up. Windows then refuses new ones, for want of memory (8, csi-driver-smb#1039) or
  with 1219 (csi-driver-smb#1035). The driver must call RemoveSmbGlobalMapping; `Get-SmbGlobalMapping` lists mappings.
";

const NEW_DISKS: &str = "
## New disks that come offline or read-only
The cause is Windows's policy for new disks, or the previous disk with the same number, whose state Windows remembers
([Ceph's page](https://docs.ceph.com/en/latest/rbd/rbd-windows/)). Perhaps your driver took it offline.

SetDiskState before PartitionDisk gives a writable disk, as in the library `bring_online` before `partition`. The other
order, vSphere's, relies on Windows to bring the disk online as it initialises it, which no page says.

SetDiskState succeeds only if the disk is online **and** writable: it clears the read-only attribute, also of a disk
that was online before, where csi-proxy leaves it (csi-proxy#437). If it stays set, the call fails, and the disk is
online. The server does not query whether the hardware accepts writes. A second path to a disk comes online too, if
Windows lets it: the library's `bring_online` refuses it.
";

const TEXTS_HEAD: &str = "
## Texts that drivers look for
csi-proxy reports failures by text alone, with the code `Unknown`. Drivers match these fragments, mostly as success. This
server uses each for one condition.

| text | call | read as | used only if |
|---|---|---|---|
";

/// Makes the page.
///
/// # Errors
/// A named operation does not exist.
pub(crate) fn page() -> Result<String, String> {
    let mut page = HEAD.to_owned();
    let versions = wire::GROUPS.chunk_by(|one, next| one.name == next.name);
    for versions in versions {
        write_group(versions, &mut page);
    }
    page.push_str(DRIVERS);
    page.push_str(MAPPED);
    page.push_str(FILES_HEAD);
    let _ = writeln!(page, "{}.", on_simulated_files()?);
    page.push_str(NEW_DISKS);
    page.push_str(STRICTER);
    page.push_str(TEXTS_HEAD);
    for text in driver_texts::ALL {
        write_text(text, &mut page);
    }
    Ok(page)
}

fn write_group(versions: &[Group], page: &mut String) {
    let Some(first) = versions.first() else {
        return;
    };
    let newest_first: Vec<_> = versions.iter().rev().collect();
    let all = joined(&newest_first);
    let head = "| operation | versions | what it does |\n|---|---|---|\n";
    let _ = write!(page, "\n## {}\nNewest first: {all}.\n\n{head}", first.name);
    for operation in OPERATIONS.iter().filter(|row| row.group == first.name) {
        let cell = versions_cell(&newest_first, operation);
        let Operation { name, summary, .. } = operation;
        let _ = writeln!(page, "| {name} | {cell} | {summary} |");
    }
}

/// `from v1beta3; DiskStats: v1beta2, v1beta1`
fn versions_cell(newest_first: &[&Group], operation: &Operation) -> String {
    let with = |name: &str| -> Vec<&Group> {
        let has = |group: &&Group| group.methods.iter().any(|method| method.name == name);
        newest_first.iter().copied().filter(has).collect()
    };
    let named = with(operation.name);
    let mut cell = match named.as_slice() {
        all if all.len() == newest_first.len() => "all".to_owned(),
        [_, .., oldest] if newest_first.starts_with(&named) => format!("from {}", oldest.version),
        some => joined(some),
    };
    for older in operation.older_names {
        let _ = write!(cell, "; {older}: {}", joined(&with(older)));
    }
    cell
}

fn joined(groups: &[&Group]) -> String {
    let versions: Vec<_> = groups.iter().map(|one| one.version.to_string()).collect();
    versions.join(", ")
}

fn on_simulated_files() -> Result<String, String> {
    let each = ON_SIMULATED_FILES.iter().map(|(row, about)| {
        let operation = row
            .split_once('.')
            .and_then(|(group, name)| catalogue::find(group, name))
            .ok_or_else(|| format!("there is no operation {row}"))?;
        Ok(format!("{} {about}", operation.name).trim_end().to_owned())
    });
    let each: Vec<String> = each.collect::<Result<_, String>>()?;
    Ok(each.join(", "))
}

fn write_text(text: &Matched, page: &mut String) {
    let returned = match text.returned {
        Returned::When(condition) => condition.to_owned(),
        Returned::Never(reason) => format!("never: {reason}"),
    };
    let Matched {
        words,
        call,
        reads_as,
        ..
    } = text;
    let drivers = text.drivers.join(", ");
    let row = format!("| `{words}` | {call} | {drivers}: {reads_as} | {returned} |");
    let _ = writeln!(page, "{row}");
}
