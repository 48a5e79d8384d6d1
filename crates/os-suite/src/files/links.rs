//! Reparse points other than symbolic links and mounted folders.

use formats::reparse::{Reparse, Tag};
use os::{FileAttributes, LinkKind, ReparseTag, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::scene::{self, Scene};
use crate::{Failure, Fixture};

declare!("files", FILES;
    a_plain_entry_has_no_reparse_data,
    reparse_data_comes_back_as_it_was_set,
    a_junction_is_followed,
    a_junction_and_a_symlink_can_follow_each_other,
    an_unknown_reparse_point_shows_its_tag,
    an_unknown_reparse_point_is_not_gone_through,
    a_socket_is_an_entry_like_any_other,
    a_listing_tells_the_tags,
);

fn a_plain_entry_has_no_reparse_data(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    for path in [scene.directory("d")?, scene.file("f")?] {
        let data = scene.files.reparse_data(&path);
        refused("reparse_data", data, Win32::NOT_A_REPARSE_POINT)?;
    }
    Ok(())
}

fn reparse_data_comes_back_as_it_was_set(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.unknown_tag("d", LinkKind::Directory)?;
    let wanted = scene::bytes(&scene::unknown())?;
    same("data", &scene.files.reparse_data(&path)?, &wanted)
}

fn a_junction_is_followed(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("real")?;
    let junction = scene.junction("junction", "real")?;
    scene.file(r"junction\f")?;
    same(
        "content",
        &scene.read(r"real\f")?,
        &r"junction\f".to_owned(),
    )?;
    holds(
        "it leads to a directory",
        scene.files.leads_to_directory(&junction)?,
    )?;
    same(
        "tag",
        &scene.entry("junction")?.tag,
        &Some(ReparseTag::MOUNT_POINT),
    )
}

fn a_junction_and_a_symlink_can_follow_each_other(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("real")?;
    scene.directory(r"real\inner")?;
    scene.file(r"real\inner\f")?;
    scene.junction("junction", "real")?;
    scene.symlink("link", &scene.text(r"junction\inner"), LinkKind::Directory)?;
    same(
        "content",
        &scene.read(r"link\f")?,
        &r"real\inner\f".to_owned(),
    )
}

fn an_unknown_reparse_point_shows_its_tag(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.unknown_tag("d", LinkKind::Directory)?;
    scene.unknown_tag("f", LinkKind::File)?;
    for (name, is_directory) in [("d", true), ("f", false)] {
        let entry = scene.entry(name)?;
        same(
            "tag",
            &entry.tag,
            &Some(ReparseTag(scene::unknown().tag().0)),
        )?;
        same("is_directory", &entry.is_directory(), &is_directory)?;
        let is_link = entry.attributes.contains(FileAttributes::REPARSE_POINT);
        holds("it is a reparse point", is_link)?;
    }
    Ok(())
}

fn an_unknown_reparse_point_is_not_gone_through(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let path = scene.unknown_tag("d", LinkKind::Directory)?;
    let below = scene.at(r"d\f");
    refused("entry", scene.files.entry(&below), Win32::CANT_ACCESS_FILE)?;
    let made = scene.files.create_directory(&below);
    refused("create_directory", made, Win32::CANT_ACCESS_FILE)?;
    let led = scene.files.leads_to_directory(&path);
    refused("leads_to_directory", led, Win32::CANT_ACCESS_FILE)
}

fn a_socket_is_an_entry_like_any_other(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let socket = Reparse::Other {
        tag: Tag::AF_UNIX,
        owner: None,
        data: Vec::new(),
    };
    let path = scene.reparse_point("csi.sock", LinkKind::File, &socket)?;
    let entry = scene.entry("csi.sock")?;
    same("tag", &entry.tag, &Some(ReparseTag::AF_UNIX))?;
    holds("it is no directory", !entry.is_directory())?;
    scene.files.remove_file(&path)?;
    same("names", &scene.names(scene.hand.folder())?, &vec![])
}

fn a_listing_tells_the_tags(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("real")?;
    scene.junction("junction", "real")?;
    scene.symlink("link", "real", LinkKind::Directory)?;
    scene.unknown_tag("unknown", LinkKind::File)?;
    let folder = scene.hand.folder();
    for listed in scene.files.list(folder)? {
        let path = folder.join(scene::component(&listed.name.to_string_lossy()));
        same(
            "an entry as listed",
            &listed.entry,
            &scene.files.entry(&path)?,
        )?;
    }
    Ok(())
}
