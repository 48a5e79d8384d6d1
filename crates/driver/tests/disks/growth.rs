//! Growth by less than csi-proxy's pipes grow a volume by, and within one deadline.

use std::time::Duration;

use transport::Code;

use crate::fixture::{Fixture, GIB, STAGING, TARGET};

const MIB: u64 = 1 << 20;

#[test]
fn a_volume_grows_by_one_mib_while_a_pod_has_it() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish(TARGET).unwrap();
    let before = fixture.stats(TARGET).unwrap().total;
    for (mib, at) in [(1, TARGET), (53, STAGING)] {
        let length = 2 * GIB + mib * MIB;
        fixture.grow(length);
        for _ in 0..2 {
            assert_eq!(fixture.expand(at, length).unwrap(), before + mib * MIB);
        }
        assert_eq!(fixture.stats(TARGET).unwrap().total, before + mib * MIB);
    }
}

#[test]
fn a_volume_whose_disk_grew_by_one_mib_grows_when_it_is_staged() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let before = fixture.stats(STAGING).unwrap().total;
    fixture.unstage().unwrap();
    fixture.grow(2 * GIB + MIB);
    fixture.stage().unwrap();
    assert_eq!(fixture.stats(STAGING).unwrap().total, before + MIB);
}

/// Each step would end in time alone.
#[test]
fn an_expand_of_slow_steps_has_one_deadline() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    let length = 2 * GIB + MIB;
    fixture.grow(length);
    for step in [
        "GetFileAttributesExW",
        "MSFT_StorageSetting.UpdateHostStorageCache",
    ] {
        fixture.delay_once(step, Duration::from_secs(60));
    }
    let error = fixture.expand(STAGING, length).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
    fixture.expand(STAGING, length).unwrap();
}
