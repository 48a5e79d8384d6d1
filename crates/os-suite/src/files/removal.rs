//! Removing files and directories.

use os::{LinkKind, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::scene::Scene;
use crate::{Failure, Fixture};

declare!("files", FILES;
    a_removed_file_is_gone,
    a_removed_directory_is_gone_and_its_name_is_free,
    a_directory_that_holds_something_stays,
    a_file_is_no_directory_to_remove,
    a_directory_is_no_file_to_remove,
    a_read_only_file_stays_until_it_is_cleared,
    a_read_only_directory_can_be_cleared_and_removed,
    a_link_to_a_directory_is_removed_as_an_entry,
    a_link_to_a_directory_is_no_file_to_remove,
    a_link_to_a_file_is_removed_as_an_entry,
    a_link_to_a_file_is_no_directory_to_remove,
    a_link_to_nothing_is_removed_as_an_entry,
    a_junction_is_removed_as_an_entry,
    a_mounted_folder_is_removed_as_an_entry,
    an_unknown_reparse_point_is_removed_as_an_entry,
    a_removal_through_a_link_removes_what_it_leads_to,
);

fn a_removed_file_is_gone(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.file("f")?;
    scene.files.remove_file(&path)?;
    refused("entry", scene.files.entry(&path), Win32::FILE_NOT_FOUND)?;
    refused(
        "remove_file",
        scene.files.remove_file(&path),
        Win32::FILE_NOT_FOUND,
    )
}

fn a_removed_directory_is_gone_and_its_name_is_free(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.directory("name")?;
    scene.files.remove_directory(&path)?;
    refused("entry", scene.files.entry(&path), Win32::FILE_NOT_FOUND)?;
    scene.file("name")?;
    holds("a file took the name", !scene.entry("name")?.is_directory())
}

fn a_directory_that_holds_something_stays(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    for inner in [r"d\file", r"e\inner"] {
        let outer = scene.directory(inner.get(..1).unwrap_or_default())?;
        if inner.ends_with("file") {
            scene.file(inner)?;
        } else {
            scene.directory(inner)?;
        }
        let removed = scene.files.remove_directory(&outer);
        refused("remove_directory", removed, Win32::DIR_NOT_EMPTY)?;
        scene.entry(inner)?;
    }
    Ok(())
}

fn a_file_is_no_directory_to_remove(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let file = scene.file("f")?;
    let removed = scene.files.remove_directory(&file);
    refused("remove_directory", removed, Win32::DIRECTORY)?;
    same("content", &scene.read("f")?, &"f".to_owned())
}

fn a_directory_is_no_file_to_remove(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let directory = scene.directory("d")?;
    let removed = scene.files.remove_file(&directory);
    refused("remove_file", removed, Win32::ACCESS_DENIED)?;
    holds("it is still there", scene.entry("d")?.is_directory())
}

fn a_read_only_file_stays_until_it_is_cleared(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.file("f")?;
    scene.hand.set_read_only(&path)?;
    refused(
        "remove_file",
        scene.files.remove_file(&path),
        Win32::ACCESS_DENIED,
    )?;
    same("content", &scene.read("f")?, &"f".to_owned())?;
    scene.files.clear_read_only(&path)?;
    scene.files.remove_file(&path)?;
    refused("entry", scene.files.entry(&path), Win32::FILE_NOT_FOUND)
}

fn a_read_only_directory_can_be_cleared_and_removed(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.directory("d")?;
    scene.hand.set_read_only(&path)?;
    let file = scene.file(r"d\its files are not read-only")?;
    scene.files.remove_file(&file)?;
    scene.files.clear_read_only(&path)?;
    scene.files.remove_directory(&path)?;
    refused("entry", scene.files.entry(&path), Win32::FILE_NOT_FOUND)
}

fn a_link_to_a_directory_is_removed_as_an_entry(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    kept(&scene)?;
    let link = scene.symlink("link", &scene.text("kept"), LinkKind::Directory)?;
    scene.files.remove_directory(&link)?;
    only_the_link_is_gone(&scene)
}

fn a_link_to_a_directory_is_no_file_to_remove(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    kept(&scene)?;
    let link = scene.symlink("link", &scene.text("kept"), LinkKind::Directory)?;
    refused(
        "remove_file",
        scene.files.remove_file(&link),
        Win32::ACCESS_DENIED,
    )?;
    scene.entry("link").map(drop)
}

fn a_link_to_a_file_is_removed_as_an_entry(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    kept(&scene)?;
    let link = scene.symlink("link", &scene.text(r"kept\file"), LinkKind::File)?;
    scene.files.remove_file(&link)?;
    only_the_link_is_gone(&scene)
}

fn a_link_to_a_file_is_no_directory_to_remove(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    kept(&scene)?;
    let link = scene.symlink("link", &scene.text(r"kept\file"), LinkKind::File)?;
    let removed = scene.files.remove_directory(&link);
    refused("remove_directory", removed, Win32::DIRECTORY)?;
    scene.entry("link").map(drop)
}

fn a_link_to_nothing_is_removed_as_an_entry(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let directory = scene.symlink("d", &scene.text("missing"), LinkKind::Directory)?;
    let file = scene.symlink("f", &scene.text("missing"), LinkKind::File)?;
    scene.files.remove_directory(&directory)?;
    scene.files.remove_file(&file)?;
    same("names", &scene.names(scene.hand.folder())?, &vec![])
}

fn a_junction_is_removed_as_an_entry(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    kept(&scene)?;
    let link = scene.junction("link", "kept")?;
    scene.files.remove_directory(&link)?;
    only_the_link_is_gone(&scene)
}

fn a_mounted_folder_is_removed_as_an_entry(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    kept(&scene)?;
    let mounted = scene.mounted_folder("link")?;
    scene.files.remove_directory(&mounted)?;
    only_the_link_is_gone(&scene)
}

fn an_unknown_reparse_point_is_removed_as_an_entry(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let directory = scene.unknown_tag("d", LinkKind::Directory)?;
    let file = scene.unknown_tag("f", LinkKind::File)?;
    scene.files.remove_directory(&directory)?;
    scene.files.remove_file(&file)?;
    same("names", &scene.names(scene.hand.folder())?, &vec![])
}

fn a_removal_through_a_link_removes_what_it_leads_to(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    kept(&scene)?;
    scene.symlink("link", &scene.text("kept"), LinkKind::Directory)?;
    scene.files.remove_file(&scene.at(r"link\file"))?;
    let file = scene.files.entry(&scene.at(r"kept\file"));
    refused("entry", file, Win32::FILE_NOT_FOUND)?;
    scene.entry("link").map(drop)
}

/// What the links of these cases lead to.
fn kept(scene: &Scene<'_>) -> Result<(), Failure> {
    scene.directory("kept")?;
    scene.file(r"kept\file").map(drop)
}

fn only_the_link_is_gone(scene: &Scene<'_>) -> Result<(), Failure> {
    same(
        "names",
        &scene.names(scene.hand.folder())?,
        &vec!["kept".to_owned()],
    )?;
    same(
        "content",
        &scene.read(r"kept\file")?,
        &r"kept\file".to_owned(),
    )
}
