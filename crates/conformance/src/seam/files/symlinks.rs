//! Symbolic links: their stored text and their targets.

use formats::reparse::{Reparse, SymlinkBase};
use os::{FileAttributes, LinkKind, ReparseTag, Win32};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::FolderFixture;
use crate::{CaseResult, Failure, Fixture};

declare!("files", FILES;
    a_symlink_says_what_it_is,
    a_symlink_does_not_take_a_taken_name,
    a_taken_name_is_taken_by_a_link_to_nothing,
    a_symlink_is_followed_in_the_middle_of_a_path,
    a_relative_symlink_starts_where_it_lies,
    a_symlink_may_start_at_the_root_of_its_drive,
    a_chain_of_symlinks_is_followed,
    a_loop_of_symlinks_ends_in_an_error,
    sixty_three_symlinks_are_followed_and_no_more,
    a_symlink_to_nothing_exists_and_leads_nowhere,
    a_symlink_leads_to_what_its_target_is,
    a_file_symlink_does_not_lead_to_a_directory,
    a_file_symlink_to_a_link_does_not_lead_to_a_directory,
    a_listing_goes_through_a_symlink,
    an_absolute_target_is_stored_as_it_is_written,
    a_relative_target_is_stored_as_it_is_written,
    a_share_is_stored_with_its_trailing_backslash,
);

fn a_symlink_says_what_it_is(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.symlink("d", "elsewhere", LinkKind::Directory)?;
    sandbox.symlink("f", "elsewhere", LinkKind::File)?;
    for (name, is_directory) in [("d", true), ("f", false)] {
        let entry = sandbox.entry(name)?;
        same("tag", &entry.tag, &Some(ReparseTag::SYMLINK))?;
        same("is_directory", &entry.is_directory(), &is_directory)?;
        let is_link = entry.attributes.contains(FileAttributes::REPARSE_POINT);
        holds("it is a reparse point", is_link)?;
    }
    Ok(())
}

fn a_symlink_does_not_take_a_taken_name(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("directory")?;
    sandbox.file("file")?;
    for name in ["directory", "File"] {
        let made = sandbox
            .files
            .create_symlink(&sandbox.at(name), "elsewhere", LinkKind::File);
        refused("create_symlink", made, Win32::ALREADY_EXISTS)?;
    }
    Ok(())
}

fn a_taken_name_is_taken_by_a_link_to_nothing(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let link = sandbox.symlink("link", "missing", LinkKind::Directory)?;
    let made = sandbox.files.create_directory(&link);
    refused("create_directory", made, Win32::ALREADY_EXISTS)?;
    let made = sandbox.files.create_symlink(&link, "other", LinkKind::File);
    refused("create_symlink", made, Win32::ALREADY_EXISTS)
}

fn a_symlink_is_followed_in_the_middle_of_a_path(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.symlink("link", &sandbox.text("real"), LinkKind::Directory)?;
    sandbox.directory(r"link\inner")?;
    sandbox.file(r"link\inner\f")?;
    same(
        "content",
        &sandbox.read(r"real\inner\f")?,
        &r"link\inner\f".to_owned(),
    )
}

fn a_relative_symlink_starts_where_it_lies(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("a")?;
    sandbox.directory(r"a\b")?;
    sandbox.directory("c")?;
    sandbox.file(r"c\f")?;
    sandbox.symlink(r"a\b\up", r"..\..\c", LinkKind::Directory)?;
    sandbox.symlink(r"a\beside", r".\b", LinkKind::Directory)?;
    same("content", &sandbox.read(r"a\b\up\f")?, &r"c\f".to_owned())?;
    same(
        "content",
        &sandbox.read(r"a\beside\up\f")?,
        &r"c\f".to_owned(),
    )
}

fn a_symlink_may_start_at_the_root_of_its_drive(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.file(r"real\f")?;
    let text = sandbox.text("real");
    let without_drive = text.get(2..).unwrap_or_default();
    sandbox.symlink("link", without_drive, LinkKind::Directory)?;
    same("content", &sandbox.read(r"link\f")?, &r"real\f".to_owned())
}

fn a_chain_of_symlinks_is_followed(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.file(r"real\f")?;
    sandbox.symlink("one", "real", LinkKind::Directory)?;
    sandbox.symlink("two", &sandbox.text("one"), LinkKind::Directory)?;
    sandbox.symlink("three", "TWO", LinkKind::Directory)?;
    same("content", &sandbox.read(r"three\f")?, &r"real\f".to_owned())
}

fn a_loop_of_symlinks_ends_in_an_error(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let one = sandbox.symlink("one", "two", LinkKind::Directory)?;
    sandbox.symlink("two", "one", LinkKind::Directory)?;
    let led = sandbox.files.leads_to_directory(&one);
    refused("leads_to_directory", led, Win32::CANT_RESOLVE_FILENAME)?;
    let entry = sandbox.files.entry(&sandbox.at(r"one\f"));
    refused("entry", entry, Win32::CANT_RESOLVE_FILENAME)?;
    sandbox.entry("one").map(drop)
}

fn sixty_three_symlinks_are_followed_and_no_more(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("0")?;
    for number in 1..=64 {
        sandbox.symlink(
            &number.to_string(),
            &(number - 1).to_string(),
            LinkKind::Directory,
        )?;
    }
    holds(
        "63 are followed",
        sandbox.files.leads_to_directory(&sandbox.at("63"))?,
    )?;
    let led = sandbox.files.leads_to_directory(&sandbox.at("64"));
    refused("leads_to_directory", led, Win32::CANT_RESOLVE_FILENAME)
}

fn a_symlink_to_nothing_exists_and_leads_nowhere(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let link = sandbox.symlink("link", "missing", LinkKind::Directory)?;
    sandbox.entry("link")?;
    let led = sandbox.files.leads_to_directory(&link);
    refused("leads_to_directory", led, Win32::FILE_NOT_FOUND)?;
    let below = sandbox.files.entry(&sandbox.at(r"link\f"));
    refused("entry", below, Win32::PATH_NOT_FOUND)
}

fn a_symlink_leads_to_what_its_target_is(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("directory")?;
    sandbox.file("file")?;
    let directory = sandbox.symlink("d", "directory", LinkKind::Directory)?;
    let file = sandbox.symlink("f", "file", LinkKind::File)?;
    holds("a directory", sandbox.files.leads_to_directory(&directory)?)?;
    holds("a file", !sandbox.files.leads_to_directory(&file)?)
}

/// So since Windows 10 version 1803: git-for-windows/git#1646.
fn a_file_symlink_does_not_lead_to_a_directory(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("directory")?;
    let link = sandbox.symlink("link", "directory", LinkKind::File)?;
    let led = sandbox.files.leads_to_directory(&link);
    refused("leads_to_directory", led, Win32::ACCESS_DENIED)?;
    let listed = sandbox.files.list(&link);
    refused("list", listed, Win32::ACCESS_DENIED)
}

/// golang/go#28432.
fn a_file_symlink_to_a_link_does_not_lead_to_a_directory(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("directory")?;
    sandbox.symlink("link", "directory", LinkKind::Directory)?;
    let linked = sandbox.symlink("linked", "link", LinkKind::File)?;
    let led = sandbox.files.leads_to_directory(&linked);
    refused("leads_to_directory", led, Win32::ACCESS_DENIED)
}

fn a_listing_goes_through_a_symlink(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("real")?;
    sandbox.file(r"real\f")?;
    let link = sandbox.symlink("link", "real", LinkKind::Directory)?;
    same("names", &sandbox.names(&link)?, &vec!["f".to_owned()])
}

fn an_absolute_target_is_stored_as_it_is_written(fixture: &Fixture) -> CaseResult {
    let target = r"C:\var\lib\kubelet";
    stored(
        fixture,
        target,
        &format!(r"\??\{target}"),
        SymlinkBase::Absolute,
    )
}

fn a_relative_target_is_stored_as_it_is_written(fixture: &Fixture) -> CaseResult {
    stored(fixture, r"..\b c", r"..\b c", SymlinkBase::Relative)
}

/// containerd cannot evaluate the link without it: kubernetes/kubernetes#94213.
fn a_share_is_stored_with_its_trailing_backslash(fixture: &Fixture) -> CaseResult {
    let target = r"\\server\share\sub\";
    let substitute = r"\??\UNC\server\share\sub\";
    stored(fixture, target, substitute, SymlinkBase::Absolute)
}

fn stored(fixture: &Fixture, target: &str, substitute: &str, wanted: SymlinkBase) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let link = sandbox.symlink("link", target, LinkKind::Directory)?;
    let data = sandbox.files.reparse_data(&link)?;
    let parsed = Reparse::parse(&data).map_err(Failure::unexpected)?;
    let Reparse::Symlink { names, base } = parsed else {
        return Err(Failure::Wrong(format!("no symbolic link: {parsed:?}")));
    };
    same("print name", &names.print, &target.to_owned())?;
    same("substitute name", &names.substitute, &substitute.to_owned())?;
    same("base", &base, &wanted)
}
