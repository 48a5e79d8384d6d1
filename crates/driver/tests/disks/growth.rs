//! Growth by less than csi-proxy's pipes grow a volume by.

use transport::Code;
use wincsi_driver::volume::disk::ExpandError;

use crate::fixture::{Fixture, GIB, STAGING, TARGET};

const MIB: u64 = 1 << 20;

#[test]
fn a_volume_grows_by_one_mib_while_a_pod_has_it() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let before = fixture.stats(TARGET).unwrap().usage.total;
    for (mib, at) in [(1, TARGET), (53, STAGING)] {
        let length = 2 * GIB + mib * MIB;
        fixture.grow(length);
        for _ in 0..2 {
            assert_eq!(fixture.expand(at, length).unwrap(), before + mib * MIB);
        }
        assert_eq!(
            fixture.stats(TARGET).unwrap().usage.total,
            before + mib * MIB
        );
    }
}

#[test]
fn a_volume_whose_disk_grew_by_one_mib_grows_when_it_is_staged() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let before = fixture.stats(STAGING).unwrap().usage.total;
    fixture.unstage().unwrap();
    fixture.grow(2 * GIB + MIB);
    fixture.stage().unwrap();
    assert_eq!(fixture.stats(STAGING).unwrap().usage.total, before + MIB);
}

/// A master boot record reaches 2 TiB, with sectors of 512 bytes.
#[test]
fn a_volume_of_an_mbr_disk_has_what_its_table_reaches_and_an_expand_to_more_says_so() {
    const TIB: u64 = 1 << 40;
    let fixture = Fixture::with_content(|disk| {
        disk[446 + 4] = 7;
        disk[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
        disk[446 + 12..446 + 16].copy_from_slice(&2_000_000_u32.to_le_bytes());
        disk[510..512].copy_from_slice(&[0x55, 0xAA]);
    });
    fixture.grow(3 * TIB);
    fixture.stage().unwrap();
    let size = fixture.stats(STAGING).unwrap().usage.total;
    assert!((2 * TIB - 8 * MIB..2 * TIB).contains(&size), "{size}");
    let error = fixture.expand(STAGING, 3 * TIB).unwrap_err();
    assert_eq!(error.code(), Code::OutOfRange, "{error}");
    assert!(matches!(error, ExpandError::NoRoom { .. }), "{error}");
    fixture.expand(STAGING, 2 * TIB).unwrap();
}
