use std::mem;

use zeroize::Zeroizing;

use crate::operations::MappingRequest;
use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    v1alpha1(registry);
    v1beta1(registry);
    v1beta2(registry);
    v1(registry);
}

/// All versions have the same requests. csi-proxy never fills the error field in the answers of v1alpha1 and v1beta1.
macro_rules! version {
    ($version:ident) => {
        fn $version(registry: &mut Registry) {
            use wire::smb::$version::*;
            registry.on::<rpc::NewSmbGlobalMapping>(|proxy, mut request, deadline| {
                let password = Zeroizing::new(mem::take(&mut request.password));
                let mapping = MappingRequest {
                    remote_path: &request.remote_path,
                    local_path: &request.local_path,
                    username: &request.username,
                    password,
                };
                proxy.map_share(mapping, deadline)?;
                Ok(NewSmbGlobalMappingResponse::default())
            });
            registry.on::<rpc::RemoveSmbGlobalMapping>(|proxy, request, deadline| {
                proxy.unmap_share(&request.remote_path, deadline)?;
                Ok(RemoveSmbGlobalMappingResponse::default())
            });
        }
    };
}

version!(v1alpha1);
version!(v1beta1);
version!(v1beta2);
version!(v1);
