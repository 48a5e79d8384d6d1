//! Leaks of calls.

use std::collections::BTreeSet;
use std::thread;

use os::schema::disk;
use os::{Deadline, Provider};
use os_sim::{ClockMode, Inventory, NodeSpec, SimNode};
use wincsi_os_windows_testkit::{Blanket, OutParameters};

use crate::provider_fixture::{ProviderFixture, THREADS, TIMEOUT};

#[test]
fn callers_at_once_share_a_few_connections() {
    let fixture = ProviderFixture::new();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    fixture.refresh().expect("a query and a method");
                }
            });
        }
    });
    let made = fixture.wmi.connections();
    assert!(made <= THREADS, "{made}");
}

#[test]
fn one_caller_needs_one_connection() {
    let fixture = ProviderFixture::new();
    for _ in 0..100 {
        fixture.refresh().expect("a query and a method");
    }
    assert_eq!(fixture.wmi.connections(), 1);
}

#[test]
fn nothing_is_held_when_the_provider_is_gone() {
    let fixture = ProviderFixture::new();
    fixture.refresh().expect("a query and a method");
    assert!(fixture.wmi.objects() > 0);
    let ProviderFixture { native, wmi, .. } = fixture;
    drop(native);
    assert!(wmi.wait_for_objects(0, TIMEOUT), "{}", wmi.objects());
}

/// `RPC_C_AUTHN_LEVEL_PKT_PRIVACY` and `RPC_C_IMP_LEVEL_IMPERSONATE`, of the interfaces used for calls and of no other.
/// Guards: P46
#[test]
fn each_proxy_is_asked_to_encrypt_and_to_let_the_provider_impersonate() {
    let fixture = ProviderFixture::new();
    fixture.refresh().expect("a query and a method");
    let of = ["IEnumWbemClassObject", "IWbemCallResult", "IWbemServices"];
    assert_eq!(blankets(&fixture), of.map(protected));
}

#[test]
fn the_call_for_a_definition_is_protected_as_well() {
    let spec = NodeSpec::default();
    let node = SimNode::in_memory(&spec, Inventory::of(0), ClockMode::Virtual).expect("a node");
    let fixture = ProviderFixture::over(node.os(), OutParameters::Result, node);
    let (class, method) = (disk::CLASS.name, disk::REFRESH.name);
    let known = fixture.native.parameters(class, method, Deadline::NEVER);
    assert_eq!(known, Ok(BTreeSet::new()));
    let of = ["IWbemCallResult", "IWbemServices"];
    assert_eq!(blankets(&fixture), of.map(protected));
}

fn protected(of: &'static str) -> Blanket {
    Blanket {
        of,
        authentication: 6,
        impersonation: 3,
    }
}

fn blankets(fixture: &ProviderFixture) -> Vec<Blanket> {
    let mut blankets = fixture.wmi.blankets();
    blankets.sort_by_key(|it| it.of);
    blankets
}
