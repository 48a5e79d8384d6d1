//! Which drivers of the field are played call by call, and what csi-proxy takes that is refused here.

/// The drivers, each a file in `crates/proxy/tests/drivers`.
pub(crate) const DRIVERS: &str = "
## Drivers
Tests in `crates/proxy/tests/drivers` play each of these drivers call by call, with its own paths, against the simulated
node. The calls are read in the drivers' sources; none of the drivers itself has run against this server on Windows.
The tests play

- a whole life of a volume with each call made twice (`lives::whole_life`),
- restarts between calls (`lives::the_driver_restarts_between_calls`, `lives::a_volumes_life_survives_proxy_restarts`),
- the driver killed at each of its calls (`lives::the_driver_is_killed_at_each_call`),
- a reboot of the node.

| driver | groups | flags that csi-proxy does not need | played in |
|---|---|---|---|
| csi-driver-smb | filesystem, smb | none | `csi_driver_smb` |
| azurefile | filesystem, smb | none | `azurefile` |
| azuredisk | filesystem, disk, volume | none | `azuredisk` |
| gce-pd | filesystem, disk, volume | none | `gce_pd` |
| aws-ebs | filesystem, disk, volume | none | `aws_ebs` |
| vSphere | all, by the library in a HostProcess container | none | `vsphere` |
| democratic-csi | all | none | `democratic_csi` |
| NetApp Trident | filesystem, smb; volume for statistics | none. It queries the volume of a share, and logs the error (`trident::a_share_has_no_volume_and_is_not_asked_for_one`); csi-proxy's answer is not known | `trident` |
| a fork of Longhorn for Windows | filesystem, disk, volume v2alpha1, iscsi v1alpha2 | none. The server ignores a field of its own in FormatVolume, the filesystem, as csi-proxy does: `refs` becomes NTFS (`longhorn::the_filesystem_that_it_asks_for_is_ntfs_whatever_it_says`). It never rescans: it relies on the storage provider to notice a disk by itself, late, as the simulated one does | `longhorn` |
| local static provisioner | filesystem, volume, of folders outside of the kubelet's | none to find volumes (`local_static_provisioner::local_volumes_are_found_without_a_flag_for_their_folder`): look-ups go anywhere on the node's own drives; none to wipe a released one (`local_static_provisioner::a_released_volume_is_wiped_and_found_again`), which `-format-guard=strict` refuses | `local_static_provisioner` |
";

/// What no driver that is known to us does.
pub(crate) const STRICTER: &str = "
## What csi-proxy takes and this server does not
None of these breaks a driver that we know; one of your own may break.

| call | csi-proxy | here | tested by |
|---|---|---|---|
| NewSmbGlobalMapping of a share that this process mapped as another user, whom the server denies access | renews the mapping | an error, see [above](#volumes-of-one-share-with-accounts-of-their-own) | `smb::a_denied_folder_does_not_unmap_the_share` |
| UnmountVolume with the id of another volume than the mounted one | unmounts | an error | `mounts::only_the_volume_that_is_mounted_is_unmounted` |
| a CHAP secret of less than 12 or more than 16 bytes | passes it to Windows | an error | `chap::weakness_38_a_secret_has_twelve_to_sixteen_bytes` |
| a path with NUL, `<`, `>`, a control character, a `.` as a name, a name that ends in a dot or a blank, or a device's name (`con`, `aux`, `com1.x`), also below a share | passes it to Windows | an error | `path::what_windows_would_change_is_refused`, `forms::no_evil_text_is_taken_by_any_call` |
| MountVolume and UnmountVolume outside of the working folders | does it | an error without `-volume-dir` | `lookups::a_volume_dir_is_for_mount_and_unmount_only` |
| a look-up on another machine | does it | an error | `lookups::a_lookup_opens_no_remote_path` |
| a link below a working folder that leads out of it | follows it | an error without another `-working-dir`, see [service.md](service.md#kubelet-not-on-c) | `links::a_link_in_the_middle_leads_no_call_out` |
| GetDiskNumberByName of a disk that Windows runs from | returns its number | not found | |
| the environment variable `WMI_COM_SECURITY` | switches COM's security off | has no effect | |
| the text of an error without a row under [Texts](#texts-that-drivers-look-for) | its own | ours | |
";
