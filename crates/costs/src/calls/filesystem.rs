use anyhow::Result;
use wire::filesystem::v2alpha1::*;
use wire::volume::v2alpha1 as volume;

use crate::Sample;
use crate::Scenario;
use crate::Stage;
use crate::stage::MOUNTED;

const BY_NAME: &str = "files by Win32 alone";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("filesystem.PathExists", exists)
        .when("a folder")
        .by("4", "lstat by name"),
    Scenario::of("filesystem.PathExists", is_missing)
        .when("nothing there")
        .by("4", "lstat by name"),
    Scenario::of("filesystem.Mkdir", make)
        .when("not there")
        .by("4", BY_NAME),
    Scenario::of("filesystem.Mkdir", make_again)
        .when("there already")
        .by("4", BY_NAME),
    Scenario::of("filesystem.Rmdir", remove)
        .when("an empty folder")
        .by("4", BY_NAME),
    Scenario::of("filesystem.Rmdir", remove_tree)
        .when("force, one folder inside")
        .opening(2)
        .by("4", "recursive delete: a list of each folder"),
    Scenario::of("filesystem.Rmdir", remove_mounted)
        .when("force, a mounted folder")
        .by("4", "RemoveDirectory at the first attempt"),
    Scenario::of("filesystem.Rmdir", remove_link)
        .when("force, a link")
        .by("4", "RemoveDirectory at the first attempt"),
    Scenario::of("filesystem.Rmdir", remove_nothing)
        .when("force, nothing there")
        .by("4", BY_NAME),
    Scenario::of("filesystem.RmdirContents", remove_contents)
        .when("one folder inside")
        .opening(2)
        .by("4", "opens the folder; recursive delete of each child"),
    Scenario::of("filesystem.CreateSymlink", link)
        .by("4", "stat of the source, CreateSymbolicLink"),
    Scenario::of("filesystem.IsSymlink", is_mount)
        .when("a mounted folder")
        .opening(2)
        .by(
            "4, 6.9",
            "FindFirstFile for the tag, readlink opens the link",
        ),
    Scenario::of("filesystem.IsSymlink", is_link)
        .when("a link to a mounted folder")
        .opening(2)
        .by(
            "4, 6.9",
            "FindFirstFile for the tag, readlink opens the link",
        ),
    Scenario::of("filesystem.IsSymlink", is_plain)
        .when("a plain folder")
        .by("4", "lstat by name; no reparse bit"),
];

fn exists(stage: &Stage) -> Result<Sample> {
    let path = MOUNTED.to_owned();
    stage.measured::<rpc::PathExists>(&PathExistsRequest { path })
}

fn is_missing(stage: &Stage) -> Result<Sample> {
    let path = stage.free_path();
    stage.measured::<rpc::PathExists>(&PathExistsRequest { path })
}

fn make(stage: &Stage) -> Result<Sample> {
    let path = stage.free_path();
    let sample = stage.measured::<rpc::Mkdir>(&MkdirRequest { path: path.clone() })?;
    stage.clear(path)?;
    Ok(sample)
}

fn make_again(stage: &Stage) -> Result<Sample> {
    let path = MOUNTED.to_owned();
    stage.measured::<rpc::Mkdir>(&MkdirRequest { path })
}

fn remove(stage: &Stage) -> Result<Sample> {
    let path = stage.folder()?;
    stage.measured::<rpc::Rmdir>(&RmdirRequest { path, force: false })
}

fn remove_tree(stage: &Stage) -> Result<Sample> {
    let path = folder_with_one_inside(stage)?;
    stage.measured::<rpc::Rmdir>(&RmdirRequest { path, force: true })
}

fn remove_mounted(stage: &Stage) -> Result<Sample> {
    let path = stage.folder()?;
    stage.call::<volume::rpc::MountVolume>(&volume::MountVolumeRequest {
        volume_id: stage.volume().volume.clone(),
        target_path: path.clone(),
    })?;
    stage.measured::<rpc::Rmdir>(&RmdirRequest { path, force: true })
}

fn remove_link(stage: &Stage) -> Result<Sample> {
    let path = stage.link()?;
    stage.measured::<rpc::Rmdir>(&RmdirRequest { path, force: true })
}

fn remove_nothing(stage: &Stage) -> Result<Sample> {
    let path = stage.free_path();
    stage.measured::<rpc::Rmdir>(&RmdirRequest { path, force: true })
}

fn remove_contents(stage: &Stage) -> Result<Sample> {
    let path = folder_with_one_inside(stage)?;
    let request = RmdirContentsRequest { path: path.clone() };
    let sample = stage.measured::<rpc::RmdirContents>(&request)?;
    stage.clear(path)?;
    Ok(sample)
}

fn link(stage: &Stage) -> Result<Sample> {
    let target_path = stage.free_path();
    let sample = stage.measured::<rpc::CreateSymlink>(&CreateSymlinkRequest {
        source_path: MOUNTED.to_owned(),
        target_path: target_path.clone(),
    })?;
    stage.clear(target_path)?;
    Ok(sample)
}

fn is_mount(stage: &Stage) -> Result<Sample> {
    let path = MOUNTED.to_owned();
    stage.measured::<rpc::IsSymlink>(&IsSymlinkRequest { path })
}

fn is_link(stage: &Stage) -> Result<Sample> {
    let path = stage.link()?;
    let sample = stage.measured::<rpc::IsSymlink>(&IsSymlinkRequest { path: path.clone() })?;
    stage.clear(path)?;
    Ok(sample)
}

fn is_plain(stage: &Stage) -> Result<Sample> {
    let path = stage.folder()?;
    let sample = stage.measured::<rpc::IsSymlink>(&IsSymlinkRequest { path: path.clone() })?;
    stage.clear(path)?;
    Ok(sample)
}

fn folder_with_one_inside(stage: &Stage) -> Result<String> {
    let path = stage.folder()?;
    stage.call::<rpc::Mkdir>(&MkdirRequest {
        path: format!(r"{path}\inside"),
    })?;
    Ok(path)
}
