use std::mem;

use wire::smb::v1::*;
use zeroize::Zeroizing;

use crate::operations::MappingRequest;
use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    registry.on::<rpc::NewSmbGlobalMapping>(|proxy, mut request, deadline| {
        let password = Zeroizing::new(mem::take(&mut request.password));
        let mapping = MappingRequest {
            remote_path: &request.remote_path,
            local_path: &request.local_path,
            username: &request.username,
            password,
        };
        proxy.map_share(mapping, deadline)?;
        Ok(NewSmbGlobalMappingResponse {})
    });
    registry.on::<rpc::RemoveSmbGlobalMapping>(|proxy, request, deadline| {
        proxy.unmap_share(&request.remote_path, deadline)?;
        Ok(RemoveSmbGlobalMappingResponse {})
    });
}
