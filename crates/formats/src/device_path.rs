//! The path of a disk's device interface, `MSFT_Disk.Path`.
//!
//! Windows writes it as bus, make, instance and interface between number signs. The last part of the
//! instance has two digits each for SCSI path, target and logical unit, with a sample:
//! <https://github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3632>. No sample with a number of two digits was
//! seen: where decimal and hexadecimal differ, it is not known.
//!
//! The logical unit of an NVMe disk is its namespace's number less one, as was added to Microsoft's page on NVMe
//! drives (<https://github.com/MicrosoftDocs/win32/pull/1093>, where a reviewer calls it a detail that may change).
//! That fits the sample, which is Azure's LUN 0: that is namespace 2
//! (<https://github.com/Azure/azure-vm-utils/pull/11>) at unit 1, though the sample's author calls the unit itself
//! the namespace. Nobody has held it against hardware for us.

/// How the make of an NVMe disk begins.
const NVME: &str = "disk&ven_nvme";

/// The digits of path, target and logical unit.
const DIGITS: usize = 6;

/// The number of the NVMe namespace (NSID) that a disk is; none of other disks, and where the path leaves
/// it open.
#[must_use]
pub fn namespace(path: &str) -> Option<u32> {
    let path = path.to_ascii_lowercase();
    let mut parts = path.split('#').skip(1);
    let (make, instance) = (parts.next()?, parts.next()?);
    if !make.starts_with(NVME) {
        return None;
    }
    let (_, place) = instance.rsplit_once('&')?;
    if place.len() != DIGITS || !place.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(place, 16).ok()?;
    let as_decimal = place.parse::<u32>().ok();
    let is_certain = as_decimal.is_none_or(|decimal| decimal == number);
    let unit = Some(number).filter(|number| is_certain && *number <= 0xff);
    unit.map(|unit| unit + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(place: &str) -> Option<u32> {
        namespace(&format!(
            r"\\?\scsi#disk&ven_nvme&prod_msft_nvme_accele#6&ca10229&0&{place}#{{53f56307-b6bf-11d0-94f2-00a0c91efb8b}}"
        ))
    }

    #[test]
    fn a_namespace_is_one_more_than_the_last_number_of_the_instance() {
        assert_eq!(of("000000"), Some(1));
        assert_eq!(of("000001"), Some(2), "LUN 0 of Azure");
        assert_eq!(of("000009"), Some(10));
        assert_eq!(of("00000a"), Some(11));
        assert_eq!(of("00000F"), Some(16));
    }

    #[test]
    fn what_reads_two_ways_or_none_is_not_known() {
        for place in [
            "000010", "000099", "001001", "010001", "00001", "0000001", "00000g",
        ] {
            assert_eq!(of(place), None, "{place}");
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
            assert_eq!(namespace(path), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = namespace(&text);
        }
    }
}
