//! Directories that are held in place.

use os::{Component, LinkKind, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::scene::Scene;
use crate::{Failure, Fixture};

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

fn a_pinned_directory_cannot_be_removed_until_it_is_let_go(
    fixture: &Fixture,
) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.directory("d")?;
    let pin = scene.files.pin(&path)?;
    let removed = scene.files.remove_directory(&path);
    refused("remove_directory", removed, Win32::SHARING_VIOLATION)?;
    scene.entry("d")?;
    pin.release();
    scene.files.remove_directory(&path)?;
    Ok(())
}

fn a_pin_holds_under_every_spelling_of_the_path(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("Directory")?;
    let _pin = scene.files.pin(&scene.at("directory"))?;
    let removed = scene.files.remove_directory(&scene.at("DIRECTORY"));
    refused("remove_directory", removed, Win32::SHARING_VIOLATION)
}

fn each_of_several_pins_holds(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.directory("d")?;
    let pins = [scene.files.pin(&path)?, scene.files.pin(&path)?];
    for pin in pins {
        let removed = scene.files.remove_directory(&path);
        refused("remove_directory", removed, Win32::SHARING_VIOLATION)?;
        pin.release();
    }
    scene.files.remove_directory(&path)?;
    Ok(())
}

fn a_pin_drops_with_its_value(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.directory("d")?;
    drop(scene.files.pin(&path)?);
    scene.files.remove_directory(&path)?;
    Ok(())
}

fn what_is_in_a_pinned_directory_may_change(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.directory("d")?;
    scene.directory(r"d\old")?;
    let _pin = scene.files.pin(&path)?;
    scene.files.remove_directory(&scene.at(r"d\old"))?;
    scene.directory(r"d\new")?;
    scene.file(r"d\file")?;
    let names = ["file", "new"].map(str::to_owned).to_vec();
    same("names", &scene.names(&path)?, &names)
}

fn what_is_above_a_pinned_directory_stays(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let above = scene.directory("above")?;
    let path = scene.directory(r"above\d")?;
    let _pin = scene.files.pin(&path)?;
    let removed = scene.files.remove_directory(&above);
    refused("remove_directory", removed, Win32::DIR_NOT_EMPTY)?;
    scene.entry(r"above\d").map(drop)
}

fn only_a_plain_directory_can_be_pinned(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let file = scene.file("f")?;
    refused("pin", scene.files.pin(&file), Win32::DIRECTORY)
}

fn a_link_cannot_be_pinned(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("real")?;
    let link = scene.symlink("link", "real", LinkKind::Directory)?;
    refused("pin", scene.files.pin(&link), Win32::DIRECTORY)?;
    let dangling = scene.symlink("dangling", "missing", LinkKind::Directory)?;
    refused("pin", scene.files.pin(&dangling), Win32::DIRECTORY)
}

fn a_junction_or_mounted_folder_cannot_be_pinned(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("real")?;
    let junction = scene.junction("junction", "real")?;
    refused("pin", scene.files.pin(&junction), Win32::DIRECTORY)?;
    let mounted = scene.mounted_folder("mnt")?;
    refused("pin", scene.files.pin(&mounted), Win32::DIRECTORY)
}

fn a_directory_is_pinned_through_a_link_above_it(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("real")?;
    scene.directory(r"real\d")?;
    scene.symlink("link", "real", LinkKind::Directory)?;
    let _pin = scene.files.pin(&scene.at(r"link\d"))?;
    let removed = scene.files.remove_directory(&scene.at(r"real\d"));
    refused("remove_directory", removed, Win32::SHARING_VIOLATION)
}

fn a_directory_is_made_pinned_and_removed_in_one_that_is_pinned(
    fixture: &Fixture,
) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let outer = scene.files.pin(&scene.directory("outer")?)?;
    let name = named("inner")?;
    outer.create_directory(&name)?;
    holds("it is there", scene.entry(r"outer\inner")?.is_directory())?;
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

fn an_entry_is_removed_in_a_pinned_directory_whatever_it_is(
    fixture: &Fixture,
) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    scene.file(r"d\file")?;
    scene.hand.set_read_only(&scene.file(r"d\read-only")?)?;
    scene.directory(r"d\directory")?;
    for name in ["FILE", "read-only", "directory"] {
        pin.remove(&named(name)?)?;
    }
    same("names", &scene.names(&scene.at("d"))?, &vec![])
}

fn a_directory_that_holds_something_stays_in_a_pinned_one(
    fixture: &Fixture,
) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    scene.directory(r"d\full")?;
    scene.file(r"d\full\file")?;
    let name = named("full")?;
    refused("remove", pin.remove(&name), Win32::DIR_NOT_EMPTY)?;
    scene.entry(r"d\full\file").map(drop)
}

fn only_a_plain_directory_can_be_pinned_in_a_pinned_one(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    scene.file(r"d\file")?;
    let name = named("file")?;
    refused("pin", pin.pin(&name), Win32::DIRECTORY)
}

fn a_link_goes_as_an_entry_of_a_pinned_directory(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("kept")?;
    scene.file(r"kept\file")?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    scene.symlink(r"d\link", &scene.text("kept"), LinkKind::Directory)?;
    let name = named("link")?;
    refused("pin", pin.pin(&name), Win32::DIRECTORY)?;
    pin.remove(&name)?;
    same("names", &scene.names(&scene.at("d"))?, &vec![])?;
    scene.entry(r"kept\file").map(drop)
}

fn named(name: &str) -> Result<Component, Failure> {
    Component::parse(name).map_err(|error| Failure::Wrong(format!("{name}: {error}")))
}
