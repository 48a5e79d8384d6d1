//! The experiments on the simulated node: its answers as assumed, and the detection of others.

use libtest_mimic::{Failed, Trial};
use os::{Cause, Outcome, Win32};
use os_sim::{Effect, Rule};
use wincsi_conformance::experiments::Verdict::{self, Contradicted, NotPossible, Settled};
use wincsi_conformance::experiments::{self, Sight};

use super::simulator::Simulator;

/// The simulated node answers as our code assumes of Windows, because it is written so: this proves nothing of Windows.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    let plain = experiments::all().map(|one| {
        Trial::test(format!("simulator::experiments::{}", one.name), move || {
            let seen = seen(one.number, &[])?;
            is_verdict(&seen, Settled)
        })
    });
    let scripted = scripted().into_iter().map(|(number, name, rule)| {
        let name = format!("simulator::contradicted::{name}");
        Trial::test(name, move || {
            let seen = seen(number, &[rule])?;
            is_verdict(&seen, Contradicted)
        })
    });
    plain.chain(scripted)
}

/// An experiment, and an answer other than the assumed one.
type Scripted = (u8, &'static str, Rule);

macro_rules! rows {
    ($($number:literal $name:ident $rule:expr;)*) => {
        vec![$(($number, stringify!($name), $rule),)*]
    };
}

fn scripted() -> Vec<Scripted> {
    let null = Cause::Malformed("ReturnValue: null".to_owned());
    let create = "MSFT_SmbGlobalMapping.Create";
    let conflict = failed(create, Win32::SESSION_CREDENTIAL_CONFLICT);
    rows! {
        2 page_files_that_cannot_be_learned failed("RegGetValueW", Win32(0));
        3 a_renewal_that_conflicts conflict.from_nth(3);
        4 a_call_by_handle_that_is_refused
            failed("NtCreateFile", Win32::INVALID_PARAMETER).times(1);
        5 read_only_that_takes_an_online_disk
            returned("MSFT_Disk.SetAttributes", 41003).from_nth(2).times(1);
        6 a_method_without_a_return_value Rule::on("MSFT_Disk.Refresh", Effect::fail(null));
        7 offline_that_a_lock_refuses returned("MSFT_Disk.Offline", 6);
        8 a_refs_volume_that_takes_its_partitions_end
            failed("FSCTL_EXTEND_VOLUME", Win32::GEN_FAILURE);
        9 a_folder_that_stays_mounted failed("DeleteVolumeMountPointW", Win32::FILE_NOT_FOUND);
        10 a_path_that_opens_nothing
            failed("IOCTL_STORAGE_GET_DEVICE_NUMBER", Win32::FILE_NOT_FOUND);
        11 a_refresh_that_is_not_enough returned("MSFT_Partition.Resize", 40003).times(1);
        12 a_format_that_comes_too_early returned("MSFT_Volume.Format", 5).times(1);
        13 a_mapping_that_is_mapped_again returned(create, 0).from_nth(2);
        15 a_refusal_without_its_code failed(create, Win32::GEN_FAILURE);
        16 a_refusal_that_fails_the_call
            failed("MSFT_Disk.Initialize", Win32::GEN_FAILURE).from_nth(2);
        17 a_portal_that_is_kept returned("MSFT_iSCSITargetPortal.New", 0);
        18 a_disk_without_identifiers
            failed("IOCTL_STORAGE_QUERY_PROPERTY", Win32::NOT_SUPPORTED);
        21 a_volume_without_a_property
            failed("IWbemServices.ExecQuery", Win32::GEN_FAILURE).object("MSFT_Volume*");
        35 a_file_link_that_leads_nowhere failed("CreateFileW", Win32::FILE_NOT_FOUND);
        37 a_disk_that_takes_no_attribute_past_the_provider
            failed("IOCTL_DISK_SET_DISK_ATTRIBUTES", Win32::ACCESS_DENIED);
        44 a_device_that_answers_by_the_attribute
            failed("IOCTL_DISK_IS_WRITABLE", Win32::WRITE_PROTECT).from_nth(2);
    }
}

fn returned(method: &str, code: u32) -> Rule {
    Rule::on(method, Effect::Answer(Outcome::of(code)))
}

fn failed(operation: &str, code: Win32) -> Rule {
    Rule::on(operation, Effect::fail(code))
}

fn seen(number: u8, rules: &[Rule]) -> Result<Vec<Sight>, Failed> {
    let mut all = experiments::all();
    let one = all
        .find(|one| one.number == number)
        .ok_or("no such experiment")?;
    let fixture = Simulator::for_node()?;
    for rule in rules {
        fixture.script(rule.clone());
    }
    Ok((one.run)(&fixture).map_err(|failure| failure.to_string())?)
}

/// One contradiction decides an experiment's verdict.
fn is_verdict(seen: &[Sight], wanted: Verdict) -> Result<(), Failed> {
    let has = |verdict| seen.iter().any(|sight| sight.verdict == verdict);
    let verdict = [Contradicted, Settled, NotPossible]
        .into_iter()
        .find(|one| has(*one));
    match verdict == Some(wanted) {
        true => Ok(()),
        false => Err(format!("wanted {wanted:?}, saw {seen:#?}").into()),
    }
}
