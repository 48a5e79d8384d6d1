//! Mounted folders, as reparse points.

use formats::reparse::{Names, Reparse, Target};
use os::{LinkKind, ReparseTag, Win32};
use uuid::Uuid;

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::{FolderFixture, component};
use crate::{CaseResult, Failure, Fixture};

declare!("files", FILES;
    a_mounted_folder_says_which_volume_it_leads_to,
    a_mounted_folder_leads_to_the_root_of_its_volume,
    a_mounted_folder_takes_its_name,
    a_mounted_folder_of_a_lost_volume_is_still_an_entry,
    a_volume_is_reached_by_its_name,
);

fn a_mounted_folder_says_which_volume_it_leads_to(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let mounted = sandbox.mounted_folder("mnt")?;
    let entry = sandbox.entry("mnt")?;
    same("tag", &entry.tag, &Some(ReparseTag::MOUNT_POINT))?;
    holds("it is a directory", entry.is_directory())?;
    let data = sandbox.files.reparse_data(&mounted)?;
    match Reparse::parse(&data) {
        Ok(Reparse::MountPoint(names)) => same(
            "target",
            &names.target(),
            &Target::Volume(sandbox.hand.volume().0),
        ),
        other => Err(Failure::Wrong(format!("no mounted folder: {other:?}"))),
    }
}

fn a_mounted_folder_leads_to_the_root_of_its_volume(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let mounted = sandbox.mounted_folder("mnt")?;
    holds(
        "it leads to a directory",
        sandbox.files.leads_to_directory(&mounted)?,
    )?;
    let seen = sandbox.through(&mounted);
    sandbox.files.create_directory(&seen.join(component("d")))?;
    holds("the directory is there", sandbox.entry("d")?.is_directory())?;
    let names = ["d", "mnt"].map(str::to_owned).to_vec();
    same("names", &sandbox.names(&seen)?, &names)
}

fn a_mounted_folder_takes_its_name(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let mounted = sandbox.mounted_folder("mnt")?;
    let made = sandbox.files.create_directory(&mounted);
    refused("create_directory", made, Win32::ALREADY_EXISTS)?;
    refused(
        "remove_file",
        sandbox.files.remove_file(&mounted),
        Win32::ACCESS_DENIED,
    )
}

fn a_mounted_folder_of_a_lost_volume_is_still_an_entry(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let lost = Reparse::MountPoint(Names::volume(Uuid::from_u128(0x0bad)));
    let mounted = sandbox.reparse_point("mnt", LinkKind::Directory, &lost)?;
    same(
        "tag",
        &sandbox.entry("mnt")?.tag,
        &Some(ReparseTag::MOUNT_POINT),
    )?;
    let led = sandbox.files.leads_to_directory(&mounted);
    holds("it leads nowhere", led.is_err())?;
    let below = sandbox.files.entry(&sandbox.at(r"mnt\f"));
    holds("nothing is below it", below.is_err())?;
    sandbox.files.remove_directory(&mounted)?;
    same("names", &sandbox.names(sandbox.hand.folder())?, &vec![])
}

fn a_volume_is_reached_by_its_name(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("d")?;
    let root = os::WinPath::of_root(os::Root::Volume(sandbox.hand.volume()));
    holds(
        "its root is a directory",
        sandbox.files.entry(&root)?.is_directory(),
    )?;
    let folder = sandbox.through(&root);
    same("names", &sandbox.names(&folder)?, &vec!["d".to_owned()])
}
