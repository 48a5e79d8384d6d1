//! Folders and links, and what lies behind them.

use super::{Play, below, declare};
use crate::failure::{holds, same};
use crate::{Failure, Stand};

declare!("paths";
    a_mounted_folder_is_removed_and_the_volume_keeps_its_files,
    a_tree_is_removed_and_the_volume_mounted_in_it_keeps_its_files,
    a_link_is_removed_and_what_it_leads_to_stays,
);

const TEXT: &[u8] = b"to be found again";

/// As azuredisk does when it unstages.
fn a_mounted_folder_is_removed_and_the_volume_keeps_its_files(
    stand: &dyn Stand,
) -> Result<(), Failure> {
    files_outlive(stand, "target", "target")
}

fn a_tree_is_removed_and_the_volume_mounted_in_it_keeps_its_files(
    stand: &dyn Stand,
) -> Result<(), Failure> {
    Play::on(stand).directory("tree")?;
    files_outlive(stand, r"tree\target", "tree")
}

/// Mounts a volume, removes the tree, and mounts the volume elsewhere.
fn files_outlive(stand: &dyn Stand, target: &str, tree: &str) -> Result<(), Failure> {
    let play = Play::on(stand);
    let (_, volume) = play.formatted()?;
    let mut folder = stand.folder().clone();
    for name in target.split('\\') {
        folder = below(&folder, name)?;
    }
    let filesystem = play.node.filesystem();
    filesystem.make_directory(&folder, play.deadline())?;
    let volumes = play.node.volumes();
    volumes.mount(&volume, &folder, play.deadline())?;
    stand.write_file(&below(&folder, "kept")?, TEXT)?;
    let tree = play.at(tree)?;
    filesystem.remove_tree(&tree, play.deadline())?;
    let exists = filesystem.path_exists(&tree, play.deadline())?;
    holds("the tree is gone", !exists)?;
    let elsewhere = play.directory("elsewhere")?;
    volumes.mount(&volume, &elsewhere, play.deadline())?;
    let content = stand.read_file(&below(&elsewhere, "kept")?)?;
    same("content", &content, &TEXT.to_vec())
}

fn a_link_is_removed_and_what_it_leads_to_stays(stand: &dyn Stand) -> Result<(), Failure> {
    let play = Play::on(stand);
    let real = play.directory("real")?;
    let file = below(&real, "kept")?;
    stand.write_file(&file, TEXT)?;
    let link = play.at("link")?;
    let filesystem = play.node.filesystem();
    filesystem.create_symlink(&real, &link, play.deadline())?;
    holds(
        "it is a link",
        filesystem.is_symlink(&link, play.deadline())?,
    )?;
    let through = stand.read_file(&below(&link, "kept")?)?;
    same("content through the link", &through, &TEXT.to_vec())?;
    filesystem.remove_tree(&link, play.deadline())?;
    let exists = filesystem.path_exists(&link, play.deadline())?;
    holds("the link is gone", !exists)?;
    same("content", &stand.read_file(&file)?, &TEXT.to_vec())
}
