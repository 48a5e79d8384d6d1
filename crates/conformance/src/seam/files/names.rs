//! Equal names, and names that Win32 alone could not make.

use os::WinPath;

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::{FolderFixture, component};
use crate::{CaseResult, Fixture};

declare!("files", FILES;
    names_compare_without_regard_to_case,
    names_beyond_ascii_compare_without_regard_to_case,
    names_that_differ_in_more_than_case_are_two_names,
    a_name_keeps_the_case_that_it_was_given,
    odd_names_are_kept_as_they_are,
    names_that_win32_would_change_are_reached_as_they_are,
    a_path_may_be_longer_than_max_path,
    a_name_that_is_too_long_is_refused,
);

fn names_compare_without_regard_to_case(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory("Kubelet")?;
    sandbox.file(r"KUBELET\File.TXT")?;
    holds(
        "the directory is found",
        sandbox.entry("kubelet")?.is_directory(),
    )?;
    same("size", &sandbox.entry(r"kubELet\fILE.txt")?.size, &16)?;
    sandbox
        .files
        .remove_file(&sandbox.at(r"kubelet\file.txt"))?;
    sandbox.files.remove_directory(&sandbox.at("KUBELET"))?;
    Ok(())
}

fn names_beyond_ascii_compare_without_regard_to_case(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.file("\u{c4}rger \u{416}")?;
    same("size", &sandbox.entry("\u{e4}RGER \u{436}")?.size, &9)
}

fn names_that_differ_in_more_than_case_are_two_names(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.file("name")?;
    let others = ["nam", "name2", "n\u{e4}me", "name "];
    for other in others {
        let entry = sandbox.files.entry(&sandbox.at(other));
        refused("entry", entry, os::Win32::FILE_NOT_FOUND)?;
    }
    Ok(())
}

fn a_name_keeps_the_case_that_it_was_given(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    sandbox.file(r"d\MixedCase")?;
    sandbox.file(r"D\mixedcase")?;
    same(
        "names",
        &sandbox.names(&directory)?,
        &vec!["MixedCase".to_owned()],
    )?;
    same(
        "content",
        &sandbox.read(r"d\MixedCase")?,
        &r"D\mixedcase".to_owned(),
    )
}

fn odd_names_are_kept_as_they_are(fixture: &Fixture) -> CaseResult {
    let names = [
        " leading blank",
        "$dollar",
        ".hidden",
        "a b  c",
        "kubernetes.io~csi",
        "na\u{ef}ve",
        "pvc-#%&'()+,;=@[]^`{}~",
        "\u{65e5}\u{672c}\u{8a9e}",
        "\u{1f4be}",
    ];
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    for name in names {
        sandbox.file(&format!(r"d\{name}"))?;
    }
    let mut sorted = names.map(str::to_owned).to_vec();
    sorted.sort();
    same("names", &sandbox.names(&directory)?, &sorted)?;
    remove_all_listed(&sandbox, &directory)
}

fn names_that_win32_would_change_are_reached_as_they_are(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let directory = sandbox.directory("d")?;
    sandbox.directory(r"d\dot.")?;
    sandbox.directory(r"d\blank ")?;
    sandbox.file(r"d\nul")?;
    let names = ["blank ", "dot.", "nul"].map(str::to_owned).to_vec();
    same("names", &sandbox.names(&directory)?, &names)?;
    let plain = sandbox.files.entry(&sandbox.at(r"d\dot"));
    refused("entry", plain, os::Win32::FILE_NOT_FOUND)?;
    remove_all_listed(&sandbox, &directory)
}

fn remove_all_listed(sandbox: &FolderFixture<'_>, directory: &WinPath) -> CaseResult {
    for listed in sandbox.files.list(directory)? {
        let path = directory.join(component(&listed.name.to_string_lossy()));
        if listed.entry.is_directory() {
            sandbox.files.remove_directory(&path)?;
        } else {
            sandbox.files.remove_file(&path)?;
        }
    }
    same("names", &sandbox.names(directory)?, &vec![])
}

fn a_path_may_be_longer_than_max_path(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let step = "x".repeat(60);
    let mut path = sandbox.hand.folder().clone();
    for _ in 0..8 {
        path = path.join(component(&step));
        sandbox.files.create_directory(&path)?;
    }
    holds(
        "it is a directory",
        sandbox.files.entry(&path)?.is_directory(),
    )?;
    same("names", &sandbox.names(&path)?, &vec![])
}

fn a_name_that_is_too_long_is_refused(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.directory(&"y".repeat(255))?;
    let made = sandbox
        .files
        .create_directory(&sandbox.at(&"y".repeat(256)));
    refused("create_directory", made, os::Win32::INVALID_NAME)
}
