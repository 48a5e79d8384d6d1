//! Folders and links, and their targets.

use super::{Play, below, declare};
use crate::failure::{holds, same};
use crate::{CaseResult, NodeFixture};

declare!("paths";
    a_mounted_folder_is_removed_and_the_volume_keeps_its_files,
    a_tree_is_removed_and_the_volume_mounted_in_it_keeps_its_files,
    a_link_is_removed_and_what_it_leads_to_stays,
);

const TEXT: &[u8] = b"to be found again";

/// As azuredisk does when it unstages.
fn a_mounted_folder_is_removed_and_the_volume_keeps_its_files(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    files_outlive(fixture, "target", "target")
}

fn a_tree_is_removed_and_the_volume_mounted_in_it_keeps_its_files(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    Play::on(fixture).directory("tree")?;
    files_outlive(fixture, r"tree\target", "tree")
}

/// Mounts a volume, removes the tree, and mounts the volume elsewhere.
fn files_outlive(fixture: &dyn NodeFixture, target: &str, tree: &str) -> CaseResult {
    let play = Play::on(fixture);
    let (_, volume) = play.formatted()?;
    let mut folder = fixture.folder().clone();
    for name in target.split('\\') {
        folder = below(&folder, name)?;
    }
    let filesystem = play.node.filesystem();
    filesystem.make_directory(&folder, play.deadline())?;
    let volumes = play.node.volumes();
    volumes.mount(&volume, &folder, play.deadline())?;
    fixture.write_file(&below(&folder, "kept")?, TEXT)?;
    let tree = play.at(tree)?;
    filesystem.remove_tree(&tree, play.deadline())?;
    let exists = filesystem.path_exists(&tree, play.deadline())?;
    holds("the tree is gone", !exists)?;
    let elsewhere = play.directory("elsewhere")?;
    volumes.mount(&volume, &elsewhere, play.deadline())?;
    let content = fixture.read_file(&below(&elsewhere, "kept")?)?;
    same("content", &content, &TEXT.to_vec())
}

fn a_link_is_removed_and_what_it_leads_to_stays(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let real = play.directory("real")?;
    let file = below(&real, "kept")?;
    fixture.write_file(&file, TEXT)?;
    let link = play.at("link")?;
    let filesystem = play.node.filesystem();
    filesystem.create_symlink(&real, &link, play.deadline())?;
    holds(
        "it is a link",
        filesystem.is_symlink(&link, play.deadline())?,
    )?;
    let through = fixture.read_file(&below(&link, "kept")?)?;
    same("content through the link", &through, &TEXT.to_vec())?;
    filesystem.remove_tree(&link, play.deadline())?;
    let exists = filesystem.path_exists(&link, play.deadline())?;
    holds("the link is gone", !exists)?;
    same("content", &fixture.read_file(&file)?, &TEXT.to_vec())
}
