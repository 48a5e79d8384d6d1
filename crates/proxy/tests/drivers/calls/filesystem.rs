use wire::filesystem::v1beta1::PathContext;

use super::{Answer, Api, Pipes, ask};

/// Whether a removal takes everything below as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    No,
    Yes,
}

impl Pipes {
    pub(crate) fn path_exists(&self, path: &str) -> Answer<bool> {
        Ok(match self.api {
            Api::V1 => ask!(self, filesystem::v1::PathExists(PathExistsRequest { path })).exists,
            Api::Fallback(_) => {
                ask!(
                    self,
                    filesystem::v1beta1::PathExists(PathExistsRequest {
                        path,
                        context: context(path),
                    })
                )
                .exists
            }
        })
    }

    pub(crate) fn mkdir(&self, path: &str) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(self, filesystem::v1::Mkdir(MkdirRequest { path }))),
            Api::Fallback(_) => drop(ask!(
                self,
                filesystem::v1beta1::Mkdir(MkdirRequest {
                    path,
                    context: context(path),
                })
            )),
        }
        Ok(())
    }

    pub(crate) fn rmdir(&self, path: &str, force: Force) -> Answer<()> {
        let force = force == Force::Yes;
        match self.api {
            Api::V1 => drop(ask!(
                self,
                filesystem::v1::Rmdir(RmdirRequest { path, force })
            )),
            Api::Fallback(_) => drop(ask!(
                self,
                filesystem::v1beta1::Rmdir(RmdirRequest {
                    path,
                    context: context(path),
                    force,
                })
            )),
        }
        Ok(())
    }

    /// `source` exists already, `target` is the new link.
    pub(crate) fn create_symlink(&self, source: &str, target: &str) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                filesystem::v1::CreateSymlink(CreateSymlinkRequest {
                    source_path: source,
                    target_path: target,
                })
            )),
            Api::Fallback(_) => drop(ask!(
                self,
                filesystem::v1beta1::LinkPath(LinkPathRequest {
                    source_path: source,
                    target_path: target,
                })
            )),
        }
        Ok(())
    }

    pub(crate) fn is_symlink(&self, path: &str) -> Answer<bool> {
        Ok(match self.api {
            Api::V1 => ask!(self, filesystem::v1::IsSymlink(IsSymlinkRequest { path })).is_symlink,
            Api::Fallback(_) => {
                ask!(
                    self,
                    filesystem::v1beta1::IsMountPoint(IsMountPointRequest { path })
                )
                .is_mount_point
            }
        })
    }
}

fn context(path: &str) -> PathContext {
    if path.contains(r"\pods\") {
        PathContext::Pod
    } else {
        PathContext::Plugin
    }
}
