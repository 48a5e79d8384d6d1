use node::api::{Feature, Filesystem, Result};
use node::{LinkTarget, Listing, Look};
use os::{Deadline, Space, WinPath};

use super::{lacks, path_text, unless};
use crate::Node;
use crate::dialect::dialects;

/// How much a removal removes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Entry,
    Tree,
}

impl Filesystem for Node {
    fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool> {
        let text = path_text("look at", path)?;
        let spoken = dialects![
            filesystem[v2alpha1 v1 v1beta2] PathExists: PathExistsRequest {
                path: text.clone(),
            } => |answer| Ok(answer.exists);
            filesystem[v1beta1 v1alpha1] PathExists: PathExistsRequest {
                path: text.clone(),
                context: context(path),
            } => |answer| unless(answer.error, answer.exists);
        ];
        self.look("look at", &[path], deadline, &spoken)
    }

    fn make_directory(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        let text = path_text("mkdir", path)?;
        let spoken = dialects![
            filesystem[v2alpha1 v1 v1beta2] Mkdir: MkdirRequest {
                path: text.clone(),
            } => |_| Ok(());
            filesystem[v1beta1 v1alpha1] Mkdir: MkdirRequest {
                path: text.clone(),
                context: context(path),
            } => |answer| unless(answer.error, ());
        ];
        self.change("mkdir", &[path], deadline, &spoken)
    }

    fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        remove(self, "remove", path, Extent::Entry, deadline)
    }

    fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        remove(self, "remove tree", path, Extent::Tree, deadline)
    }

    fn remove_contents(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        let text = path_text("empty", path)?;
        let spoken = dialects![
            filesystem[v2alpha1] RmdirContents: RmdirContentsRequest {
                path: text.clone(),
            } => |_| Ok(());
        ];
        self.change("empty", &[path], deadline, &spoken)
    }

    fn create_symlink(&self, source: &WinPath, link: &WinPath, deadline: Deadline) -> Result<()> {
        let source_text = path_text("symlink", source)?;
        let link_text = path_text("symlink", link)?;
        let spoken = dialects![
            filesystem[v2alpha1 v1 v1beta2] CreateSymlink: CreateSymlinkRequest {
                source_path: source_text.clone(),
                target_path: link_text.clone(),
            } => |_| Ok(());
            filesystem[v1beta1 v1alpha1] LinkPath: LinkPathRequest {
                source_path: source_text.clone(),
                target_path: link_text.clone(),
            } => |answer| unless(answer.error, ());
        ];
        self.change("symlink", &[link, source], deadline, &spoken)
    }

    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool> {
        let text = path_text("look at", path)?;
        let spoken = dialects![
            filesystem[v2alpha1 v1 v1beta2] IsSymlink: IsSymlinkRequest {
                path: text.clone(),
            } => |answer| Ok(answer.is_symlink);
            filesystem[v1beta1 v1alpha1] IsMountPoint: IsMountPointRequest {
                path: text.clone(),
            } => |answer| unless(answer.error, answer.is_mount_point);
        ];
        self.look("look at", &[path], deadline, &spoken)
    }

    fn link_directory(&self, _to: &WinPath, at: &WinPath, _deadline: Deadline) -> Result<()> {
        Err(lacks(
            "link",
            at,
            "linking directories",
            Feature::DirectoryLinks,
        ))
    }

    fn look(&self, path: &WinPath, _deadline: Deadline) -> Result<Look> {
        Err(lacks(
            "look at",
            path,
            "looking at an entry",
            Feature::EntryLooks,
        ))
    }

    fn read_link(&self, path: &WinPath, _deadline: Deadline) -> Result<Option<LinkTarget>> {
        Err(lacks(
            "read link",
            path,
            "reading a link",
            Feature::EntryLooks,
        ))
    }

    fn list(&self, directory: &WinPath, _most: usize, _deadline: Deadline) -> Result<Listing> {
        Err(lacks(
            "list",
            directory,
            "listing a directory",
            Feature::EntryLooks,
        ))
    }

    fn space(&self, directory: &WinPath, _deadline: Deadline) -> Result<Space> {
        Err(lacks(
            "look at",
            directory,
            "the space of a path",
            Feature::SpaceByPath,
        ))
    }
}

fn remove(
    node: &Node,
    operation: &'static str,
    path: &WinPath,
    extent: Extent,
    deadline: Deadline,
) -> Result<()> {
    let text = path_text(operation, path)?;
    let force = extent == Extent::Tree;
    let spoken = dialects![
        filesystem[v2alpha1 v1 v1beta2] Rmdir: RmdirRequest {
            path: text.clone(),
            force,
        } => |_| Ok(());
        filesystem[v1beta1 v1alpha1] Rmdir: RmdirRequest {
            path: text.clone(),
            context: context(path),
            force,
        } => |answer| unless(answer.error, ());
    ];
    node.change(operation, &[path], deadline, &spoken)
}

/// The first versions had two roots, the plugins' folder and the pods', and took the root as an
/// argument: `PLUGIN` is 0 and `POD` is 1.
fn context(path: &WinPath) -> i32 {
    let is_pods = |name: &os::Component| name.as_os_str().eq_ignore_ascii_case("pods");
    i32::from(path.components().iter().any(is_pods))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pods_folder_and_the_plugins_are_told_apart() {
        let of = |text: &str| context(&text.parse().unwrap());
        assert_eq!(of(r"C:\var\lib\kubelet\pods\1\volumes"), 1);
        assert_eq!(of(r"C:\var\lib\kubelet\plugins\pods-are-not-here"), 0);
    }
}
