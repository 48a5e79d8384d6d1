//! Which names are one name, and names that Win32 alone could not make.

use os::WinPath;

use super::FILES;
use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::scene::{Scene, component};
use crate::{Failure, Fixture};

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

fn names_compare_without_regard_to_case(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory("Kubelet")?;
    scene.file(r"KUBELET\File.TXT")?;
    holds(
        "the directory is found",
        scene.entry("kubelet")?.is_directory(),
    )?;
    same("size", &scene.entry(r"kubELet\fILE.txt")?.size, &16)?;
    scene.files.remove_file(&scene.at(r"kubelet\file.txt"))?;
    scene.files.remove_directory(&scene.at("KUBELET"))?;
    Ok(())
}

fn names_beyond_ascii_compare_without_regard_to_case(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.file("\u{c4}rger \u{416}")?;
    same("size", &scene.entry("\u{e4}RGER \u{436}")?.size, &9)
}

fn names_that_differ_in_more_than_case_are_two_names(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.file("name")?;
    let others = ["nam", "name2", "n\u{e4}me", "name "];
    for other in others {
        let entry = scene.files.entry(&scene.at(other));
        refused("entry", entry, os::Win32::FILE_NOT_FOUND)?;
    }
    Ok(())
}

fn a_name_keeps_the_case_that_it_was_given(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let directory = scene.directory("d")?;
    scene.file(r"d\MixedCase")?;
    scene.file(r"D\mixedcase")?;
    same(
        "names",
        &scene.names(&directory)?,
        &vec!["MixedCase".to_owned()],
    )?;
    same(
        "content",
        &scene.read(r"d\MixedCase")?,
        &r"D\mixedcase".to_owned(),
    )
}

fn odd_names_are_kept_as_they_are(fixture: &Fixture) -> Result<(), Failure> {
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
    let scene = Scene::of(fixture)?;
    let directory = scene.directory("d")?;
    for name in names {
        scene.file(&format!(r"d\{name}"))?;
    }
    let mut sorted = names.map(str::to_owned).to_vec();
    sorted.sort();
    same("names", &scene.names(&directory)?, &sorted)?;
    remove_all_listed(&scene, &directory)
}

fn names_that_win32_would_change_are_reached_as_they_are(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let directory = scene.directory("d")?;
    scene.directory(r"d\dot.")?;
    scene.directory(r"d\blank ")?;
    scene.file(r"d\nul")?;
    let names = ["blank ", "dot.", "nul"].map(str::to_owned).to_vec();
    same("names", &scene.names(&directory)?, &names)?;
    let plain = scene.files.entry(&scene.at(r"d\dot"));
    refused("entry", plain, os::Win32::FILE_NOT_FOUND)?;
    remove_all_listed(&scene, &directory)
}

fn remove_all_listed(scene: &Scene<'_>, directory: &WinPath) -> Result<(), Failure> {
    for listed in scene.files.list(directory)? {
        let path = directory.join(component(&listed.name.to_string_lossy()));
        if listed.entry.is_directory() {
            scene.files.remove_directory(&path)?;
        } else {
            scene.files.remove_file(&path)?;
        }
    }
    same("names", &scene.names(directory)?, &vec![])
}

fn a_path_may_be_longer_than_max_path(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    let step = "x".repeat(60);
    let mut path = scene.hand.folder().clone();
    for _ in 0..8 {
        path = path.join(component(&step));
        scene.files.create_directory(&path)?;
    }
    holds(
        "it is a directory",
        scene.files.entry(&path)?.is_directory(),
    )?;
    same("names", &scene.names(&path)?, &vec![])
}

fn a_name_that_is_too_long_is_refused(fixture: &Fixture) -> Result<(), Failure> {
    let scene = Scene::of(fixture)?;
    scene.directory(&"y".repeat(255))?;
    let made = scene.files.create_directory(&scene.at(&"y".repeat(256)));
    refused("create_directory", made, os::Win32::INVALID_NAME)
}
