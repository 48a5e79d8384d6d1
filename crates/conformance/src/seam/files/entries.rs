//! Looking at entries, listing and creating directories.

use os::{FileAttributes, Win32, WinPath};

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::{FolderFixture, component};
use crate::{CaseResult, Failure, Fixture};

declare!("files", FILES;
    a_directory_says_that_it_is_one,
    a_file_says_how_long_it_is,
    a_read_only_file_says_so_until_it_is_cleared,
    a_missing_entry_is_file_not_found,
    a_missing_directory_above_is_path_not_found,
    a_file_is_no_directory_to_go_through,
    a_drive_that_does_not_exist_is_path_not_found,
    a_listing_has_every_entry_and_no_dots,
    a_listing_stops_where_it_is_told_to,
    a_listing_of_an_empty_directory_is_empty,
    a_listing_of_nothing_is_path_not_found,
    a_listing_of_a_file_is_an_error,
    a_new_directory_is_empty_and_writable,
    a_directory_needs_its_parent,
    a_taken_name_is_taken_by_anything,
    the_root_of_a_drive_is_a_directory,
    clearing_read_only_needs_an_entry_and_can_be_repeated,
    a_directory_leads_to_a_directory_and_a_file_does_not,
    what_is_missing_leads_nowhere,
);

fn a_directory_says_that_it_is_one(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("d")?;
    let entry = sandbox.entry("d")?;
    holds("it is a directory", entry.is_directory())?;
    same("tag", &entry.tag, &None)?;
    same("size", &entry.size, &0)
}

fn a_file_says_how_long_it_is(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.file("twelve bytes")?;
    let entry = sandbox.entry("twelve bytes")?;
    holds("it is no directory", !entry.is_directory())?;
    same("tag", &entry.tag, &None)?;
    same("size", &entry.size, &12)
}

fn a_read_only_file_says_so_until_it_is_cleared(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = sandbox.file("f")?;
    let is_read_only = || -> CaseResult<bool> {
        Ok(sandbox
            .entry("f")?
            .attributes
            .contains(FileAttributes::READ_ONLY))
    };
    holds("a new file is writable", !is_read_only()?)?;
    sandbox.hand.set_read_only(&path)?;
    holds("it is read-only then", is_read_only()?)?;
    sandbox.files.clear_read_only(&path)?;
    holds("it is writable again", !is_read_only()?)
}

fn a_missing_entry_is_file_not_found(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let missing = sandbox.at("missing");
    refused(
        "entry",
        sandbox.files.entry(&missing),
        Win32::FILE_NOT_FOUND,
    )?;
    refused(
        "reparse_data",
        sandbox.files.reparse_data(&missing),
        Win32::FILE_NOT_FOUND,
    )?;
    refused(
        "remove_file",
        sandbox.files.remove_file(&missing),
        Win32::FILE_NOT_FOUND,
    )?;
    refused(
        "remove_directory",
        sandbox.files.remove_directory(&missing),
        Win32::FILE_NOT_FOUND,
    )?;
    refused("pin", sandbox.files.pin(&missing), Win32::FILE_NOT_FOUND)
}

fn a_missing_directory_above_is_path_not_found(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    everything_is_path_not_found(&sandbox, &sandbox.at(r"missing\entry"))
}

fn a_file_is_no_directory_to_go_through(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.file("file")?;
    everything_is_path_not_found(&sandbox, &sandbox.at(r"file\entry"))
}

fn a_drive_that_does_not_exist_is_path_not_found(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let path = WinPath::parse_on_drive(r"\entry", 'Q').map_err(Failure::unexpected)?;
    everything_is_path_not_found(&sandbox, &path)
}

fn everything_is_path_not_found(sandbox: &FolderFixture<'_>, path: &WinPath) -> CaseResult {
    let files = sandbox.files;
    refused("entry", files.entry(path), Win32::PATH_NOT_FOUND)?;
    refused(
        "leads_to_directory",
        files.leads_to_directory(path),
        Win32::PATH_NOT_FOUND,
    )?;
    refused(
        "create_directory",
        files.create_directory(path),
        Win32::PATH_NOT_FOUND,
    )?;
    refused(
        "remove_directory",
        files.remove_directory(path),
        Win32::PATH_NOT_FOUND,
    )?;
    refused(
        "remove_file",
        files.remove_file(path),
        Win32::PATH_NOT_FOUND,
    )?;
    refused(
        "clear_read_only",
        files.clear_read_only(path),
        Win32::PATH_NOT_FOUND,
    )?;
    refused("pin", files.pin(path), Win32::PATH_NOT_FOUND)
}

fn a_listing_has_every_entry_and_no_dots(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    sandbox.directory(r"d\inner")?;
    sandbox.file(r"d\file")?;
    same(
        "names",
        &sandbox.names(&directory)?,
        &vec!["file".to_owned(), "inner".to_owned()],
    )?;
    for listed in sandbox.files.list(&directory)? {
        let path = directory.join(component(&listed.name.to_string_lossy()));
        same(
            "an entry as listed",
            &listed.entry,
            &sandbox.files.entry(&path)?,
        )?;
    }
    Ok(())
}

fn a_listing_stops_where_it_is_told_to(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    for name in [r"d\a", r"d\b", r"d\c"] {
        sandbox.file(name)?;
    }
    for most in 0..5 {
        let listed = sandbox.files.list_some(&directory, most)?;
        same("entries", &listed.len(), &most.min(3))?;
    }
    let missing = sandbox.files.list_some(&sandbox.at("missing"), 1);
    refused("list_some", missing, Win32::PATH_NOT_FOUND)
}

fn a_listing_of_an_empty_directory_is_empty(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    same("names", &sandbox.names(&directory)?, &vec![])
}

fn a_listing_of_nothing_is_path_not_found(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let listed = sandbox.files.list(&sandbox.at("missing"));
    refused("list", listed, Win32::PATH_NOT_FOUND)
}

fn a_listing_of_a_file_is_an_error(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let file = sandbox.file("f")?;
    refused("list", sandbox.files.list(&file), Win32::DIRECTORY)
}

fn a_new_directory_is_empty_and_writable(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("d")?;
    sandbox.directory(r"d\inner")?;
    sandbox.file(r"d\inner\f")?;
    same(
        "content",
        &sandbox.read(r"d\inner\f")?,
        &r"d\inner\f".to_owned(),
    )
}

fn a_directory_needs_its_parent(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let made = sandbox.files.create_directory(&sandbox.at(r"d\inner"));
    refused("create_directory", made, Win32::PATH_NOT_FOUND)?;
    refused(
        "entry",
        sandbox.files.entry(&sandbox.at("d")),
        Win32::FILE_NOT_FOUND,
    )
}

fn a_taken_name_is_taken_by_anything(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("directory")?;
    sandbox.file("file")?;
    for name in ["directory", "file", "FILE"] {
        let made = sandbox.files.create_directory(&sandbox.at(name));
        refused("create_directory", made, Win32::ALREADY_EXISTS)?;
    }
    same("content", &sandbox.read("file")?, &"file".to_owned())
}

fn the_root_of_a_drive_is_a_directory(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let root = sandbox.hand.folder().prefix(0);
    holds(
        "it is a directory",
        sandbox.files.entry(&root)?.is_directory(),
    )?;
    holds("it leads to one", sandbox.files.leads_to_directory(&root)?)?;
    let listed = sandbox.files.list(&root)?;
    holds("its listing is not empty", !listed.is_empty())
}

fn clearing_read_only_needs_an_entry_and_can_be_repeated(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let cleared = sandbox.files.clear_read_only(&sandbox.at("missing"));
    refused("clear_read_only", cleared, Win32::FILE_NOT_FOUND)?;
    for path in [sandbox.file("f")?, sandbox.directory("d")?] {
        sandbox.files.clear_read_only(&path)?;
        sandbox.files.clear_read_only(&path)?;
    }
    Ok(())
}

fn a_directory_leads_to_a_directory_and_a_file_does_not(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    let file = sandbox.file("f")?;
    holds(
        "a directory does",
        sandbox.files.leads_to_directory(&directory)?,
    )?;
    holds("a file does not", !sandbox.files.leads_to_directory(&file)?)
}

fn what_is_missing_leads_nowhere(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let led = sandbox.files.leads_to_directory(&sandbox.at("missing"));
    refused("leads_to_directory", led, Win32::FILE_NOT_FOUND)
}
