//! The path of a disk's device interface, `MSFT_Disk.Path`.
//!
//! Windows writes it as bus, make, instance and interface between number signs. The last part of the
//! instance has two digits each for SCSI path, target and logical unit, with a sample:
//! <https://github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3632>. No sample with a number of two digits was
//! seen: where decimal and hexadecimal differ, both are possible, and `IOCTL_SCSI_GET_ADDRESS` of the disk may tell.
//!
//! The logical unit of an NVMe disk is its namespace's number less one, as was added to Microsoft's page on NVMe
//! drives (<https://github.com/MicrosoftDocs/win32/pull/1093>, where a reviewer calls it a detail that may change).
//! That fits the sample, which is Azure's LUN 0: that is namespace 2
//! (<https://github.com/Azure/azure-vm-utils/pull/11>) at unit 1, though the sample's author calls the unit itself
//! the namespace. Nobody has held it against hardware for us.

/// How the make of an NVMe disk begins.
const NVME: &str = "disk&ven_nvme";

/// The digits before the two of the logical unit: path and target, which an NVMe disk does not have.
const NO_TARGET: &str = "0000";

/// The numbers of the NVMe namespace (NSID) that a disk may be: none of other disks, two where its unit reads as a
/// hexadecimal number and as another decimal one, hexadecimal first.
#[must_use]
pub fn namespaces(path: &str) -> Vec<u32> {
    let path = path.to_ascii_lowercase();
    let unit = unit(&path).unwrap_or_default();
    let readings = [16, 10].map(|radix| u32::from_str_radix(unit, radix).ok());
    let mut units: Vec<_> = readings.into_iter().flatten().collect();
    units.dedup();
    units.into_iter().map(|unit| unit + 1).collect()
}

/// The two digits of an NVMe disk's logical unit.
fn unit(path: &str) -> Option<&str> {
    let mut parts = path.split('#').skip(1);
    let (make, instance) = (parts.next()?, parts.next()?);
    let (_, place) = instance
        .rsplit_once('&')
        .filter(|_| make.starts_with(NVME))?;
    let unit = place.strip_prefix(NO_TARGET)?;
    let is_unit = unit.len() == 2 && unit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_unit.then_some(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(place: &str) -> Vec<u32> {
        namespaces(&format!(
            r"\\?\scsi#disk&ven_nvme&prod_msft_nvme_accele#6&ca10229&0&{place}#{{53f56307-b6bf-11d0-94f2-00a0c91efb8b}}"
        ))
    }

    #[test]
    fn a_namespace_is_one_more_than_the_last_number_of_the_instance() {
        assert_eq!(of("000000"), [1]);
        assert_eq!(of("000001"), [2], "LUN 0 of Azure");
        assert_eq!(of("000009"), [10]);
        assert_eq!(of("00000a"), [11]);
        assert_eq!(of("00000F"), [16]);
        assert_eq!(of("0000fF"), [256]);
    }

    #[test]
    fn what_reads_two_ways_is_either() {
        assert_eq!(of("000010"), [17, 11]);
        assert_eq!(of("000099"), [154, 100]);
    }

    #[test]
    fn what_is_no_unit_alone_is_none() {
        for place in ["001001", "010001", "00001", "0000001", "00000g", "0000+1"] {
            assert_eq!(of(place), [0; 0], "{place}");
        }
    }

    #[test]
    fn other_disks_have_none() {
        let scsi = r"\\?\scsi#disk&ven_msft&prod_virtual_disk#5&1&0&000001#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}";
        for path in [
            scsi,
            "",
            "#",
            "#disk&ven_nvme",
            "#disk&ven_nvme#",
            "#disk&ven_nvme#000001",
        ] {
            assert_eq!(namespaces(path), [0; 0], "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = namespaces(&text);
        }
    }
}
