//! Access control lists of directories.

use os::{Dacl, Win32, WinPath};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused};
use crate::seam::folder_fixture::FolderFixture;
use crate::{CaseResult, Fixture};

declare!("files", FILES;
    a_directory_has_an_access_control_list,
    a_list_that_is_set_is_told_with_its_rights,
    a_list_that_keeps_others_out_names_nobody_else,
    a_list_is_set_as_often_as_one_likes,
    only_a_plain_directory_takes_a_list,
    nothing_takes_no_list,
    a_directory_with_a_list_is_found_empty_and_removed,
);

/// Everybody may do everything, so a case can remove its own entries.
const EVERYBODY: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;WD)";

fn dacl(text: &str) -> Dacl {
    text.parse().expect("cases spell lists that parse")
}

/// Lets everybody in, and reads the list back: a system may only claim to set it.
fn opened(sandbox: &FolderFixture<'_>, path: &WinPath) -> CaseResult<String> {
    let before = sandbox.files.dacl(path)?;
    sandbox.files.set_dacl(path, &dacl(EVERYBODY))?;
    let now = sandbox.files.dacl(path)?;
    holds("everybody has an entry", now.contains(";;;WD)"))?;
    holds("it is another list than before", now != before)?;
    Ok(now)
}

fn a_directory_has_an_access_control_list(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let found = sandbox.files.dacl(&sandbox.directory("d")?)?;
    holds("it begins with D:", found.starts_with("D:"))?;
    holds("it has an entry", found.contains("(A;"))
}

fn a_list_that_is_set_is_told_with_its_rights(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    sandbox.files.set_dacl(&path, &dacl(EVERYBODY))?;
    let found = sandbox.files.dacl(&path)?;
    holds("everybody may do everything", found.contains(";FA;;;WD)"))?;
    holds("so may the system", found.contains("(A;OICI;FA;;;SY)"))
}

fn a_list_that_keeps_others_out_names_nobody_else(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    sandbox.files.set_dacl(&path, &dacl(EVERYBODY))?;
    let found = sandbox.files.dacl(&path)?;
    holds("it is protected", found.starts_with("D:P"))?;
    holds("it has two entries", found.matches('(').count() == 2)
}

fn a_list_is_set_as_often_as_one_likes(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    let once = opened(&sandbox, &path)?;
    let other = dacl("D:P(A;OICI;FA;;;WD)(A;OICI;FR;;;BU)");
    sandbox.files.set_dacl(&path, &other)?;
    sandbox.files.set_dacl(&path, &dacl(EVERYBODY))?;
    let again = sandbox.files.dacl(&path)?;
    holds("the last one counts", !again.contains(";;;BU)"))?;
    holds("again is as once", again == once)
}

fn only_a_plain_directory_takes_a_list(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.file("f")?;
    let set = sandbox.files.set_dacl(&path, &dacl(EVERYBODY));
    refused("set_dacl", set, Win32::DIRECTORY)?;
    refused("dacl", sandbox.files.dacl(&path), Win32::DIRECTORY)
}

fn nothing_takes_no_list(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.at("missing");
    let set = sandbox.files.set_dacl(&path, &dacl(EVERYBODY));
    refused("set_dacl", set, Win32::FILE_NOT_FOUND)?;
    refused("dacl", sandbox.files.dacl(&path), Win32::FILE_NOT_FOUND)
}

fn a_directory_with_a_list_is_found_empty_and_removed(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.directory("d")?;
    opened(&sandbox, &path)?;
    holds("it is empty", sandbox.files.list(&path)?.is_empty())?;
    sandbox.files.remove_directory(&path)?;
    let gone = sandbox.files.dacl(&path);
    refused("dacl", gone, Win32::FILE_NOT_FOUND)
}
