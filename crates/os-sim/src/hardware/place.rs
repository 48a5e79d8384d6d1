//! Windows's text for the location of a disk.
//!
//! `formats::fixtures::field` has the texts of real machines.

use super::disk::{Address, Bus, DiskSpec, PciFunction};

/// `MSFT_Disk.Location`. Sources: samples of `Get-Disk` in kubernetes-sigs/azuredisk-csi-driver
/// issue 2661 (SCSI) and pull request 3632 (NVMe, where there is no LUN), and of Hyper-V (ATA).
pub(crate) fn location(spec: &DiskSpec, name: &str) -> String {
    if let Some(location) = &spec.location {
        return location.clone();
    }
    let Address {
        adapter,
        port,
        target,
        lun,
    } = spec.address;
    let PciFunction {
        bus,
        device,
        function,
    } = spec.pci.unwrap_or(usual_function(spec.bus));
    let controller = format!(
        "Integrated : Bus {bus} : Device {device} : Function {function} : Adapter {adapter}"
    );
    match spec.bus {
        Bus::Ata => {
            format!("PCI Slot {port} : Adapter {adapter} : Channel {port} : Device {target}")
        }
        Bus::Nvme => controller,
        Bus::Vhd => format!(r"C:\ProgramData\vhd\{name}.vhdx"),
        _ => format!("{controller} : Port {port} : Target {target} : LUN {lun}"),
    }
}

/// Azure's.
fn usual_function(bus: Bus) -> PciFunction {
    let [bus, device, function] = match bus {
        Bus::Nvme => [12_606_208, 0, 0],
        _ => [0, 63_667, 30_747],
    };
    PciFunction {
        bus,
        device,
        function,
    }
}

/// The device interface path, `\\?\scsi#disk&ven_...#{...}`; its last number is the logical unit, of an NVMe
/// disk its namespace's number less one. Source: as [`location`], and
/// <https://github.com/MicrosoftDocs/win32/pull/1093>.
pub(crate) fn path(spec: &DiskSpec, name: &str) -> String {
    let Address {
        port, target, lun, ..
    } = spec.address;
    let (make, place) = match spec.bus {
        _ if spec.multipath => (scsi_make(spec).replace("scsi#", "mpio#"), String::from("0")),
        Bus::Ata => (ata_make(spec), format!("0&{port}.{target}.{lun}")),
        _ => (scsi_make(spec), format!("{port}&00{target:02x}{lun:02x}")),
    };
    let depth = spec.depth.unwrap_or(USUAL_DEPTH);
    let slot = fingerprint(name) & 0x0fff_ffff;
    format!(r"\\?\{make}#{depth}&{slot:x}&{place}#{DISK_INTERFACE}")
}

const USUAL_DEPTH: u8 = 5;

/// Model and revision, each filled up to the length of its field.
fn ata_make(spec: &DiskSpec) -> String {
    let model = device_word(spec.product.as_deref(), 40);
    let revision = device_word(spec.revision.as_deref(), 8);
    format!("ide#disk{model:_<40}{revision:_<8}")
}

fn scsi_make(spec: &DiskSpec) -> String {
    let vendor = match spec.bus {
        Bus::Nvme => "nvme".to_owned(),
        _ => device_word(spec.vendor.as_deref(), 8),
    };
    let product = device_word(spec.product.as_deref(), 16);
    format!("scsi#disk&ven_{vendor}&prod_{product}")
}

/// `GUID_DEVINTERFACE_DISK`.
const DISK_INTERFACE: &str = "{53f56307-b6bf-11d0-94f2-00a0c91efb8b}";

fn device_word(text: Option<&str>, longest: usize) -> String {
    let word = text.unwrap_or_default().trim().to_lowercase();
    word.replace(' ', "_").chars().take(longest).collect()
}

/// FNV-1a: the same number for the same name in every process.
pub(crate) fn fingerprint(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use formats::location::Location;

    use super::{location, path};
    use crate::hardware::{Bus, DiskSpec};

    #[test]
    fn locations_look_like_those_of_real_nodes() {
        assert_eq!(
            location(&DiskSpec::on(Bus::Sas).lun(3), "a"),
            "Integrated : Bus 0 : Device 63667 : Function 30747 : Adapter 1 : Port 0 : Target 0 : LUN 3"
        );
        assert_eq!(
            location(&DiskSpec::on(Bus::Nvme), "a"),
            "Integrated : Bus 12606208 : Device 0 : Function 0 : Adapter 0"
        );
        // A disk in a file has the file's path, which is no location that a driver could use.
        let file = location(&DiskSpec::on(Bus::Vhd), "a");
        assert_eq!(file, r"C:\ProgramData\vhd\a.vhdx");
        assert!(Location::parse(&file).is_err());
    }

    #[test]
    fn device_paths_differ_by_disk_and_look_real() {
        let spec = DiskSpec::on(Bus::Sas).lun(1);
        let first = path(&spec, "data1");
        assert!(
            first.starts_with(r"\\?\scsi#disk&ven_msft&prod_virtual_disk#5&"),
            "{first}"
        );
        assert!(
            first.ends_with("&0&000001#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}"),
            "{first}"
        );
        assert_ne!(first, path(&spec, "data2"));
        let spec = DiskSpec {
            multipath: true,
            ..spec
        };
        let claimed = path(&spec, "data1");
        assert!(claimed.starts_with(r"\\?\mpio#disk&ven_msft"), "{claimed}");
    }
}
