//! The types of the generated table.

use std::fmt;

use prost::Message;

use crate::Version;

/// One gRPC service: a group of csi-proxy's API in one version, with a pipe of its own, or a service of CSI, of
/// kubelet's registration or of a driver's lifecycle.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Group {
    /// Name within the pipe's name, such as `disk`; `csi` of CSI's services.
    pub name: &'static str,
    /// Version within the pipe's name, such as `v1`.
    pub version: Version,
    /// Protobuf package. csi-proxy names it after the version alone, so groups share it.
    pub package: &'static str,
    /// Service within the package, such as `Disk`.
    pub service: &'static str,
    /// The service's RPCs, in the order of the .proto file.
    pub methods: &'static [Method],
    /// An encoded `google.protobuf.FileDescriptorSet` of the .proto file and its imports, without comments.
    pub descriptor_set: &'static [u8],
}

impl Group {
    /// Of a group of csi-proxy's: name of the pipe behind `\\.\pipe\`, such as `csi-proxy-disk-v1`. Elsewhere than on Windows both
    /// sides give it to a socket.
    pub fn pipe_name(&self) -> String {
        format!("csi-proxy-{}-{}", self.name, self.version)
    }

    /// The RPC with this name, if this version has it.
    pub fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods.iter().find(|method| method.name == name)
    }
}

/// `disk/v1`
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.version)
    }
}

/// `Group(disk/v1)`: the rest follows from these two.
impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group({self})")
    }
}

/// One RPC. All of them are unary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Method {
    /// Name within the service, such as `PartitionDisk`.
    pub name: &'static str,
    /// Protobuf name of the request, within the package.
    pub request: &'static str,
    /// Protobuf name of the response, within the package.
    pub response: &'static str,
    /// The HTTP/2 `:path` of a call, such as `/v1.Disk/PartitionDisk`.
    pub path: &'static str,
}

/// An RPC as a type, so servers and clients can be generic over it.
///
/// ```
/// use wincsi_wire::{Rpc, disk};
///
/// fn request<R: Rpc>(request: &R::Request) -> (&'static str, Vec<u8>) {
///     (R::PATH, prost::Message::encode_to_vec(request))
/// }
///
/// let (path, body) =
///     request::<disk::v1::rpc::PartitionDisk>(&disk::v1::PartitionDiskRequest { disk_number: 2 });
/// assert_eq!(path, "/v1.Disk/PartitionDisk");
/// assert_eq!(body, [0x08, 2]);
/// ```
pub trait Rpc: 'static {
    /// The group and version it belongs to.
    const GROUP: &'static Group;
    /// Its row in [`Group::methods`].
    const METHOD: &'static Method;
    /// Version of its group.
    const VERSION: Version = Self::GROUP.version;
    /// The HTTP/2 `:path` of a call.
    const PATH: &'static str = Self::METHOD.path;
    /// The client's message.
    type Request: Message + Default + Clone + PartialEq + fmt::Debug + 'static;
    /// The server's message.
    type Response: Message + Default + Clone + PartialEq + fmt::Debug + 'static;

    /// The passwords and secrets in a request.
    fn secrets(_request: &Self::Request) -> Vec<&str> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GROUPS, volume};

    #[test]
    fn pipe_names_are_those_that_clients_open() {
        assert_eq!(crate::disk::v1::GROUP.pipe_name(), "csi-proxy-disk-v1");
        assert_eq!(
            volume::v2alpha1::GROUP.pipe_name(),
            "csi-proxy-volume-v2alpha1"
        );
    }

    #[test]
    fn groups_come_in_registration_order_and_versions_ascend() {
        let mut names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
        names.dedup();
        assert_eq!(
            names,
            ["filesystem", "disk", "volume", "smb", "system", "iscsi"]
        );
        for versions in GROUPS.chunk_by(|one, next| one.name == next.name) {
            assert!(
                versions.is_sorted_by_key(|group| group.version),
                "{versions:?}"
            );
        }
    }

    #[test]
    fn methods_are_found_by_name_in_their_own_version() {
        let name = "GetClosestVolumeIDFromTargetPath";
        let method = volume::v2alpha1::GROUP.method(name).unwrap();
        assert_eq!(
            method.path,
            "/v2alpha1.Volume/GetClosestVolumeIDFromTargetPath"
        );
        assert_eq!(volume::v1::GROUP.method(name), None);
    }

    #[test]
    fn rpc_types_point_at_their_own_row() {
        type MountLookup = volume::v1beta1::rpc::GetVolumeIdFromMount;
        assert_eq!(MountLookup::PATH, "/v1beta1.Volume/GetVolumeIDFromMount");
        assert_eq!(MountLookup::METHOD.request, "VolumeIDFromMountRequest");
        assert_eq!(MountLookup::GROUP, &volume::v1beta1::GROUP);
        assert_eq!(MountLookup::VERSION.to_string(), "v1beta1");
    }
}
