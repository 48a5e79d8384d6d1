//! Mounted folders, as reparse points.

use formats::reparse::{Names, Reparse, Target};
use os::{LinkKind, ReparseTag, Win32};
use uuid::Uuid;

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::scene::{Scene, component};
use crate::{Failure, Fixture};

declare!("files", FILES;
    a_mounted_folder_says_which_volume_it_leads_to,
    a_mounted_folder_leads_to_the_root_of_its_volume,
    a_mounted_folder_takes_its_name,
    a_mounted_folder_of_a_lost_volume_is_still_an_entry,
    a_volume_is_reached_by_its_name,
);

fn a_mounted_folder_says_which_volume_it_leads_to(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let mounted = scene.mounted_folder("mnt")?;
    let entry = scene.entry("mnt")?;
    same("tag", &entry.tag, &Some(ReparseTag::MOUNT_POINT))?;
    holds("it is a directory", entry.is_directory())?;
    let data = scene.files.reparse_data(&mounted)?;
    match Reparse::parse(&data) {
        Ok(Reparse::MountPoint(names)) => same(
            "target",
            &names.target(),
            &Target::Volume(scene.hand.volume().0),
        ),
        other => Err(Failure::Wrong(format!("no mounted folder: {other:?}"))),
    }
}

fn a_mounted_folder_leads_to_the_root_of_its_volume(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let mounted = scene.mounted_folder("mnt")?;
    holds(
        "it leads to a directory",
        scene.files.leads_to_directory(&mounted)?,
    )?;
    let seen = scene.through(&mounted);
    scene.files.create_directory(&seen.join(component("d")))?;
    holds("the directory is there", scene.entry("d")?.is_directory())?;
    let names = ["d", "mnt"].map(str::to_owned).to_vec();
    same("names", &scene.names(&seen)?, &names)
}

fn a_mounted_folder_takes_its_name(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let mounted = scene.mounted_folder("mnt")?;
    let made = scene.files.create_directory(&mounted);
    refused("create_directory", made, Win32::ALREADY_EXISTS)?;
    refused(
        "remove_file",
        scene.files.remove_file(&mounted),
        Win32::ACCESS_DENIED,
    )
}

fn a_mounted_folder_of_a_lost_volume_is_still_an_entry(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let lost = Reparse::MountPoint(Names::volume(Uuid::from_u128(0x0bad)));
    let mounted = scene.reparse_point("mnt", LinkKind::Directory, &lost)?;
    same(
        "tag",
        &scene.entry("mnt")?.tag,
        &Some(ReparseTag::MOUNT_POINT),
    )?;
    let led = scene.files.leads_to_directory(&mounted);
    holds("it leads nowhere", led.is_err())?;
    let below = scene.files.entry(&scene.at(r"mnt\f"));
    holds("nothing is below it", below.is_err())?;
    scene.files.remove_directory(&mounted)?;
    same("names", &scene.names(scene.hand.folder())?, &vec![])
}

fn a_volume_is_reached_by_its_name(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("d")?;
    let root = os::WinPath::of_root(os::Root::Volume(scene.hand.volume()));
    holds(
        "its root is a directory",
        scene.files.entry(&root)?.is_directory(),
    )?;
    let folder = scene.through(&root);
    same("names", &scene.names(&folder)?, &vec!["d".to_owned()])
}
