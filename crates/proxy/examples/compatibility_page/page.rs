//! The page of compatibility: every method of every version, and the texts that drivers look for.

use std::fmt::Write as _;

use node::texts::{self, Matched, Said};
use wincsi_proxy::catalogue::{self, OPERATIONS, Operation};
use wire::{Group, Method};

use crate::drivers::{DRIVERS, STRICTER};
use crate::evidence::{ON_SIMULATED_FILES, TESTS, TEXTS};
use crate::sources::Sources;

const HEAD: &str = "\
# Compatibility with csi-proxy

<!-- Written by `cargo xtask docs` from wire::GROUPS, proxy::catalogue and node::texts. -->

Every method of every group and version that csi-proxy has, each served on the pipe
`\\\\.\\pipe\\csi-proxy-GROUP-VERSION`. A row is a name that a version has for an operation; each
operation exists once. A test is named by its file and function; it stands in the rows of the versions
that it calls.

Besides, `bad_bytes::no_bytes_harm_anybody_whatever_method_they_are_sent_to` and
`hostile_texts::no_text_reaches_further_than_its_field` go through every row, under Wine with a part of
their messages, and the Go tests in `tests/go` call the methods of each official client. What the rows name runs
on the simulated node, on Linux and under Wine; tests of `node` run on Linux alone; `native` calls each group of the exe that serves Wine itself,
and the Go tests its filesystem group. Nothing here has run on real Windows.
";

const FILES_HEAD: &str = "
## On simulated files alone
Under Wine the official Go clients also call a server that serves Wine itself, and one whose files are Wine's
own (`-native=files`) beside simulated hardware. These calls have run on simulated files alone, on Linux and
under Wine, since Wine 8 has no reparse points, and a simulated volume is
mounted into simulated folders alone:

";

const MAPPED: &str = "
## A share that is mapped already
NewSmbGlobalMapping looks at it, as csi-proxy does, and how the look ends decides. Where csi-proxy makes a mapping
anew, it removes one whose Status is OK before, and makes another beside one whose Status is not. Windows Server 2019
and later refuse another mapping of a share that is mapped (0x80041001, or 1219 after a restart of the node).

| the look | csi-proxy | here | tested by |
|---|---|---|---|
| finds the share | reuses the mapping | likewise, with a warning in the log where `-require-privacy` is on and it does not say to be encrypted | `smb_options::what_new_mappings_are_to_have_those_that_are_there_need_not` |
| is refused access (5), and so is the folder that is asked for, and this process made the mapping as another user | makes it anew | keeps it, and the call fails | `smb::a_folder_that_is_denied_to_the_user_of_a_mapping_cuts_that_user_not_off` |
| is refused access (5) otherwise | makes it anew | removes it and makes it anew; unless this process made it with the same credentials, or the folder that is asked for answers, as with accounts that have access below the share's root alone | `smb::a_refusal_of_access_is_an_answer_to_who_mapped_it`, `smb::a_refusal_of_access_to_the_root_removes_nothing_unless_the_folder_is_denied_as_well`, `smb::a_refusal_of_access_is_taken_for_a_changed_password_by_others` |
| is refused the mapping's credentials (65, 86, 1244, 1312, 1326 to 1331, 1793, 1907, 1909) | makes it anew | likewise, but with the same credentials the call fails: they would be refused again | `smb_renewal::refused_credentials_are_replaced_by_others_and_kept_for_the_same`, `smb::a_mapping_that_does_not_answer_is_made_anew` |
| ends with a code that says that the server, the share or the network is away (51, 53, 54, 59, 64, 67, 70, 71, 121, 1222, 1225, 1231 to 1234, 1236, 1256, 1311, 1460) | makes it anew | keeps it, and the call fails | `smb::a_mapping_whose_server_is_away_stays_and_the_code_is_told`, `smb_renewal::without_an_answer_at_the_transports_own_port_no_mapping_is_made_anew` |
| likewise, Status says something else than OK, and within 5 s the server answers at the TCP port of the mapping (445, or the one that a library's user names) | makes another beside it | removes it and makes it anew; one that this process made as another user stays, and the call fails | `smb_renewal::a_mapping_that_windows_leaves_dead_is_made_anew`, `smb_renewal::every_away_code_has_a_mapping_made_anew_that_is_not_ok_and_whose_server_answers`, `smb_renewal::a_mapping_of_another_user_is_not_made_anew_and_one_of_the_same_is` |
| likewise, and a library's user asks for QUIC, where no port can be asked | has no such option | makes another beside it | `smb_renewal::over_quic_no_mapping_is_removed_for_a_server_that_is_away` |
| ends with any other code | makes it anew | keeps it, and the call fails | `smb_renewal::any_other_code_fails_the_call_and_removes_nothing` |
| does not end in 30 s | waits | keeps it, and the call fails | `smb::a_share_that_hangs_is_neither_waited_for_nor_unmapped` |

Where the new mapping cannot be made after the old one was removed, the call fails, the log has an error, and
`wincsi_smb_renewals_failed_total` counts it; the next call tries again
(`smb_renewal::a_renewal_whose_create_fails_is_counted_and_the_next_call_tries_again`,
`crowd::a_mapping_that_is_removed_and_cannot_be_made_anew_is_counted`). Of several mappings of one share, which somebody
made with drive letters, one that is OK is used, and the others are left
(`smb_renewal::of_several_mappings_of_a_share_the_one_that_is_ok_is_used_and_the_others_are_left`).

A mapping that Windows does not call OK is looked at once more right before it would be removed, after the port has
answered: one that came back meanwhile is reused
(`smb_renewal::a_mapping_that_came_back_unused_while_its_servers_port_was_asked_is_not_removed`,
`smb_renewal::a_mapping_that_is_ok_once_its_servers_port_has_answered_is_reused`). A call that waited for other mappings
of the server asks the port again, and looks again after a refusal too: a mapping that answers by then is reused
(`smb_renewal::a_mapping_that_came_back_while_its_servers_lock_was_waited_for_is_reused`,
`smb_renewal::a_refused_mapping_that_answers_after_the_wait_for_its_servers_lock_is_not_removed`), one that is as dead or
refused as before is made anew
(`smb_renewal::a_mapping_that_is_still_dead_after_the_wait_for_its_servers_lock_is_made_anew`,
`smb_renewal::a_mapping_that_is_refused_still_after_the_wait_for_its_servers_lock_is_made_anew`), and any other stays, and
the call fails (`smb_renewal::what_a_look_after_the_wait_for_a_servers_lock_does_not_call_dead_is_not_removed`,
`smb_renewal::a_refused_mapping_whose_next_look_ends_otherwise_is_not_removed`).

csi-proxy does not know as whom a share is mapped, and makes it anew after every refusal. Where volumes of a share have
accounts of their own, with access to their own folders alone, each that is staged so removes the mapping from under the
files of the others, and what they have not written yet may be lost; and where the first user holds another share of the
server, the new mapping may be refused (1219), so that nobody has one. Here the volume that comes second fails, with a
text that says why, in the library as over the pipes: a failed stage can be mended, lost writes cannot. Whoever does
want the other user unmaps the share (RemoveSmbGlobalMapping). Users are compared by the names that came, without regard
to case, so that one who is spelled in two ways is two; a user whose secret alone changed is the same. As whom a share
was mapped before a restart of the proxy, or by others, is not known, and such a mapping is made anew.

A mapping cannot be made anew while its server is away. csi-proxy, which has removed it by then, leaves every pod on
the share without it, also when the server is back, until the next volume of the share is staged; here all go on with
it. A driver loses nothing by that: where a connection was lost (59, 64, 1236) the share is looked at once more in the
same call (`smb::a_connection_that_was_lost_is_tried_once_more`), and kubelet repeats a call that failed, which finds
the mapping at work once the server is (`smb::a_mapping_works_again_when_its_server_does`). Some mappings stay dead with
their server alive, after a reboot say (azurefile-csi-driver#3416, csi-driver-smb#1219). Their drivers' HostProcess
mounters remove and remake such a one; with which code the look at it ends is not known to us. If that is in no list
above, the call fails: RemoveSmbGlobalMapping takes a mapping away without a look.

Calls for one share go one after the other; those for other shares of its server go on, but for the making of mappings,
of which one is under way for each server (csi-proxy locks nothing). So a removal that takes minutes
(azurefile-csi-driver#1925) holds up its share alone
(`smb_waits::a_share_whose_removal_takes_long_keeps_no_other_of_its_server_waiting`). A call waits 90 s for its turn at
most, and its error names what has it (`smb_waits::who_waits_too_long_for_a_share_is_told_what_has_it`); what waited
while a mapping failed because the server is away ends with that outcome
(`smb_waits::fifty_shares_of_a_dead_server_fail_in_the_time_of_one_look`).

## What SMB global mappings cannot do
- **Folder shares of a DFS namespace** are not supported by Windows's global mappings
  ([New-SmbGlobalMapping](https://learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping)): the root was
  seen to be mapped, and its folders to fail with \"The network location cannot be reached.\"
  (PowerShell/PowerShell#18733). Name the server and share that the folder leads to.
- **Mappings that nobody removes** add up: RemoveSmbGlobalMapping is the driver's to call, and neither server counts the
  users of a mapping. Drivers that left theirs were refused new ones, for want of memory (8, csi-driver-smb#1039) or
  with 1219 (csi-driver-smb#1035); `Get-SmbGlobalMapping` lists what a node has.
";

const NEW_DISKS: &str = "
## New disks that come offline or read-only
A new disk may come so by Windows's policy for new disks, or because Windows remembers the state of the disk that had
its number before ([Ceph's page on Windows](https://docs.ceph.com/en/latest/rbd/rbd-windows/) says so, of iSCSI
and Fibre Channel too): a driver that takes a disk offline before it detaches it may find the next one offline.
Drivers that call PartitionDisk first and SetDiskState after, as vSphere's does, live on Windows's bringing such a
disk online when it is initialised, which no page says; PartitionDisk switches no disk by itself, and neither
does csi-proxy's. A driver that calls SetDiskState before PartitionDisk, as the library's users call
`bring_online` before `partition`, has a writable disk in either case.

SetDiskState answers success for a disk that is online **and** writable: read-only is cleared before the disk comes
online, again after, and of a disk that was online before, where csi-proxy's calls leave it (csi-proxy#437). A disk
that stays read-only is an error, each time, and online meanwhile
(`read_only::a_disk_that_is_online_and_read_only_is_no_success_however_often_it_is_asked_for`). Only the attribute
counts that Windows keeps for the disk; whether the hardware takes writes is not asked.
";

const TEXTS_HEAD: &str = "
## Texts that drivers look for
csi-proxy tells all failures by text, with the code `Unknown`. Drivers know some by these fragments, and
take most of them for success, so each is said of its one condition and of no other.

| text | call | drivers | read as | said | tested by |
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
    for text in texts::ALL {
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
    let said = match text.said {
        Said::When(condition) => format!("when {condition}"),
        Said::Never(reason) => format!("never: {reason}"),
    };
    let Matched {
        words,
        call,
        reads_as,
        ..
    } = text;
    let drivers = text.drivers.join(", ");
    let row = format!("| `{words}` | {call} | {drivers} | {reads_as} | {said} | `{test}` |");
    let _ = writeln!(page, "{row}");
    Ok(())
}
