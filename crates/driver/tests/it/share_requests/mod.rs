//! Requests for shares, as kubelet sends them, on a simulated node beside a server with shares.

pub(crate) mod fixture;
mod keys;
// A proxy on sockets, which are pipes there.
#[cfg(unix)]
mod over_pipes;
mod secrets;
mod texts;

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, QTYPE, RCODE, ResourceRecord, TYPE};
use transport::Code;
use wincsi::NodeApi;
use wincsi::smb::RemotePath;
use wincsi_driver::cluster_dns::ClusterDns;
use wincsi_driver::kinds::share::attributes::{ShareRules, Strictness};
use wire::csi::v1::volume_capability::access_mode::Mode;

use self::fixture::{ADDRESS, Fixture, PASSWORD, Volume};

fn strict() -> ShareRules {
    ShareRules {
        options: Strictness::Strict,
        readers: Strictness::Strict,
        ..ShareRules::default()
    }
}

#[test]
fn options_that_mean_nothing_here_are_accepted_counted_and_reported_once() {
    let fixture = Fixture::lenient();
    let carried = ["vers=3.0", "dir_mode=0777,nobrl", "sec=krb5", "bogus=x"];
    let volume = Volume::of("//files/data").with(&carried);
    fixture.stage(&volume).unwrap();
    fixture.stage(&volume).unwrap();
    let page = fixture.metrics();
    for labels in [
        "option=\"vers\",class=\"linux\"",
        "option=\"sec\",class=\"kerberos\"",
        "option=\"unknown\",class=\"unknown\"",
    ] {
        assert!(page.contains(&format!("{{{labels}}} 2\n")), "{page}");
    }
    let events = fixture.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("pv") && events[0].contains("sec=krb5"));
    assert!(!events[0].contains("vers"), "{events:?}");
}

#[test]
fn strict_options_are_refused_by_name_and_those_of_linux_are_not() {
    let fixture = Fixture::by(strict());
    for (flag, name) in [
        ("bogus=horse", "bogus"),
        ("sec=krb5", "sec=krb5"),
        ("password=horse", "password"),
    ] {
        let refused = fixture.refusal(&Volume::of("//files/data").with(&["vers=3.0", flag]));
        assert!(
            refused.contains(name) && !refused.contains("horse"),
            "{refused}"
        );
        assert!(!refused.contains("vers"), "{refused}");
    }
    assert_eq!(fixture.mappings(), []);
    let of_linux = Volume::of("//files/data").with(&["vers=3.0", "uid=0"]);
    fixture.stage(&of_linux).unwrap();
}

#[test]
fn an_option_that_windows_has_reaches_the_mapping() {
    let fixture = Fixture::lenient();
    let sealed = Volume::of("//files/data").with(&["seal"]);
    fixture.stage(&sealed).unwrap();
    let expected = (String::from(r"\\files\data"), Some(true));
    assert_eq!(fixture.mappings(), [expected]);
    let plain = Fixture::lenient();
    plain.stage(&Volume::of("//files/data")).unwrap();
    assert_eq!(
        plain.mappings(),
        [(String::from(r"\\files\data"), Some(false))]
    );
}

#[test]
fn an_inline_volume_has_its_options_in_the_context_and_others_do_not() {
    let fixture = Fixture::by(strict());
    let bogus = ("mountOptions", "vers=3.0,bogus");
    let mut inline = Volume::inline("//files/data");
    inline.context.push(bogus);
    let refused = fixture.publish(&inline).unwrap_err();
    assert!(refused.to_string().contains("bogus"), "{refused}");
    let mut persistent = Volume::of("//files/data");
    persistent.context.push(bogus);
    fixture.stage(&persistent).unwrap();
}

#[test]
fn a_volume_without_a_user_is_refused_with_the_place_of_the_secret() {
    let fixture = Fixture::lenient();
    let nobody = |mut volume: Volume| {
        volume.secrets = vec![("password", PASSWORD)];
        volume
    };
    let refused = fixture.refusal(&nobody(Volume::of("//files/data")));
    assert!(refused.contains("nodeStageSecretRef"), "{refused}");
    assert!(refused.contains("guest"), "{refused}");
    let refused = fixture.publish(&nobody(Volume::inline("//files/data")));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("nodePublishSecretRef"), "{refused}");
    assert!(!refused.contains("guest"), "{refused}");
    // Without a user the server decides, and this one knows no guests.
    let guest = nobody(Volume::of("//files/data")).with(&["guest"]);
    assert_ne!(
        fixture.stage(&guest).unwrap_err().code,
        Code::InvalidArgument
    );
}

#[test]
fn an_inline_volume_that_names_its_secret_for_another_driver_is_refused_by_name() {
    let fixture = Fixture::lenient();
    let mut volume = Volume::inline("//files/data");
    volume.secrets = Vec::new();
    volume.context.push(("secretName", "smb"));
    let refused = fixture.publish(&volume).unwrap_err();
    assert_eq!(refused.code, Code::InvalidArgument);
    assert!(
        refused.to_string().contains("nodePublishSecretRef"),
        "{refused}"
    );
    assert_eq!(fixture.mappings(), []);
}

/// csi-driver-smb reads secretName and leaves nodePublishSecretRef alone, so that one template serves both.
#[test]
fn an_inline_volume_with_a_secret_of_both_drivers_is_served_by_its_own() {
    let fixture = Fixture::lenient();
    let mut volume = Volume::inline("//files/data");
    volume.context.push(("secretName", "smb"));
    fixture.publish(&volume).unwrap();
}

/// Guards: P75
#[test]
fn an_inline_volume_is_no_guest_as_windows_may_connect_as_the_node() {
    let fixture = Fixture::lenient();
    for guest in ["guest", "sec=none"] {
        let mut volume = Volume::inline("//files/data");
        volume.context.push(("mountOptions", guest));
        let refused = fixture.publish(&volume).unwrap_err();
        assert_eq!(refused.code, Code::InvalidArgument, "{refused}");
        assert_eq!(fixture.mappings(), []);
    }
}

#[test]
fn a_refused_request_is_repeated_while_its_inline_volume_is_there() {
    let fixture = Fixture::lenient();
    let mut volume = Volume::inline("//files/data");
    fixture.publish(&volume).unwrap();
    volume.secrets = vec![("password", PASSWORD)];
    let refused = fixture.publish(&volume).unwrap_err();
    assert_eq!(refused.code, Code::Unavailable, "{refused}");
}

#[test]
fn a_refused_publish_is_repeated_while_its_link_is_there() {
    let fixture = Fixture::by(strict());
    let volume = Volume::of("//files/data");
    fixture.stage(&volume).unwrap();
    let mut reader = volume.clone();
    reader.readonly = true;
    let code = |volume| fixture.publish(volume).unwrap_err().code;
    assert_eq!(code(&reader), Code::InvalidArgument);
    fixture.publish(&volume).unwrap();
    assert_eq!(code(&reader), Code::Unavailable);
    let mut without_secrets = volume;
    without_secrets.secrets.clear();
    fixture.unmap(r"\\files\data");
    assert_eq!(code(&without_secrets), Code::Unavailable);
    fixture.unpublish();
    assert_eq!(code(&reader), Code::InvalidArgument);
    assert_eq!(code(&without_secrets), Code::FailedPrecondition);
}

#[test]
fn an_inline_volume_that_is_there_is_refused_as_another_without_being_forgotten() {
    let fixture = Fixture::lenient();
    let volume = Volume::inline("//files/data");
    fixture.publish(&volume).unwrap();
    let mut others = [
        Volume::inline("//files/elsewhere"),
        Volume::inline("//files/data"),
    ];
    others[1].context.retain(|(key, _)| *key != "source");
    for other in &others {
        let refused = fixture.publish(other).unwrap_err();
        assert_eq!(refused.code, Code::Unavailable, "{refused}");
    }
}

/// Kubelet may not know that the first call came through.
#[test]
fn no_repeated_stage_is_final_whatever_it_brings() {
    type Change = fn(&mut Volume);
    let changes: [(&str, Change); 8] = [
        ("no user", |volume| {
            volume.secrets = vec![("password", PASSWORD)]
        }),
        ("no secret", |volume| volume.secrets.clear()),
        ("password", |volume| volume.secrets[1].1 = "rotated"),
        ("user", |volume| volume.secrets[0].1 = r"FILES\others"),
        ("option", |volume| *volume = volume.clone().with(&["seal"])),
        ("odd option", |volume| {
            *volume = volume.clone().with(&["port=odd"])
        }),
        ("source", |volume| {
            volume.context = vec![("source", "//files")]
        }),
        ("kind", |volume| volume.context.clear()),
    ];
    for (what, change) in changes {
        let volume = Volume::of("//files/data");
        for has_record in [true, false] {
            let fixture = Fixture::by(strict());
            match has_record {
                true => fixture.stage(&volume).unwrap(),
                false => fixture.stage_by_csi_driver_smb(r"\\files\data"),
            }
            let mappings = fixture.mappings();
            let mut changed = volume.clone();
            change(&mut changed);
            if let Err(refused) = fixture.stage(&changed) {
                assert_eq!(refused.code, Code::Unavailable, "{what}: {refused}");
            }
            assert_eq!(fixture.mappings(), mappings, "{what}");
        }
    }
}

#[test]
fn a_share_that_is_staged_is_no_disk_by_the_next_request() {
    let fixture = Fixture::lenient();
    let share = Volume::of("//files/data");
    fixture.stage(&share).unwrap();
    let mut disk = share.clone();
    disk.mode = Mode::SingleNodeWriter;
    disk.context = vec![("page83", "600224801234567890abcdef00000001")];
    let refused = fixture.stage(&disk).unwrap_err();
    assert_eq!(refused.code, Code::Unavailable, "{refused}");
    fixture.publish(&share).unwrap();
}

#[test]
fn a_share_of_csi_driver_smb_is_renewed_once_a_publish_brought_its_secret() {
    let fixture = Fixture::lenient();
    fixture.stage_by_csi_driver_smb(r"\\files\data");
    let volume = Volume::of("//files/data");
    fixture.publish(&volume).unwrap();
    fixture.unmap(r"\\files\data");
    fixture.publish(&volume).unwrap();
    assert_eq!(fixture.mappings().len(), 1);
}

#[test]
fn a_share_that_has_a_record_is_not_taken_over() {
    let fixture = Fixture::lenient();
    let volume = Volume::of("//files/data").with(&["vers=3.0"]);
    fixture.stage(&volume).unwrap();
    fixture.write_vol_data();
    fixture.publish(&volume).unwrap();
    let page = fixture.metrics();
    let staged_once = "{option=\"vers\",class=\"linux\"} 1\n";
    assert!(page.contains(staged_once), "{page}");
}

#[test]
fn a_staged_volume_is_published_without_secrets() {
    let fixture = Fixture::lenient();
    let mut volume = Volume::of("//files/data");
    fixture.stage(&volume).unwrap();
    volume.secrets.clear();
    fixture.publish(&volume).unwrap();
}

#[test]
fn readers_of_a_share_are_accepted_unless_flags_refuse_them() {
    let readers = {
        let reads = |mode, flags: &[&'static str], readonly| Volume {
            mode,
            readonly,
            ..Volume::of("//files/data").with(flags)
        };
        [
            reads(Mode::SingleNodeReaderOnly, &[], false),
            reads(Mode::MultiNodeReaderOnly, &[], false),
            reads(Mode::MultiNodeMultiWriter, &["ro"], false),
            reads(Mode::MultiNodeMultiWriter, &[], true),
        ]
    };
    for volume in readers {
        let writers = Volume::of("//files/data");
        let fixture = Fixture::lenient();
        fixture.stage(&volume).unwrap();
        fixture.publish(&volume).unwrap();
        let fixture = Fixture::by(strict());
        fixture.stage(&writers).unwrap();
        let refused = fixture.publish(&volume).unwrap_err();
        assert_eq!(refused.code, Code::InvalidArgument);
        assert!(
            refused.to_string().contains("-readonly=strict"),
            "{refused}"
        );
        if !volume.readonly {
            let refusal = Fixture::by(strict()).refusal(&volume);
            assert!(refusal.contains("-readonly=strict"));
        }
        fixture.publish(&writers).unwrap();
    }
    let mut inline = Volume::inline("//files/data");
    inline.readonly = true;
    let refused = Fixture::by(strict()).publish(&inline).unwrap_err();
    assert!(
        refused.to_string().contains("-readonly=strict"),
        "{refused}"
    );
}

/// Guards: P81
#[test]
fn a_service_of_the_cluster_is_mapped_by_its_address_and_other_names_as_they_are() {
    let (dns, asked) = dns(RCODE::NoError);
    let fixture = Fixture::by(dns.clone());
    let service = "//samba.files.SVC.cluster.local/data";
    fixture.stage(&Volume::of(service)).unwrap();
    let mappings: Vec<_> = fixture
        .mappings()
        .into_iter()
        .map(|(remote, _)| remote)
        .collect();
    assert_eq!(mappings, [r"\\10.0.0.7\data"]);
    assert_eq!(*asked.lock().unwrap(), ["samba.files.svc.cluster.local"]);
    let fixture = Fixture::by(dns);
    fixture.stage(&Volume::of("//files/data")).unwrap();
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[test]
fn the_name_of_a_share_that_is_staged_is_asked_for_when_its_mapping_is_gone() {
    let (dns, asked) = dns(RCODE::NoError);
    let fixture = Fixture::by(dns);
    let volume = Volume::of("//samba.files.svc.cluster.local/data");
    for _ in 0..3 {
        fixture.stage(&volume).unwrap();
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
    let remote = RemotePath::parse(r"\\10.0.0.7\data").unwrap();
    let deadline = fixture.node.deadline(Duration::from_secs(60));
    fixture.node.smb().unmap(&remote, deadline).unwrap();
    fixture.stage(&volume).unwrap();
    assert_eq!(asked.lock().unwrap().len(), 2);
    let mut other = volume;
    other.context = vec![("source", "//samba.files.svc.cluster.local/other")];
    let refused = fixture.stage(&other).unwrap_err();
    assert_eq!(refused.code, Code::Unavailable, "{refused}");
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[test]
fn a_service_that_is_not_there_is_asked_for_again_by_kubelet() {
    let (dns, _) = dns(RCODE::NameError);
    let fixture = Fixture::by(dns);
    let error = fixture.stage(&Volume::of("//samba.files.svc.cluster.local/data"));
    let error = error.unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
    let text = error.to_string();
    assert!(
        text.contains("samba.files.svc.cluster.local") && text.contains("127.0.0.1:"),
        "{text}"
    );
    let as_given = Fixture::lenient().stage(&Volume::of("//samba.files.svc.cluster.local/data"));
    let text = as_given.unwrap_err().to_string();
    assert!(text.contains("The network path was not found"), "{text}");
}

/// The rules of a driver beside a DNS server of the cluster, and the names that it was asked for.
fn dns(rcode: RCODE) -> (ShareRules, Arc<Mutex<Vec<String>>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = socket.local_addr().unwrap().to_string();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let names = Arc::clone(&asked);
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let query = Packet::parse(&buffer[..length]).unwrap();
            let name = query.questions[0].qname.clone();
            names.lock().unwrap().push(name.to_string());
            let mut answer = Packet::new_reply(query.id());
            answer.questions.clone_from(&query.questions);
            *answer.rcode_mut() = rcode;
            if rcode == RCODE::NoError && query.questions[0].qtype == QTYPE::TYPE(TYPE::A) {
                let address = u32::from_be_bytes(ADDRESS);
                let data = RData::A(A { address });
                answer
                    .answers
                    .push(ResourceRecord::new(name, CLASS::IN, 5, data));
            }
            socket
                .send_to(&answer.build_bytes_vec().unwrap(), from)
                .unwrap();
        }
    });
    let cluster_dns = Some(ClusterDns::parse(&server).unwrap());
    let rules = ShareRules {
        cluster_dns,
        ..ShareRules::default()
    };
    (rules, asked)
}
