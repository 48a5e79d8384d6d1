//! A volume on several disks, which are dynamic ones.

use std::fs;
use std::time::Duration;

use os::VolumeId;
use os_sim::{Arrives, Bus, DiskSpec, IdentifierKind, VolumeExtent};

use super::NodeFixture;

/// The names of the disks, which are their serial numbers as well.
pub(crate) const SPANNED: [&str; 2] = ["span1", "span2"];

/// How long each of them is.
pub(crate) const LENGTH: u64 = 64 << 20;

/// The initial partition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Gpt,
    Mbr,
}

impl NodeFixture {
    /// Plugs in two blank disks, which both views have.
    pub(crate) fn plug_spannable(&self, style: Style) {
        self.plug_spannable_that(Arrives::Online, style);
    }

    /// Likewise, and they come up like this.
    pub(crate) fn plug_spannable_that(&self, arrives: Arrives, style: Style) {
        for (number, name) in (1..).zip(SPANNED) {
            let spec = DiskSpec::on(Bus::Sas).serial(name).lun(20 + number);
            let spec = spec.identified(IdentifierKind::Vendor, name);
            let spec = spec.arriving(arrives);
            self.attach(name, &spec, LENGTH);
            if style == Style::Mbr {
                self.overwrite(name, 440, &[number]);
                self.overwrite(name, 510, &[0x55, 0xAA]);
            }
        }
        self.rescan();
    }

    /// Has an operator lay a volume on the disks, of which the storage provider does not know yet.
    pub(crate) fn span(&self) -> VolumeId {
        self.span_over(&SPANNED)
    }

    /// Likewise on these.
    pub(crate) fn span_over(&self, disks: &[&str]) -> VolumeId {
        let volume = self.hardware().span_disks(disks).unwrap();
        self.wait_for_volumes();
        volume
    }

    /// A spanned volume, and a storage provider that has left its disks out.
    pub(crate) fn add_spanned(&self) -> VolumeId {
        self.plug_spannable(Style::Gpt);
        let volume = self.span();
        self.rescan();
        volume
    }

    /// [`NodeFixture::add_spanned`], mounted at a folder.
    pub(crate) fn add_spanned_at(&self, folder: &str) -> VolumeId {
        let volume = self.add_spanned();
        self.mount_spanned(volume, folder);
        volume
    }

    /// Mounts it at a new folder.
    pub(crate) fn mount_spanned(&self, volume: VolumeId, folder: &str) {
        self.mount_volume(volume, folder);
    }

    /// Writes which parts of volumes are on the first of the disks.
    pub(crate) fn divide_first(&self, extents: Vec<VolumeExtent>) {
        self.change_disk(SPANNED[0], |spec| spec.extent = extents);
        self.wait_for_volumes();
    }

    /// All bytes of the disks.
    pub(crate) fn spanned_bytes(&self) -> Vec<Vec<u8>> {
        let disks = self.folder().join("disks");
        let image = |name: &str| fs::read(disks.join(format!("{name}.img"))).unwrap();
        SPANNED.map(image).into()
    }

    fn wait_for_volumes(&self) {
        let _ = self.os().volumes.list().unwrap();
        self.let_pass(Duration::from_secs(1));
    }
}
