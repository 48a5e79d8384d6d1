//! Entries held until they have become links.

use formats::reparse::{Reparse, SymlinkBase};
use os::{Component, LinkKind, ReparseTag, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::FolderFixture;
use crate::{CaseResult, Failure, Fixture};

declare!("files", FILES;
    what_is_reserved_stays_until_it_is_let_go,
    what_is_reserved_takes_no_taken_name,
    what_is_reserved_is_renamed_and_replaces_nothing,
    what_is_reserved_becomes_a_link_and_is_renamed,
    what_is_reserved_as_a_file_becomes_a_link_to_a_file,
    what_holds_something_becomes_no_link,
    a_placeholder_made_a_junction_becomes_no_link,
    a_directory_with_something_reserved_becomes_no_junction,
    nothing_is_reserved_in_a_directory_that_became_a_junction,
);

const SHARE: &str = r"\\server\share\sub";

fn what_is_reserved_stays_until_it_is_let_go(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let above = sandbox.directory("d")?;
    let pin = sandbox.files.pin(&above)?;
    for kind in [LinkKind::Directory, LinkKind::File] {
        let reserved = pin.reserve(&named("x")?, kind)?;
        let is_directory = sandbox.entry(r"d\x")?.is_directory();
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
    same("names", &sandbox.names(&above)?, &vec![])
}

fn what_is_reserved_takes_no_taken_name(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    sandbox.directory(r"d\x")?;
    let reserved = pin.reserve(&named("X")?, LinkKind::Directory);
    refused("reserve", reserved.map(drop), Win32::ALREADY_EXISTS)
}

fn what_is_reserved_is_renamed_and_replaces_nothing(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let above = sandbox.directory("d")?;
    let pin = sandbox.files.pin(&above)?;
    sandbox.directory(r"d\directory")?;
    sandbox.file(r"d\file")?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    for taken in ["directory", "FILE"] {
        let renamed = reserved.rename(&named(taken)?);
        refused("rename", renamed, Win32::ALREADY_EXISTS)?;
    }
    reserved.rename(&named("y")?)?;
    let removed = pin.remove(&named("y")?);
    refused("remove", removed, Win32::SHARING_VIOLATION)?;
    let names = ["directory", "file", "y"].map(str::to_owned).to_vec();
    same("names", &sandbox.names(&above)?, &names)
}

fn what_is_reserved_becomes_a_link_and_is_renamed(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let above = sandbox.directory("d")?;
    let pin = sandbox.files.pin(&above)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    reserved.become_symlink(SHARE)?;
    sandbox.directory(r"d\taken")?;
    let renamed = reserved.rename(&named("taken")?);
    refused("rename", renamed, Win32::ALREADY_EXISTS)?;
    reserved.rename(&named("link")?)?;
    drop(reserved);
    let names = ["link", "taken"].map(str::to_owned).to_vec();
    same("names", &sandbox.names(&above)?, &names)?;
    holds(
        "it is a directory",
        sandbox.entry(r"d\link")?.is_directory(),
    )?;
    leads(&sandbox, r"d\link", r"\??\UNC\server\share\sub", SHARE)?;
    pin.remove(&named("link")?)?;
    Ok(())
}

fn what_is_reserved_as_a_file_becomes_a_link_to_a_file(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::File)?;
    reserved.become_symlink(r"C:\missing")?;
    reserved.rename(&named("link")?)?;
    drop(reserved);
    holds("it is a file", !sandbox.entry(r"d\link")?.is_directory())?;
    leads(&sandbox, r"d\link", r"\??\C:\missing", r"C:\missing")
}

fn what_holds_something_becomes_no_link(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    sandbox.directory(r"d\x\inner")?;
    let set = reserved.become_symlink(SHARE);
    refused("become_symlink", set, Win32::DIR_NOT_EMPTY)
}

fn a_placeholder_made_a_junction_becomes_no_link(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("elsewhere")?;
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    sandbox.become_junction(r"d\x", "elsewhere")??;
    let set = reserved.become_symlink(SHARE);
    refused("become_symlink", set, Win32::REPARSE_TAG_MISMATCH)
}

/// By this no link is made elsewhere than where the path led when its directory was held.
/// Guards: P56
fn a_directory_with_something_reserved_becomes_no_junction(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("elsewhere")?;
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory)?;
    let made = sandbox.become_junction("d", "elsewhere")?;
    refused("become_junction", made, Win32::DIR_NOT_EMPTY)?;
    reserved.become_symlink(SHARE)?;
    reserved.rename(&named("link")?)?;
    sandbox.entry(r"d\link")?;
    same("names", &sandbox.names(&sandbox.at("elsewhere"))?, &vec![])
}

fn nothing_is_reserved_in_a_directory_that_became_a_junction(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let elsewhere = sandbox.directory("elsewhere")?;
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    sandbox.become_junction("d", "elsewhere")??;
    let reserved = pin.reserve(&named("x")?, LinkKind::Directory).map(drop);
    refused("reserve", reserved, Win32::REPARSE_POINT_ENCOUNTERED)?;
    // Nor is anything found: by this a link elsewhere is not taken for one in the directory.
    let pinned = pin.pin(&named("x")?).map(drop);
    refused("pin", pinned, Win32::REPARSE_POINT_ENCOUNTERED)?;
    same("names", &sandbox.names(&elsewhere)?, &vec![])
}

fn leads(sandbox: &FolderFixture<'_>, name: &str, substitute: &str, print: &str) -> CaseResult {
    same("tag", &sandbox.entry(name)?.tag, &Some(ReparseTag::SYMLINK))?;
    let data = sandbox.files.reparse_data(&sandbox.at(name))?;
    let parsed = Reparse::parse(&data).map_err(Failure::unexpected)?;
    let Reparse::Symlink { names, base } = parsed else {
        return Err(Failure::Wrong(format!("no symbolic link: {parsed:?}")));
    };
    same("substitute name", &names.substitute, &substitute.to_owned())?;
    same("print name", &names.print, &print.to_owned())?;
    same("base", &base, &SymlinkBase::Absolute)
}

fn named(name: &str) -> CaseResult<Component> {
    Component::parse(name).map_err(|error| Failure::Wrong(format!("{name}: {error}")))
}
