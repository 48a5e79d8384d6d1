//! Reparse points other than symbolic links and mounted folders.

use formats::reparse::{Reparse, Tag};
use os::{FileAttributes, LinkKind, ReparseTag, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::{self, FolderFixture};
use crate::{CaseResult, Fixture};

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

fn a_plain_entry_has_no_reparse_data(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    for path in [sandbox.directory("d")?, sandbox.file("f")?] {
        let data = sandbox.files.reparse_data(&path);
        refused("reparse_data", data, Win32::NOT_A_REPARSE_POINT)?;
    }
    Ok(())
}

fn reparse_data_comes_back_as_it_was_set(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.unknown_tag("d", LinkKind::Directory)?;
    let wanted = folder_fixture::bytes(&folder_fixture::unknown())?;
    same("data", &sandbox.files.reparse_data(&path)?, &wanted)
}

fn a_junction_is_followed(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    let junction = sandbox.junction("junction", "real")?;
    sandbox.file(r"junction\f")?;
    same(
        "content",
        &sandbox.read(r"real\f")?,
        &r"junction\f".to_owned(),
    )?;
    holds(
        "it leads to a directory",
        sandbox.files.leads_to_directory(&junction)?,
    )?;
    same(
        "tag",
        &sandbox.entry("junction")?.tag,
        &Some(ReparseTag::MOUNT_POINT),
    )
}

fn a_junction_and_a_symlink_can_follow_each_other(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.directory(r"real\inner")?;
    sandbox.file(r"real\inner\f")?;
    sandbox.junction("junction", "real")?;
    sandbox.symlink(
        "link",
        &sandbox.text(r"junction\inner"),
        LinkKind::Directory,
    )?;
    same(
        "content",
        &sandbox.read(r"link\f")?,
        &r"real\inner\f".to_owned(),
    )
}

fn an_unknown_reparse_point_shows_its_tag(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.unknown_tag("d", LinkKind::Directory)?;
    sandbox.unknown_tag("f", LinkKind::File)?;
    for (name, is_directory) in [("d", true), ("f", false)] {
        let entry = sandbox.entry(name)?;
        same(
            "tag",
            &entry.tag,
            &Some(ReparseTag(folder_fixture::unknown().tag().0)),
        )?;
        same("is_directory", &entry.is_directory(), &is_directory)?;
        let is_link = entry.attributes.contains(FileAttributes::REPARSE_POINT);
        holds("it is a reparse point", is_link)?;
    }
    Ok(())
}

fn an_unknown_reparse_point_is_not_gone_through(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.unknown_tag("d", LinkKind::Directory)?;
    let below = sandbox.at(r"d\f");
    refused(
        "entry",
        sandbox.files.entry(&below),
        Win32::CANT_ACCESS_FILE,
    )?;
    let made = sandbox.files.create_directory(&below);
    refused("create_directory", made, Win32::CANT_ACCESS_FILE)?;
    let led = sandbox.files.leads_to_directory(&path);
    refused("leads_to_directory", led, Win32::CANT_ACCESS_FILE)
}

fn a_socket_is_an_entry_like_any_other(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let socket = Reparse::Other {
        tag: Tag::AF_UNIX,
        owner: None,
        data: Vec::new(),
    };
    let path = sandbox.reparse_point("csi.sock", LinkKind::File, &socket)?;
    let entry = sandbox.entry("csi.sock")?;
    same("tag", &entry.tag, &Some(ReparseTag::AF_UNIX))?;
    holds("it is no directory", !entry.is_directory())?;
    sandbox.files.remove_file(&path)?;
    same("names", &sandbox.names(sandbox.hand.folder())?, &vec![])
}

fn a_listing_tells_the_tags(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.junction("junction", "real")?;
    sandbox.symlink("link", "real", LinkKind::Directory)?;
    sandbox.unknown_tag("unknown", LinkKind::File)?;
    let folder = sandbox.hand.folder();
    for listed in sandbox.files.list(folder)? {
        let path = folder.join(folder_fixture::component(&listed.name.to_string_lossy()));
        same(
            "an entry as listed",
            &listed.entry,
            &sandbox.files.entry(&path)?,
        )?;
    }
    Ok(())
}
