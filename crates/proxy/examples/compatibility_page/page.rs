//! The page of compatibility: every method of every version, and the texts that drivers look for.

use std::fmt::Write as _;

use node::driver_texts::{self, Matched, Returned};
use wincsi_proxy::catalogue::{self, OPERATIONS, Operation};
use wire::{Group, Method};

use crate::drivers::{DRIVERS, STRICTER};
use crate::evidence::{ON_SIMULATED_FILES, TESTS, TEXTS};
use crate::sources::Sources;

const HEAD: &str = "\
# Compatibility with csi-proxy

<!-- Written by `cargo xtask docs` from wire::GROUPS, proxy::catalogue and node::driver_texts. -->

Find out what changes for your drivers if you replace csi-proxy of Kubernetes, or which method of which version a driver
can call. The tables list every method of every group and version of csi-proxy, each served on the pipe
`\\\\.\\pipe\\csi-proxy-GROUP-VERSION`; the other sections have the differences:

- [which drivers are tested](#drivers),
- [a share that is mapped already](#a-share-that-is-mapped-already) and
  [the limits of SMB global mappings](#what-smb-global-mappings-cannot-do),
- [which calls have run on simulated files only](#on-simulated-files-only),
- [new disks that come offline or read-only](#new-disks-that-come-offline-or-read-only),
- [what this server refuses](#what-csi-proxy-takes-and-this-server-does-not),
- [the texts that drivers match](#texts-that-drivers-look-for).

A row is a name that a version has for an operation; each operation exists once. A test is named by its file and
function, in the rows of the versions that it calls. Two more tests go through every row, under Wine with a part of
their messages: `bad_bytes::no_bytes_harm_anybody_whatever_method_they_are_sent_to` and
`hostile_texts::no_text_reaches_further_than_its_field`. The Go tests in `tests/go` call the methods of each official
client.

| tests | where they have run |
|---|---|
| of the rows | on the simulated node, on Linux and under Wine |
| of `node` | on Linux only |
| `native` | each group of the exe that serves Wine itself |
| Go tests | also the filesystem group of that exe |

Nothing here has run on real Windows.
";

const FILES_HEAD: &str = "
## On simulated files only
Under Wine the official Go clients also call a server that serves Wine itself, and one whose files are Wine's own
(`-native=files`) beside simulated hardware. The following calls have run on simulated files only, on Linux and under
Wine: Wine 8 has no reparse points, and a simulated volume can be mounted only into simulated folders.

";

const MAPPED: &str = "
## A share that is mapped already
NewSmbGlobalMapping checks whether the share answers, as csi-proxy does; the outcome decides. Where csi-proxy renews a
mapping, it first removes one whose Status is OK, and makes another beside one whose Status is not. Windows Server 2019
and later refuse another mapping of a share that is mapped (0x80041001, or 1219 after a restart of the node).

| outcome of the check | csi-proxy | here | tested by |
|---|---|---|---|
| the share is found | reuses the mapping | likewise; logs a warning if `-require-privacy` is on and the mapping does not report encryption | `smb_options::what_new_mappings_are_to_have_those_that_are_there_need_not` |
| access denied (5), also to the requested folder, and this process made the mapping as another user | renews it | keeps it, and the call fails | `smb::a_denied_folder_does_not_unmap_the_share` |
| access denied (5) otherwise | renews it | removes it and renews it; keeps it if this process made it with the same credentials, or if the requested folder answers, as with accounts that have access only below the share's root | `smb::a_refusal_of_access_is_an_answer_to_who_mapped_it`, `smb::a_refusal_of_access_to_the_root_removes_nothing_unless_the_folder_is_denied_as_well`, `smb::a_refusal_of_access_is_taken_for_a_changed_password_by_others` |
| the server rejects the mapping's credentials (65, 86, 1244, 1312, 1326 to 1331, 1793, 1907, 1909) | renews it | likewise; with the same credentials the call fails, as the server would reject them again | `smb_renewal::refused_credentials_are_replaced_by_others_and_kept_for_the_same`, `smb::a_mapping_that_does_not_answer_is_made_anew` |
| server, share or network away (51, 53, 54, 59, 64, 67, 70, 71, 121, 1222, 1225, 1231 to 1234, 1236, 1256, 1311, 1460) | renews it | keeps it, and the call fails | `smb::a_mapping_whose_server_is_away_stays_and_the_code_is_told`, `smb_renewal::without_an_answer_at_the_transports_own_port_no_mapping_is_made_anew` |
| away, Status is not OK, and within 5 s the server answers at the TCP port of the mapping (445, or the one that a library's user names) | makes another beside it | removes it and renews it; keeps one that this process made as another user, and the call fails | `smb_renewal::a_mapping_that_windows_leaves_dead_is_made_anew`, `smb_renewal::a_mapping_that_is_not_ok_is_renewed_if_its_server_answers`, `smb_renewal::a_mapping_of_another_user_is_not_made_anew_and_one_of_the_same_is` |
| away, Status is not OK, and a library's user requires QUIC, which has no port to probe | has no such option | makes another beside it | `smb_renewal::over_quic_no_mapping_is_removed_for_a_server_that_is_away` |
| any other code | renews it | keeps it, and the call fails | `smb_renewal::any_other_code_fails_the_call_and_removes_nothing` |
| no outcome in 30 s | waits | keeps it, and the call fails | `smb::a_share_that_hangs_is_neither_waited_for_nor_unmapped` |

**If a renewal fails** after the old mapping was removed, the call fails, the log has an error, and
`wincsi_smb_renewals_failed_total` counts it; the next call tries again
(`smb_renewal::a_renewal_whose_create_fails_is_counted_and_the_next_call_tries_again`,
`crowd::a_mapping_that_is_removed_and_cannot_be_made_anew_is_counted`).

**If a share has several mappings**, which somebody made with drive letters, the call uses one that is OK and leaves the
others (`smb_renewal::of_several_mappings_of_a_share_the_one_that_is_ok_is_used_and_the_others_are_left`).

**Before it removes a mapping that Windows does not call OK**, the server checks it once more, after the port has
answered. It reuses one that came back meanwhile
(`smb_renewal::a_mapping_that_came_back_unused_while_its_servers_port_was_asked_is_not_removed`,
`smb_renewal::a_mapping_that_is_ok_once_its_servers_port_has_answered_is_reused`).

**A call that waited for other mappings of the server** probes the port again, and also repeats the check after a
refusal:

| the mapping then | the call | tested by |
|---|---|---|
| answers | reuses it | `smb_renewal::a_mapping_that_came_back_while_its_servers_lock_was_waited_for_is_reused`, `smb_renewal::a_refused_mapping_that_answers_after_the_wait_for_its_servers_lock_is_not_removed` |
| is as dead or refused as before | renews it | `smb_renewal::a_mapping_that_is_still_dead_after_the_wait_for_its_servers_lock_is_made_anew`, `smb_renewal::a_mapping_that_is_refused_still_after_the_wait_for_its_servers_lock_is_made_anew` |
| ends the check in any other way | keeps it, and fails | `smb_renewal::what_a_look_after_the_wait_for_a_servers_lock_does_not_call_dead_is_not_removed`, `smb_renewal::a_refused_mapping_whose_next_look_ends_otherwise_is_not_removed` |

### Volumes of one share with accounts of their own
csi-proxy does not know as which user a share is mapped, and renews the mapping after every refusal. If the volumes of a
share have accounts of their own, with access only to their own folders, each newly staged volume removes the mapping
from under the files of the others, and their unwritten data may be lost. If the first user holds another share of the
server, Windows may refuse the new mapping (1219), so that no volume has one.

Here the second volume fails, with a text that gives the reason, in the library as over the pipes: a failed stage can be
repeated, lost writes cannot. To use the other user, unmap the share (RemoveSmbGlobalMapping).

Users are compared by the names that came, without regard to case. So one user who is spelled in two ways counts as two,
and a user with a new secret is the same. The server does not know as which user a share was mapped before its restart or
by others, and renews such a mapping.

### A server that is away
No mapping can be renewed while its server is away. csi-proxy has removed it by then: every pod on the share stays
without it, also when the server is back, until the next volume of the share is staged. Here all pods go on with it. A
driver loses nothing by that: if a connection was lost (59, 64, 1236), the same call checks the share once more
(`smb::a_connection_that_was_lost_is_tried_once_more`), and kubelet repeats a failed call, which finds the mapping at
work once the server is (`smb::a_mapping_works_again_when_its_server_does`).

Some mappings stay dead while their server is alive, for example after a reboot (azurefile-csi-driver#3416,
csi-driver-smb#1219). Their drivers' HostProcess mounters remove and remake such a mapping. We do not know the code with
which the check of it ends. If that code is in no list above, the call fails: RemoveSmbGlobalMapping removes a mapping
without a check.

### Which calls wait for each other
Calls for one share go one after the other. Calls for other shares of its server go on, except that only one mapping of a
server is made at a time (csi-proxy locks nothing). So a removal that takes minutes (azurefile-csi-driver#1925) delays
only its own share (`smb_waits::a_share_whose_removal_takes_long_keeps_no_other_of_its_server_waiting`).

A call waits 90 s for its turn at most, and its error names the call that holds it up
(`smb_waits::a_wait_for_a_share_that_times_out_names_the_holder`). If a mapping fails because the server is away, the
calls that waited meanwhile end with that outcome
(`smb_waits::fifty_shares_of_a_dead_server_fail_in_the_time_of_one_look`).

## What SMB global mappings cannot do
- **Folder shares of a DFS namespace.** Windows's global mappings do not support them
  ([New-SmbGlobalMapping](https://learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping)). A user saw
  the root mapped and its folders fail with \"The network location cannot be reached.\" (PowerShell/PowerShell#18733).
  Name the server and share that the folder leads to.
- **Mappings that nobody removes** add up: the driver must call RemoveSmbGlobalMapping, and neither server counts the
  users of a mapping. Windows refused new mappings to drivers that left theirs, for want of memory (8,
  csi-driver-smb#1039) or with 1219 (csi-driver-smb#1035). `Get-SmbGlobalMapping` lists a node's mappings.
";

const NEW_DISKS: &str = "
## New disks that come offline or read-only
A new disk may come offline or read-only by Windows's policy for new disks, or because Windows remembers the state of the
disk that had its number before ([Ceph's page on Windows](https://docs.ceph.com/en/latest/rbd/rbd-windows/) says so, also
of iSCSI and Fibre Channel). So if a driver takes a disk offline before it detaches it, it may find the next one offline.

- **PartitionDisk before SetDiskState**, as vSphere's driver calls them, relies on Windows to bring such a disk online
  when it is initialised, which no page says. PartitionDisk switches no disk by itself, and neither does csi-proxy's.
- **SetDiskState before PartitionDisk** gives a writable disk in either case, as `bring_online` before `partition` does
  for the library's users.

SetDiskState succeeds if the disk is online **and** writable. It clears read-only before the disk comes online and again
after, and also for a disk that was online before, where csi-proxy's calls leave it (csi-proxy#437). If a disk stays
read-only, each call is an error, and the disk is online meanwhile
(`read_only::a_disk_that_is_online_and_read_only_is_no_success_however_often_it_is_asked_for`). Only the attribute that
Windows keeps for the disk counts; the server does not query whether the hardware accepts writes.
";

const TEXTS_HEAD: &str = "
## Texts that drivers look for
csi-proxy reports all failures by text, with the code `Unknown`. Drivers match some of them by these fragments and take
most of them for success. So this server uses each fragment for its one condition and for no other.

| text | call | drivers | read as | used | tested by |
|---|---|---|---|---|---|
";

/// The page.
///
/// # Errors
/// A test that is named does not exist.
pub(crate) fn page(sources: &Sources) -> Result<String, String> {
    let mut page = HEAD.to_owned();
    let versions = wire::GROUPS.chunk_by(|one, next| one.name == next.name);
    for versions in versions {
        write_group(sources, versions, &mut page)?;
    }
    page.push_str(DRIVERS);
    page.push_str(MAPPED);
    page.push_str(FILES_HEAD);
    for (operation, about) in ON_SIMULATED_FILES {
        write_on_simulated_files(operation, about, &mut page)?;
    }
    page.push_str(NEW_DISKS);
    page.push_str(STRICTER);
    page.push_str(TEXTS_HEAD);
    for text in driver_texts::ALL {
        write_text(sources, text, &mut page)?;
    }
    Ok(page)
}

/// The tests of an operation that name a version's method.
///
/// # Errors
/// One of them does not exist.
pub(crate) fn tests_of(
    sources: &Sources,
    group: &Group,
    method: &Method,
    operation: &Operation,
) -> Result<Vec<&'static str>, String> {
    let operation = operation.to_string();
    let row = TESTS.iter().find(|(name, _)| *name == operation);
    let (_, tests) = row.ok_or_else(|| format!("{operation} has no tests"))?;
    let mut of_version = Vec::new();
    for test in *tests {
        let text = sources
            .test(test)
            .ok_or_else(|| format!("there is no test {test}"))?;
        let names = [group.name, method.name, &group.version.to_string()];
        if names.iter().all(|name| text.names(name)) {
            of_version.push(*test);
        }
    }
    Ok(of_version)
}

fn write_group(sources: &Sources, versions: &[Group], page: &mut String) -> Result<(), String> {
    let Some(first) = versions.first() else {
        return Ok(());
    };
    let head = "| version | method | what it does | tested by |\n|---|---|---|---|\n";
    let _ = write!(page, "\n## {}\n{head}", first.name);
    for operation in OPERATIONS.iter().filter(|row| row.group == first.name) {
        for group in versions.iter().rev() {
            let called = group.methods.iter();
            for method in called.filter(|method| operation.is_called(method.name)) {
                let tests = tests_of(sources, group, method, operation)?;
                let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
                let (version, name, tests) = (group.version, method.name, tests.join(", "));
                let summary = operation.summary;
                let _ = writeln!(page, "| {version} | {name} | {summary} | {tests} |");
            }
        }
    }
    Ok(())
}

fn write_on_simulated_files(row: &str, about: &str, page: &mut String) -> Result<(), String> {
    let operation = row
        .split_once('.')
        .and_then(|(group, name)| catalogue::find(group, name))
        .ok_or_else(|| format!("there is no operation {row}"))?;
    let names = [&[operation.name], operation.older_names].concat();
    let line = format!("- {}: {} {about}", operation.group, names.join(", "));
    let _ = writeln!(page, "{}", line.trim_end());
    Ok(())
}

fn write_text(sources: &Sources, text: &Matched, page: &mut String) -> Result<(), String> {
    let row = TEXTS.iter().find(|(words, _)| *words == text.words);
    let (_, test) = row.ok_or_else(|| format!("no test for {:?}", text.words))?;
    sources
        .test(test)
        .ok_or_else(|| format!("there is no test {test}"))?;
    let returned = match text.returned {
        Returned::When(condition) => format!("when {condition}"),
        Returned::Never(reason) => format!("never: {reason}"),
    };
    let Matched {
        words,
        call,
        reads_as,
        ..
    } = text;
    let drivers = text.drivers.join(", ");
    let row = format!("| `{words}` | {call} | {drivers} | {reads_as} | {returned} | `{test}` |");
    let _ = writeln!(page, "{row}");
    Ok(())
}
