use crate::operations::Force;
use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    v1alpha1(registry);
    v1beta1(registry);
    v1beta2(registry);
    v1(registry);
    v2alpha1(registry);
    registry.on::<wire::filesystem::v2alpha1::rpc::RmdirContents>(|proxy, request, deadline| {
        proxy.rmdir_contents(&request.path, deadline)?;
        Ok(wire::filesystem::v2alpha1::RmdirContentsResponse {})
    });
}

/// v1beta2, v1 and v2alpha1 have the same messages under other packages.
macro_rules! symlink_version {
    ($version:ident) => {
        fn $version(registry: &mut Registry) {
            use wire::filesystem::$version::*;
            registry.on::<rpc::PathExists>(|proxy, request, deadline| {
                let exists = proxy.path_exists(&request.path, deadline)?;
                Ok(PathExistsResponse { exists })
            });
            registry.on::<rpc::Mkdir>(|proxy, request, deadline| {
                proxy.mkdir(&request.path, deadline)?;
                Ok(MkdirResponse {})
            });
            registry.on::<rpc::Rmdir>(|proxy, request, deadline| {
                proxy.rmdir(&request.path, Force::of(request.force), deadline)?;
                Ok(RmdirResponse {})
            });
            registry.on::<rpc::CreateSymlink>(|proxy, request, deadline| {
                proxy.link(&request.source_path, &request.target_path, deadline)?;
                Ok(CreateSymlinkResponse {})
            });
            registry.on::<rpc::IsSymlink>(|proxy, request, deadline| {
                let is_symlink = proxy.is_symlink(&request.path, deadline)?;
                Ok(IsSymlinkResponse { is_symlink })
            });
        }
    };
}

/// v1alpha1 and v1beta1 call links mount points, and have a context without meaning and an error
/// field that csi-proxy never fills.
macro_rules! link_path_version {
    ($version:ident) => {
        fn $version(registry: &mut Registry) {
            use wire::filesystem::$version::*;
            registry.on::<rpc::PathExists>(|proxy, request, deadline| {
                let exists = proxy.path_exists(&request.path, deadline)?;
                Ok(PathExistsResponse {
                    exists,
                    ..Default::default()
                })
            });
            registry.on::<rpc::Mkdir>(|proxy, request, deadline| {
                proxy.mkdir(&request.path, deadline)?;
                Ok(MkdirResponse::default())
            });
            registry.on::<rpc::Rmdir>(|proxy, request, deadline| {
                proxy.rmdir(&request.path, Force::of(request.force), deadline)?;
                Ok(RmdirResponse::default())
            });
            registry.on::<rpc::LinkPath>(|proxy, request, deadline| {
                proxy.link(&request.source_path, &request.target_path, deadline)?;
                Ok(LinkPathResponse::default())
            });
            registry.on::<rpc::IsMountPoint>(|proxy, request, deadline| {
                let is_mount_point = proxy.is_symlink(&request.path, deadline)?;
                Ok(IsMountPointResponse {
                    is_mount_point,
                    ..Default::default()
                })
            });
        }
    };
}

link_path_version!(v1alpha1);
link_path_version!(v1beta1);
symlink_version!(v1beta2);
symlink_version!(v1);
symlink_version!(v2alpha1);
