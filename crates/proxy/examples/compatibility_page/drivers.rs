//! The drivers played call by call, and requests that csi-proxy accepts and this server refuses.

/// The drivers, each a script in `crates/proxy/tests/drivers/scripts`, but vSphere's is a file beside them.
pub(crate) const DRIVERS: &str = "
## Drivers
`crates/proxy/tests/drivers` plays the calls of these drivers' sources on the simulated node: each call twice, restarts
between calls, the driver killed at each call, and a reboot. None needs a flag beyond csi-proxy's.

- over the pipes: csi-driver-smb (95c6968), azurefile (7b5ae18), azuredisk (d983d61), gce-pd (b560165), aws-ebs (v1.64.0),
  democratic-csi (8a4a28a). A HostProcess mode of theirs needs no csi-proxy
- vSphere (bf80902), in HostProcess containers alone, with csi-proxy's library: played on our library and over the pipes
- NetApp Trident: logs an error, as it queries the volume of a share
- a fork of Longhorn: its FormatVolume with `refs` makes NTFS, as in csi-proxy. It never rescans: the provider has to
  notice disks
- local static provisioner: folders anywhere on the node's drives. `-format-guard=strict` refuses to wipe a released
  volume

The last three's versions were not recorded.
";

/// Requests of no known driver.
pub(crate) const STRICTER: &str = "
## What csi-proxy takes and this server does not
No driver that we know does this; yours may. Each is an error:

- NewSmbGlobalMapping of a share mapped as another user, in [one case](#volumes-of-one-share-with-accounts-of-their-own)
- UnmountVolume with the id of a volume not mounted there
- RmdirContents of a link or mounted folder, and the removal of a working folder
- a disk id beyond 32 bits
- a CHAP secret of less than 12 or more than 16 bytes
- a path, also below a share, with NUL, `<`, `>`, a control character, a `.` as a name, a name with a dot or blank at its
  end, or a device's name (`con`, `aux`, `com1.x`)
- MountVolume and UnmountVolume outside of the working folders, without `-volume-dir`
- a look-up on another machine
- a link out of a working folder, without [another `-working-dir`](service.md#kubelet-not-on-c)
- GetDiskNumberByName, and each change, of a disk that Windows runs from, or a pooled, clustered or dynamic one
- PartitionDisk and FormatVolume over a known signature, such as a Linux filesystem's, without `-format-guard=off`;
  FormatVolume also over a mounted filesystem, unless it is [released](../SECURITY.md#formats)

The environment variable `WMI_COM_SECURITY`, which switches COM's security off, has no effect. Texts of errors not
listed below are our own.
";

/// Tests that ran on simulated files alone, even under Wine, each with its subject: Wine makes no symbolic links and
/// has no mounted folders. `cargo xtask test` names the Go tests affected by this.
pub(crate) const ON_SIMULATED_FILES: &[(&str, &str)] = &[
    ("filesystem.CreateSymlink", ""),
    ("filesystem.IsSymlink", "of a link"),
    ("volume.MountVolume", ""),
    ("volume.UnmountVolume", ""),
    ("volume.GetVolumeIDFromTargetPath", "of a mounted folder"),
    (
        "volume.GetClosestVolumeIDFromTargetPath",
        "of a mounted folder",
    ),
    ("smb.NewSmbGlobalMapping", "with a local path"),
];
