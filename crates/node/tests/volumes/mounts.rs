//! Mounting and unmounting on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Files, LinkKind, VolumeId, Win32};
use os_sim::{Bus, DiskSpec, Effect, Rule};
use uuid::Uuid;
use wincsi_node::{VolumeError, texts};

use crate::support::{DATA, GIB, Rig, path};

#[test]
fn a_volume_is_mounted_where_it_is_mounted() {
    let rig = Rig::with_mounted_volume();
    let volumes = rig.volumes();
    volumes
        .mount(rig.volume(), &rig.staging(), rig.soon())
        .unwrap();
    rig.plug(&DiskSpec::on(Bus::Sas).serial("other").lun(9), "other", GIB);
    let other = rig.disk_of("other");
    rig.disks().partition(other, rig.soon()).unwrap();
    let other = volumes.sole_on_disk(other, rig.soon()).unwrap();
    let error = volumes
        .mount(other, &rig.staging(), rig.soon())
        .unwrap_err();
    assert!(matches!(&error, VolumeError::TargetInUse { mounted, .. } if *mounted == rig.volume()));
    assert!(!error.to_string().contains(texts::PATH_IN_USE), "{error}");
    rig.filesystem()
        .make_directory(&path(r"C:\var\full\x"), rig.soon())
        .unwrap();
    let full = volumes
        .mount(rig.volume(), &path(r"C:\var\full"), rig.soon())
        .unwrap_err();
    assert!(
        full.to_string().ends_with("The directory is not empty."),
        "{full}"
    );
}

/// Windows would mount where a link leads; the simulated node refuses it, too, so that its answer proves nothing.
#[test]
fn windows_is_not_asked_to_mount_at_a_link() {
    let rig = Rig::with_volume();
    let (tree, folder) = (rig.sim.files(), path(r"C:\folder"));
    tree.create_directory(&folder).unwrap();
    let (symlink, junction) = (r"C:\symlink", r"C:\junction");
    let kind = LinkKind::Directory;
    tree.create_symlink(&path(symlink), r"C:\folder", kind)
        .unwrap();
    rig.junction(junction, r"C:\folder");
    for link in [symlink, junction] {
        let asked = rig.trace(|| {
            let mounted = rig.volumes().mount(rig.volume(), &path(link), rig.soon());
            mounted.unwrap_err();
        });
        let mounts = |op: &os_sim::Op| op.operation == "SetVolumeMountPointW";
        assert!(!asked.is_empty() && !asked.iter().any(mounts), "{asked:?}");
    }
}

#[test]
fn only_the_volume_that_is_mounted_is_unmounted() {
    let rig = Rig::with_mounted_volume();
    let volumes = rig.volumes();
    let other = VolumeId(Uuid::from_u128(1));
    let error = volumes
        .unmount(other, &rig.staging(), rig.soon())
        .unwrap_err();
    let expected = format!(
        "unmount volume {other}: volume {} is mounted at {}",
        rig.volume(),
        rig.staging()
    );
    assert_eq!(error.to_string(), expected);
    for nothing in [r"C:\var", r"C:\var\none"] {
        let error = volumes
            .unmount(rig.volume(), &path(nothing), rig.soon())
            .unwrap_err();
        assert!(error.to_string().contains(texts::NOT_MOUNTED), "{error}");
    }
    volumes
        .unmount(rig.volume(), &rig.staging(), rig.soon())
        .unwrap();
    assert_eq!(rig.precious(), "precious");
}

/// democratic-csi takes the text for "unmounted" and disconnects the target.
#[test]
fn nothing_else_reads_as_unmounted() {
    let rig = Rig::with_mounted_volume();
    let (volume, staging) = (rig.volume(), rig.staging().to_string());
    let link = |at: &str, target: &str| {
        let kind = LinkKind::Directory;
        rig.sim
            .files()
            .create_symlink(&path(at), target, kind)
            .unwrap();
    };
    link(r"C:\var\pod", &staging);
    link(r"C:\var\dangling", r"C:\nowhere");
    rig.junction(r"C:\var\junction", &staging);
    rig.write(r"C:\var\file", "");
    let refused = |at: &str| {
        let refused = rig.volumes().unmount(volume, &path(at), rig.soon());
        let text = refused.unwrap_err().to_string();
        assert!(!text.contains(texts::NOT_MOUNTED), "{at}: {text}");
    };
    for at in [
        r"C:\var\pod",
        r"C:\var\dangling",
        r"C:\var\dangling\below",
        r"C:\var\junction",
        r"C:\var\file",
    ] {
        refused(at);
    }
    for code in [Win32::ACCESS_DENIED, Win32::TIMEOUT] {
        let fault = Rule::on("GetFileAttributesExW", Effect::fail(code));
        let fault = rig.sim.faults().add(fault);
        refused(&staging);
        rig.sim.faults().remove(fault);
    }
    rig.sim.hardware().detach_disk(DATA).unwrap();
    refused(&format!(r"{staging}\below"));
}

/// Only the tag of a mount point makes a mounted folder; csi-proxy compares by bits, which those of
/// other tags share.
#[test]
fn a_reparse_point_of_another_tag_is_no_mounted_folder() {
    let rig = Rig::with_mounted_volume();
    let link = path(r"C:\var\direct");
    let target = rig.volume().to_string();
    rig.sim
        .files()
        .create_symlink(&link, &target, LinkKind::Directory)
        .unwrap();
    let volumes = rig.volumes();
    let refused = volumes.unmount(rig.volume(), &link, rig.soon());
    assert!(
        matches!(refused, Err(VolumeError::NotAMountedFolder { .. })),
        "{refused:?}"
    );
    assert!(rig.os().files.entry(&link).unwrap().tag.is_some());
}

/// Other paths of the volume stay alive, and so does the folder.
#[test]
fn one_of_two_paths_is_unmounted() {
    let rig = Rig::with_mounted_volume();
    let second = path(r"C:\var\second");
    rig.filesystem()
        .make_directory(&second, rig.soon())
        .unwrap();
    let volumes = rig.volumes();
    volumes.mount(rig.volume(), &second, rig.soon()).unwrap();
    volumes
        .unmount(rig.volume(), &rig.staging(), rig.soon())
        .unwrap();
    assert_eq!(rig.read(r"C:\var\second\data.txt"), "precious");
    assert_eq!(
        rig.filesystem().path_exists(&rig.staging(), rig.soon()),
        Ok(true)
    );
}

#[test]
fn a_volume_that_cannot_be_flushed_stays_mounted() {
    let rig = Rig::with_mounted_volume();
    let volume = rig.volume();
    rig.sim
        .faults()
        .add(Rule::on("FlushFileBuffers", Effect::fail(Win32::IO_DEVICE)));
    let error = rig
        .volumes()
        .unmount(volume, &rig.staging(), rig.soon())
        .unwrap_err();
    assert!(
        matches!(
            error,
            VolumeError::Failed {
                operation: "flush",
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        rig.volumes().of_target(&rig.staging(), rig.soon()),
        Ok(volume)
    );
}

#[test]
fn write_protection_counts_as_flushed_on_a_read_only_volume_alone() {
    let rig = Rig::with_mounted_volume();
    let volume = rig.volume();
    let protected = Rule::on("FlushFileBuffers", Effect::fail(Win32::WRITE_PROTECT));
    rig.sim.faults().add(protected);
    let volumes = rig.volumes();
    volumes
        .unmount(volume, &rig.staging(), rig.soon())
        .unwrap_err();
    rig.make_read_only();
    volumes.unmount(volume, &rig.staging(), rig.soon()).unwrap();
}

#[test]
fn a_volume_that_is_gone_is_unmounted() {
    let rig = Rig::with_mounted_volume();
    let volume = rig.volume();
    rig.sim.hardware().detach_disk(DATA).unwrap();
    rig.volumes()
        .unmount(volume, &rig.staging(), rig.soon())
        .unwrap();
    let entry = rig.os().files.entry(&rig.staging()).unwrap();
    assert_eq!(entry.tag, None);
}
