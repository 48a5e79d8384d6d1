//! Which drivers of the field are played call by call, and what csi-proxy takes that is refused here.

/// The drivers, each a file in `crates/proxy/tests/drivers`.
pub(crate) const DRIVERS: &str = "
## Drivers
Each of these is played call by call, with its own paths, in `crates/proxy/tests/drivers` against the simulated node: a
whole life of a volume with each call made twice (`lives::whole_life`), with restarts between calls
(`lives::the_driver_restarts_between_calls`, `lives::csi_proxy_restarts_between_calls`), killed at each of its calls
(`lives::the_driver_is_killed_at_each_call`), and over a reboot of the node. Their calls are read in their sources; none of them
itself has run against this server on Windows.

| driver | groups | flags that csi-proxy does not need | played in |
|---|---|---|---|
| csi-driver-smb | filesystem, smb | none | `csi_driver_smb` |
| azurefile | filesystem, smb | none | `azurefile` |
| azuredisk | filesystem, disk, volume | none | `azuredisk` |
| gce-pd | filesystem, disk, volume | none | `gce_pd` |
| aws-ebs | filesystem, disk, volume | none | `aws_ebs` |
| vSphere | all, by the library in a HostProcess container | none | `vsphere` |
| democratic-csi | all | none | `democratic_csi` |
| NetApp Trident | filesystem, smb; volume for statistics | none. It asks for the volume of a share, which is an error that it logs (`trident::a_share_has_no_volume_and_is_not_asked_for_one`); what csi-proxy answers is not known | `trident` |
| a fork of Longhorn for Windows | filesystem, disk, volume v2alpha1, iscsi v1alpha2 | none. A field of its own in FormatVolume, the filesystem, is dropped as csi-proxy drops it: `refs` becomes NTFS (`longhorn::the_filesystem_that_it_asks_for_is_ntfs_whatever_it_says`). It never rescans, and counts on the storage provider's noticing a disk by itself, late, as the simulated one does | `longhorn` |
| local static provisioner | filesystem, volume, of folders outside of the kubelet's | none to find volumes (`local_static_provisioner::local_volumes_are_found_without_a_flag_for_their_folder`): look-ups go anywhere on the node's own drives; none to wipe a released one (`local_static_provisioner::a_released_volume_is_wiped_and_found_again`), which `-format-guard=strict` refuses | `local_static_provisioner` |
";

/// What no driver that is known to us does.
pub(crate) const STRICTER: &str = "
## What csi-proxy takes and this server does not
No driver that is known to us is hurt by these; one of your own may be.

| call | csi-proxy | here | tested by |
|---|---|---|---|
| NewSmbGlobalMapping of a share that is known to be mapped as another user, who is refused access | maps it anew | an error, see above | `smb::a_folder_that_is_denied_to_the_user_of_a_mapping_cuts_that_user_not_off` |
| UnmountVolume with the id of another volume than the mounted one | unmounts | an error | `mounts::only_the_volume_that_is_mounted_is_unmounted` |
| a CHAP secret that has not 12 to 16 bytes | asks Windows | an error | `chap::weakness_38_a_secret_has_twelve_to_sixteen_bytes` |
| a path with NUL, `<`, `>`, a control character, a `.` as a name, a name that ends in a dot or a blank, or a device's name (`con`, `aux`, `com1.x`), also below a share | asks Windows | an error | `path::what_windows_would_change_is_refused`, `forms::no_evil_text_is_taken_by_any_call` |
| MountVolume and UnmountVolume outside of the working folders | goes on | an error without `-volume-dir` | `lookups::a_volume_dir_is_for_mount_and_unmount_only` |
| a look-up on another machine | goes on | an error | `lookups::nothing_is_opened_for_what_is_not_local` |
| a link below a working folder that leads out of it | followed | an error without another `-working-dir`, see [service.md](service.md#kubelet-not-on-c) | `links::a_link_in_the_middle_leads_no_call_out` |
| GetDiskNumberByName of a disk that Windows runs from | its number | not found | |
| the environment variable `WMI_COM_SECURITY` | switches COM's security off | has no effect | |
| the text of an error without a row under [Texts](#texts-that-drivers-look-for) | its own | ours | |
";
