//! Entries that are held until they have become links.

use formats::reparse::{Reparse, SymlinkBase};
use os::{Component, LinkKind, ReparseTag, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::scene::Scene;
use crate::{Failure, Fixture};

declare!("files", FILES;
    what_is_reserved_stays_until_it_is_let_go,
    what_is_reserved_takes_no_taken_name,
    what_is_reserved_is_renamed_and_replaces_nothing,
    what_is_reserved_becomes_a_link_and_is_renamed,
    what_is_reserved_as_a_file_becomes_a_link_to_a_file,
    what_holds_something_becomes_no_link,
    what_somebody_made_a_junction_becomes_no_link,
    a_directory_with_something_reserved_becomes_no_junction,
    nothing_is_reserved_in_a_directory_that_became_a_junction,
);

const SHARE: &str = r"\\server\share\sub";

fn what_is_reserved_stays_until_it_is_let_go(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let above = scene.directory("d")?;
    let pin = scene.files.pin(&above)?;
    for kind in [LinkKind::Directory, LinkKind::File] {
        let reserved = pin.reserve(&named("x")?, kind)?;
        let is_directory = scene.entry(r"d\x")?.is_directory();
        same(
            "is_directory",
            &is_directory,
            &(kind == LinkKind::Directory),
        )?;
        let removed = pin.remove(&named("x")?);
        refused("remove", removed, Win32::SHARING_VIOLATION)?;
        drop(reserved);
        pin.remove(&named("x")?)?;
    }
    same("names", &scene.names(&above)?, &vec![])
}

fn what_is_reserved_takes_no_taken_name(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    scene.directory(r"d\x")?;
    let reserved = pin.reserve(&named("X")?, LinkKind::Directory);
    refused("reserve", reserved.map(drop), Win32::ALREADY_EXISTS)
}

fn what_is_reserved_is_renamed_and_replaces_nothing(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let above = scene.directory("d")?;
    let pin = scene.files.pin(&above)?;
    scene.directory(r"d\directory")?;
    scene.file(r"d\file")?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    for taken in ["directory", "FILE"] {
        let renamed = reserved.rename(&named(taken)?);
        refused("rename", renamed, Win32::ALREADY_EXISTS)?;
    }
    reserved.rename(&named("y")?)?;
    let removed = pin.remove(&named("y")?);
    refused("remove", removed, Win32::SHARING_VIOLATION)?;
    let names = ["directory", "file", "y"].map(str::to_owned).to_vec();
    same("names", &scene.names(&above)?, &names)
}

fn what_is_reserved_becomes_a_link_and_is_renamed(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let above = scene.directory("d")?;
    let pin = scene.files.pin(&above)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    reserved.become_symlink(SHARE)?;
    scene.directory(r"d\taken")?;
    let renamed = reserved.rename(&named("taken")?);
    refused("rename", renamed, Win32::ALREADY_EXISTS)?;
    reserved.rename(&named("link")?)?;
    drop(reserved);
    let names = ["link", "taken"].map(str::to_owned).to_vec();
    same("names", &scene.names(&above)?, &names)?;
    holds("it is a directory", scene.entry(r"d\link")?.is_directory())?;
    leads(&scene, r"d\link", r"\??\UNC\server\share\sub", SHARE)?;
    pin.remove(&named("link")?)?;
    Ok(())
}

fn what_is_reserved_as_a_file_becomes_a_link_to_a_file(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::File)?;
    reserved.become_symlink(r"C:\missing")?;
    reserved.rename(&named("link")?)?;
    drop(reserved);
    holds("it is a file", !scene.entry(r"d\link")?.is_directory())?;
    leads(&scene, r"d\link", r"\??\C:\missing", r"C:\missing")
}

fn what_holds_something_becomes_no_link(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    scene.directory(r"d\x\inner")?;
    let set = reserved.become_symlink(SHARE);
    refused("become_symlink", set, Win32::DIR_NOT_EMPTY)
}

fn what_somebody_made_a_junction_becomes_no_link(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("elsewhere")?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    scene.become_junction(r"d\x", "elsewhere")??;
    let set = reserved.become_symlink(SHARE);
    refused("become_symlink", set, Win32::REPARSE_TAG_MISMATCH)
}

/// By this no link is made elsewhere than where the path led when its directory was held.
fn a_directory_with_something_reserved_becomes_no_junction(
    fixture: &Fixture,
) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("elsewhere")?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    let made = scene.become_junction("d", "elsewhere")?;
    refused("become_junction", made, Win32::DIR_NOT_EMPTY)?;
    reserved.become_symlink(SHARE)?;
    reserved.rename(&named("link")?)?;
    scene.entry(r"d\link")?;
    same("names", &scene.names(&scene.at("elsewhere"))?, &vec![])
}

fn nothing_is_reserved_in_a_directory_that_became_a_junction(
    fixture: &Fixture,
) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let elsewhere = scene.directory("elsewhere")?;
    let pin = scene.files.pin(&scene.directory("d")?)?;
    scene.become_junction("d", "elsewhere")??;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory).map(drop);
    refused("reserve", reserved, Win32::REPARSE_POINT_ENCOUNTERED)?;
    // Nor is anything found: by this a link elsewhere is not taken for one in the directory.
    let pinned = pin.pin(&named("x")?).map(drop);
    refused("pin", pinned, Win32::REPARSE_POINT_ENCOUNTERED)?;
    same("names", &scene.names(&elsewhere)?, &vec![])
}

fn leads(scene: &Scene<'_>, name: &str, substitute: &str, print: &str) -> Result<(), Failure> {
    same("tag", &scene.entry(name)?.tag, &Some(ReparseTag::SYMLINK))?;
    let data = scene.files.reparse_data(&scene.at(name))?;
    let parsed = Reparse::parse(&data).map_err(|error| Failure::Wrong(error.to_string()))?;
    let Reparse::Symlink { names, base } = parsed else {
        return Err(Failure::Wrong(format!("no symbolic link: {parsed:?}")));
    };
    same("substitute name", &names.substitute, &substitute.to_owned())?;
    same("print name", &names.print, &print.to_owned())?;
    same("base", &base, &SymlinkBase::Absolute)
}

fn named(name: &str) -> Result<Component, Failure> {
    Component::parse(name).map_err(|error| Failure::Wrong(format!("{name}: {error}")))
}
