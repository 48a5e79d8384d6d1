//! The group system.

use os_sim::{NodeSpec, Start};
use wire::system::v1alpha1::*;

use crate::initiator_and_services::fixture::{SERIAL, proxy, proxy_of, spec};
use crate::support::Proxy;

fn status(fixture: &Proxy, name: &str) -> ServiceStatus {
    let name = name.to_owned();
    let service = fixture.answer::<rpc::GetService>(&GetServiceRequest { name });
    service.status()
}

fn start(name: &str) -> StartServiceRequest {
    let name = name.to_owned();
    StartServiceRequest { name }
}

fn stop(name: &str, force: bool) -> StopServiceRequest {
    let name = name.to_owned();
    StopServiceRequest { name, force }
}

/// Guards: P42
#[test]
fn weakness_37_the_serial_number_is_trimmed() {
    let fixture = proxy();
    let request = GetBiosSerialNumberRequest {};
    let answer = fixture.answer::<rpc::GetBiosSerialNumber>(&request);
    assert_eq!(answer.serial_number, SERIAL);
}

#[test]
fn a_blank_serial_number_is_an_error() {
    let spec = NodeSpec {
        serial: "  ".to_owned(),
        ..spec()
    };
    let fixture = proxy_of(&spec);
    let text = fixture.complaint::<rpc::GetBiosSerialNumber>(&GetBiosSerialNumberRequest {});
    assert_eq!(
        text,
        "failed to get the BIOS serial number: the firmware gives none"
    );
}

#[test]
fn a_service_is_reported_started_and_stopped() {
    let fixture = proxy();
    let request = GetServiceRequest {
        name: "DEFRAGSVC".to_owned(),
    };
    let service = fixture.answer::<rpc::GetService>(&request);
    assert_eq!(service.display_name, "Optimize drives");
    assert_eq!(service.start_type(), StartType::Manual);
    assert_eq!(service.status(), ServiceStatus::Stopped);
    fixture.answer::<rpc::StopService>(&stop("defragsvc", false));
    fixture.answer::<rpc::StartService>(&start("defragsvc"));
    fixture.answer::<rpc::StartService>(&start("defragsvc"));
    assert_eq!(status(&fixture, "defragsvc"), ServiceStatus::Running);
    fixture.answer::<rpc::StopService>(&stop("defragsvc", false));
    assert_eq!(status(&fixture, "defragsvc"), ServiceStatus::Stopped);
}

#[test]
fn each_start_type_has_its_own_number() {
    let starts = [
        (Start::Boot, StartType::Boot),
        (Start::System, StartType::System),
        (Start::Automatic, StartType::Automatic),
        (Start::Manual, StartType::Manual),
        (Start::Disabled, StartType::Disabled),
    ];
    let mut spec = spec();
    let vds = spec.service.iter().find(|service| service.name == "vds");
    let vds = vds.expect("a usual service").clone();
    for (at, (start, _)) in starts.into_iter().enumerate() {
        let mut service = vds.clone();
        service.name = format!("s{at}");
        service.start = start;
        spec.service.push(service);
    }
    let fixture = proxy_of(&spec);
    for (at, (_, expected)) in starts.into_iter().enumerate() {
        let name = format!("s{at}");
        let service = fixture.answer::<rpc::GetService>(&GetServiceRequest { name });
        assert_eq!(service.start_type(), expected);
    }
}

#[test]
fn dependents_are_an_error_that_names_them_unless_forced() {
    let fixture = proxy();
    let refused = fixture.complaint::<rpc::StopService>(&stop("base", false));
    for name in ["left", "right", "top"] {
        assert!(refused.contains(name), "{refused}");
        assert_eq!(status(&fixture, name), ServiceStatus::Running);
    }
    fixture.answer::<rpc::StopService>(&stop("base", true));
    for name in ["base", "left", "right", "top"] {
        assert_eq!(status(&fixture, name), ServiceStatus::Stopped);
    }
    assert_eq!(status(&fixture, "RpcSs"), ServiceStatus::Running);
}

#[test]
fn a_service_that_is_not_there_has_csi_proxys_text() {
    let fixture = proxy();
    let text = "failed to get service no-such. error: failed to query service no-such: not found";
    let query = GetServiceRequest {
        name: "no-such".to_owned(),
    };
    assert_eq!(fixture.complaint::<rpc::GetService>(&query), text);
    assert_eq!(
        fixture.complaint::<rpc::StartService>(&start("no-such")),
        text
    );
    for force in [false, true] {
        assert_eq!(
            fixture.complaint::<rpc::StopService>(&stop("no-such", force)),
            text
        );
    }
}

#[test]
fn names_that_no_service_has_are_refused() {
    let fixture = proxy();
    let long = "s".repeat(257);
    for name in ["", "a/b", r"a\b", "a\0b", &long] {
        let query = GetServiceRequest {
            name: name.to_owned(),
        };
        for text in [
            fixture.complaint::<rpc::GetService>(&query),
            fixture.complaint::<rpc::StartService>(&start(name)),
            fixture.complaint::<rpc::StopService>(&stop(name, true)),
        ] {
            assert!(text.starts_with("service name"), "{text}");
        }
    }
    assert_eq!(status(&fixture, "RpcSs"), ServiceStatus::Running);
}

#[test]
fn a_disabled_service_does_not_start_and_says_why() {
    let mut spec = spec();
    for service in &mut spec.service {
        if service.name == "vds" {
            service.start = Start::Disabled;
        }
    }
    let fixture = proxy_of(&spec);
    let text = fixture.complaint::<rpc::StartService>(&start("vds"));
    assert!(text.contains("is disabled"), "{text}");
}
