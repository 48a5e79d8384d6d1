//! Directories held in place.

use os::{Component, LinkKind, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::FolderFixture;
use crate::{CaseResult, Failure, Fixture};

declare!("files", FILES;
    a_pinned_directory_cannot_be_removed_until_it_is_let_go,
    a_pin_holds_under_every_spelling_of_the_path,
    each_of_several_pins_holds,
    a_pin_drops_with_its_value,
    what_is_in_a_pinned_directory_may_change,
    what_is_above_a_pinned_directory_stays,
    only_a_plain_directory_can_be_pinned,
    a_link_cannot_be_pinned,
    a_junction_or_mounted_folder_cannot_be_pinned,
    a_directory_is_pinned_through_a_link_above_it,
    a_directory_is_made_pinned_and_removed_in_one_that_is_pinned,
    an_entry_is_removed_in_a_pinned_directory_whatever_it_is,
    a_directory_that_holds_something_stays_in_a_pinned_one,
    only_a_plain_directory_can_be_pinned_in_a_pinned_one,
    a_link_goes_as_an_entry_of_a_pinned_directory,
);

fn a_pinned_directory_cannot_be_removed_until_it_is_let_go(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    let pin = sandbox.files.pin(&path)?;
    let removed = sandbox.files.remove_directory(&path);
    refused("remove_directory", removed, Win32::SHARING_VIOLATION)?;
    sandbox.entry("d")?;
    pin.release();
    sandbox.files.remove_directory(&path)?;
    Ok(())
}

fn a_pin_holds_under_every_spelling_of_the_path(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("Directory")?;
    let _pin = sandbox.files.pin(&sandbox.at("directory"))?;
    let removed = sandbox.files.remove_directory(&sandbox.at("DIRECTORY"));
    refused("remove_directory", removed, Win32::SHARING_VIOLATION)
}

fn each_of_several_pins_holds(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    let pins = [sandbox.files.pin(&path)?, sandbox.files.pin(&path)?];
    for pin in pins {
        let removed = sandbox.files.remove_directory(&path);
        refused("remove_directory", removed, Win32::SHARING_VIOLATION)?;
        pin.release();
    }
    sandbox.files.remove_directory(&path)?;
    Ok(())
}

fn a_pin_drops_with_its_value(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    drop(sandbox.files.pin(&path)?);
    sandbox.files.remove_directory(&path)?;
    Ok(())
}

fn what_is_in_a_pinned_directory_may_change(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    sandbox.directory(r"d\old")?;
    let _pin = sandbox.files.pin(&path)?;
    sandbox.files.remove_directory(&sandbox.at(r"d\old"))?;
    sandbox.directory(r"d\new")?;
    sandbox.file(r"d\file")?;
    let names = ["file", "new"].map(str::to_owned).to_vec();
    same("names", &sandbox.names(&path)?, &names)
}

fn what_is_above_a_pinned_directory_stays(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let above = sandbox.directory("above")?;
    let path = sandbox.directory(r"above\d")?;
    let _pin = sandbox.files.pin(&path)?;
    let removed = sandbox.files.remove_directory(&above);
    refused("remove_directory", removed, Win32::DIR_NOT_EMPTY)?;
    sandbox.entry(r"above\d").map(drop)
}

fn only_a_plain_directory_can_be_pinned(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let file = sandbox.file("f")?;
    refused("pin", sandbox.files.pin(&file), Win32::DIRECTORY)
}

fn a_link_cannot_be_pinned(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    let link = sandbox.symlink("link", "real", LinkKind::Directory)?;
    refused("pin", sandbox.files.pin(&link), Win32::DIRECTORY)?;
    let dangling = sandbox.symlink("dangling", "missing", LinkKind::Directory)?;
    refused("pin", sandbox.files.pin(&dangling), Win32::DIRECTORY)
}

fn a_junction_or_mounted_folder_cannot_be_pinned(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    let junction = sandbox.junction("junction", "real")?;
    refused("pin", sandbox.files.pin(&junction), Win32::DIRECTORY)?;
    let mounted = sandbox.mounted_folder("mnt")?;
    refused("pin", sandbox.files.pin(&mounted), Win32::DIRECTORY)
}

fn a_directory_is_pinned_through_a_link_above_it(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.directory(r"real\d")?;
    sandbox.symlink("link", "real", LinkKind::Directory)?;
    let _pin = sandbox.files.pin(&sandbox.at(r"link\d"))?;
    let removed = sandbox.files.remove_directory(&sandbox.at(r"real\d"));
    refused("remove_directory", removed, Win32::SHARING_VIOLATION)
}

fn a_directory_is_made_pinned_and_removed_in_one_that_is_pinned(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let outer = sandbox.files.pin(&sandbox.directory("outer")?)?;
    let name = named("inner")?;
    outer.create_directory(&name)?;
    holds("it is there", sandbox.entry(r"outer\inner")?.is_directory())?;
    refused(
        "create_directory",
        outer.create_directory(&name),
        Win32::ALREADY_EXISTS,
    )?;
    let inner = outer.pin(&name)?;
    refused("remove", outer.remove(&name), Win32::SHARING_VIOLATION)?;
    inner.release();
    outer.remove(&name)?;
    refused("remove", outer.remove(&name), Win32::FILE_NOT_FOUND)?;
    refused("pin", outer.pin(&name), Win32::FILE_NOT_FOUND)
}

fn an_entry_is_removed_in_a_pinned_directory_whatever_it_is(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    sandbox.file(r"d\file")?;
    sandbox.hand.set_read_only(&sandbox.file(r"d\read-only")?)?;
    sandbox.directory(r"d\directory")?;
    for name in ["FILE", "read-only", "directory"] {
        pin.remove(&named(name)?)?;
    }
    same("names", &sandbox.names(&sandbox.at("d"))?, &vec![])
}

fn a_directory_that_holds_something_stays_in_a_pinned_one(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    sandbox.directory(r"d\full")?;
    sandbox.file(r"d\full\file")?;
    let name = named("full")?;
    refused("remove", pin.remove(&name), Win32::DIR_NOT_EMPTY)?;
    sandbox.entry(r"d\full\file").map(drop)
}

fn only_a_plain_directory_can_be_pinned_in_a_pinned_one(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    sandbox.file(r"d\file")?;
    let name = named("file")?;
    refused("pin", pin.pin(&name), Win32::DIRECTORY)
}

fn a_link_goes_as_an_entry_of_a_pinned_directory(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("kept")?;
    sandbox.file(r"kept\file")?;
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    sandbox.symlink(r"d\link", &sandbox.text("kept"), LinkKind::Directory)?;
    let name = named("link")?;
    refused("pin", pin.pin(&name), Win32::DIRECTORY)?;
    pin.remove(&name)?;
    same("names", &sandbox.names(&sandbox.at("d"))?, &vec![])?;
    sandbox.entry(r"kept\file").map(drop)
}

fn named(name: &str) -> CaseResult<Component> {
    Component::parse(name).map_err(|error| Failure::Wrong(format!("{name}: {error}")))
}
