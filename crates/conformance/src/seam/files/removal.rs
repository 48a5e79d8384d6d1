//! Removing files and directories.

use os::{LinkKind, ReparseTag, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::{FolderFixture, component};
use crate::{CaseResult, Fixture};

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
    what_is_no_reparse_point_is_not_removed_as_a_symlink,
    another_reparse_point_is_not_removed_as_a_symlink,
    a_symlink_is_removed_as_one_of_its_kind,
);

fn a_removed_file_is_gone(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.file("f")?;
    sandbox.files.remove_file(&path)?;
    refused("entry", sandbox.files.entry(&path), Win32::FILE_NOT_FOUND)?;
    refused(
        "remove_file",
        sandbox.files.remove_file(&path),
        Win32::FILE_NOT_FOUND,
    )
}

fn a_removed_directory_is_gone_and_its_name_is_free(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("name")?;
    sandbox.files.remove_directory(&path)?;
    refused("entry", sandbox.files.entry(&path), Win32::FILE_NOT_FOUND)?;
    sandbox.file("name")?;
    holds(
        "a file took the name",
        !sandbox.entry("name")?.is_directory(),
    )
}

fn a_directory_that_holds_something_stays(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    for inner in [r"d\file", r"e\inner"] {
        let outer = sandbox.directory(inner.get(..1).unwrap_or_default())?;
        if inner.ends_with("file") {
            sandbox.file(inner)?;
        } else {
            sandbox.directory(inner)?;
        }
        let removed = sandbox.files.remove_directory(&outer);
        refused("remove_directory", removed, Win32::DIR_NOT_EMPTY)?;
        sandbox.entry(inner)?;
    }
    Ok(())
}

fn a_file_is_no_directory_to_remove(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let file = sandbox.file("f")?;
    let removed = sandbox.files.remove_directory(&file);
    refused("remove_directory", removed, Win32::DIRECTORY)?;
    same("content", &sandbox.read("f")?, &"f".to_owned())
}

fn a_directory_is_no_file_to_remove(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    let removed = sandbox.files.remove_file(&directory);
    refused("remove_file", removed, Win32::ACCESS_DENIED)?;
    holds("it is still there", sandbox.entry("d")?.is_directory())
}

fn a_read_only_file_stays_until_it_is_cleared(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.file("f")?;
    sandbox.hand.set_read_only(&path)?;
    refused(
        "remove_file",
        sandbox.files.remove_file(&path),
        Win32::ACCESS_DENIED,
    )?;
    same("content", &sandbox.read("f")?, &"f".to_owned())?;
    sandbox.files.clear_read_only(&path)?;
    sandbox.files.remove_file(&path)?;
    refused("entry", sandbox.files.entry(&path), Win32::FILE_NOT_FOUND)
}

fn a_read_only_directory_can_be_cleared_and_removed(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    sandbox.hand.set_read_only(&path)?;
    let file = sandbox.file(r"d\its files are not read-only")?;
    sandbox.files.remove_file(&file)?;
    sandbox.files.clear_read_only(&path)?;
    sandbox.files.remove_directory(&path)?;
    refused("entry", sandbox.files.entry(&path), Win32::FILE_NOT_FOUND)
}

fn a_link_to_a_directory_is_removed_as_an_entry(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    kept(&sandbox)?;
    let link = sandbox.symlink("link", &sandbox.text("kept"), LinkKind::Directory)?;
    sandbox.files.remove_directory(&link)?;
    only_the_link_is_gone(&sandbox)
}

fn a_link_to_a_directory_is_no_file_to_remove(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    kept(&sandbox)?;
    let link = sandbox.symlink("link", &sandbox.text("kept"), LinkKind::Directory)?;
    refused(
        "remove_file",
        sandbox.files.remove_file(&link),
        Win32::ACCESS_DENIED,
    )?;
    sandbox.entry("link").map(drop)
}

fn a_link_to_a_file_is_removed_as_an_entry(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    kept(&sandbox)?;
    let link = sandbox.symlink("link", &sandbox.text(r"kept\file"), LinkKind::File)?;
    sandbox.files.remove_file(&link)?;
    only_the_link_is_gone(&sandbox)
}

fn a_link_to_a_file_is_no_directory_to_remove(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    kept(&sandbox)?;
    let link = sandbox.symlink("link", &sandbox.text(r"kept\file"), LinkKind::File)?;
    let removed = sandbox.files.remove_directory(&link);
    refused("remove_directory", removed, Win32::DIRECTORY)?;
    sandbox.entry("link").map(drop)
}

fn a_link_to_nothing_is_removed_as_an_entry(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.symlink("d", &sandbox.text("missing"), LinkKind::Directory)?;
    let file = sandbox.symlink("f", &sandbox.text("missing"), LinkKind::File)?;
    sandbox.files.remove_directory(&directory)?;
    sandbox.files.remove_file(&file)?;
    same("names", &sandbox.names(sandbox.hand.folder())?, &vec![])
}

fn a_junction_is_removed_as_an_entry(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    kept(&sandbox)?;
    let link = sandbox.junction("link", "kept")?;
    sandbox.files.remove_directory(&link)?;
    only_the_link_is_gone(&sandbox)
}

fn a_mounted_folder_is_removed_as_an_entry(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    kept(&sandbox)?;
    let mounted = sandbox.mounted_folder("link")?;
    sandbox.files.remove_directory(&mounted)?;
    only_the_link_is_gone(&sandbox)
}

fn an_unknown_reparse_point_is_removed_as_an_entry(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.unknown_tag("d", LinkKind::Directory)?;
    let file = sandbox.unknown_tag("f", LinkKind::File)?;
    sandbox.files.remove_directory(&directory)?;
    sandbox.files.remove_file(&file)?;
    same("names", &sandbox.names(sandbox.hand.folder())?, &vec![])
}

fn a_removal_through_a_link_removes_what_it_leads_to(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    kept(&sandbox)?;
    sandbox.symlink("link", &sandbox.text("kept"), LinkKind::Directory)?;
    sandbox.files.remove_file(&sandbox.at(r"link\file"))?;
    let file = sandbox.files.entry(&sandbox.at(r"kept\file"));
    refused("entry", file, Win32::FILE_NOT_FOUND)?;
    sandbox.entry("link").map(drop)
}

/// Checks the targets of these cases' links.
fn kept(sandbox: &FolderFixture<'_>) -> CaseResult {
    sandbox.directory("kept")?;
    sandbox.file(r"kept\file").map(drop)
}

fn only_the_link_is_gone(sandbox: &FolderFixture<'_>) -> CaseResult {
    same(
        "names",
        &sandbox.names(sandbox.hand.folder())?,
        &vec!["kept".to_owned()],
    )?;
    same(
        "content",
        &sandbox.read(r"kept\file")?,
        &r"kept\file".to_owned(),
    )
}

/// By its path and in a held directory.
fn no_symlink(sandbox: &FolderFixture<'_>, below: &str, kind: LinkKind, code: Win32) -> CaseResult {
    let removed = sandbox.files.remove_symlink(&sandbox.at(below), kind);
    refused("remove_symlink", removed, code)?;
    let pin = sandbox.files.pin(sandbox.hand.folder())?;
    let removed = pin.remove_symlink(&component(below), kind);
    refused("remove_symlink, held", removed, code)
}

/// So a new entry in a link's place is not removed.
fn what_is_no_reparse_point_is_not_removed_as_a_symlink(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.file("f")?;
    sandbox.directory("d")?;
    for kind in [LinkKind::File, LinkKind::Directory] {
        no_symlink(&sandbox, "f", kind, Win32::NOT_A_REPARSE_POINT)?;
        no_symlink(&sandbox, "d", kind, Win32::NOT_A_REPARSE_POINT)?;
        no_symlink(&sandbox, "missing", kind, Win32::FILE_NOT_FOUND)?;
    }
    same("content", &sandbox.read("f")?, &"f".to_owned())?;
    holds("it is there", sandbox.entry("d")?.is_directory())
}

fn another_reparse_point_is_not_removed_as_a_symlink(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.junction("junction", "real")?;
    sandbox.mounted_folder("mnt")?;
    for name in ["junction", "mnt"] {
        no_symlink(
            &sandbox,
            name,
            LinkKind::Directory,
            Win32::REPARSE_TAG_MISMATCH,
        )?;
        let tag = sandbox.entry(name)?.tag;
        same("tag", &tag, &Some(ReparseTag::MOUNT_POINT))?;
    }
    Ok(())
}

fn a_symlink_is_removed_as_one_of_its_kind(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("kept")?;
    sandbox.file(r"kept\file")?;
    let targets = [
        ("kept", LinkKind::Directory),
        (r"kept\file", LinkKind::File),
    ];
    for (target, kind) in targets {
        let link = sandbox.symlink("link", &sandbox.text(target), kind)?;
        let other = match kind {
            LinkKind::Directory => LinkKind::File,
            LinkKind::File => LinkKind::Directory,
        };
        no_symlink(&sandbox, "link", other, Win32::REPARSE_TAG_MISMATCH)?;
        sandbox.files.remove_symlink(&link, kind)?;
        sandbox.symlink("link", &sandbox.text(target), kind)?;
        let pin = sandbox.files.pin(sandbox.hand.folder())?;
        pin.remove_symlink(&component("link"), kind)?;
    }
    let names = vec!["kept".to_owned()];
    same("names", &sandbox.names(sandbox.hand.folder())?, &names)?;
    same(
        "content",
        &sandbox.read(r"kept\file")?,
        &r"kept\file".to_owned(),
    )
}
