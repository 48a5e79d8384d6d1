//! What lies in kubelet's folders beside volumes, and what nobody can list there.

use wincsi::sim::smb::ServerSpec;
use wincsi::{NodeApi, Win32};
use wincsi_driver::record::Lifetime;

use crate::fixture::{Fixture, KUBELET, PASSWORD, ROOT, USER, Volume, path, volume};
use crate::upstream::{ByProxy, Upstream as _, clean_up, link};

/// Below kubelet's folder. A file leads nowhere, wherever a folder is expected.
const FILES: [&str; 8] = [
    r"plugins\kubernetes.io\csi\stray",
    r"plugins\kubernetes.io\csi\smb.csi.k8s.io\stray",
    r"plugins\kubernetes.io\csi\smb.csi.k8s.io\odd\globalmount",
    r"pods\stray",
    r"pods\odd\volumes",
    r"pods\odd\volumes\kubernetes.io~csi",
    r"pods\odd\volumes\kubernetes.io~csi\stray",
    r"pods\odd\volumes\kubernetes.io~csi\odd\mount",
];

/// Folders that may not be listed, and a link that may not be read, with the operation.
const CLOSED: [(&str, &str); 5] = [
    (r"plugins\kubernetes.io\csi", "FindFirstFileExW"),
    (r"plugins\kubernetes.io\csi\other", "FindFirstFileExW"),
    (r"pods", "FindFirstFileExW"),
    (r"pods\odd\volumes\kubernetes.io~csi", "FindFirstFileExW"),
    (
        r"pods\odd\volumes\kubernetes.io~csi\v\mount",
        "FSCTL_GET_REPARSE_POINT",
    ),
];

type End = (&'static str, fn(&Fixture));

/// Ways in which the last volume of a share ends.
const ENDS: [End; 4] = [
    ("unstage", |fixture| {
        fixture.stage(&volume("pv")).unwrap();
        fixture.unstage(&volume("pv")).unwrap();
        assert!(!fixture.exists(&volume("pv").staging()));
    }),
    ("inline", |fixture| {
        fixture.publish_inline(&inline("csi-1"), "1").unwrap();
        end_inline(fixture, "csi-1", "1");
    }),
    ("two inline volumes", |fixture| {
        fixture.publish_inline(&inline("csi-1"), "1").unwrap();
        fixture.publish_inline(&inline("csi-2"), "2").unwrap();
        end_inline(fixture, "csi-1", "1");
        assert_eq!(fixture.mappings(), [ROOT], "of csi-2");
        end_inline(fixture, "csi-2", "2");
    }),
    ("unstage of another driver's", |fixture| {
        ByProxy::on(fixture).stage(fixture, &volume("pv")).unwrap();
        fixture.unstage(&volume("pv")).unwrap();
        assert!(!fixture.exists(&volume("pv").staging()));
        clean_up(fixture, &volume("pv"));
    }),
];

fn inline(handle: &str) -> Volume<'_> {
    Volume {
        lifetime: Lifetime::Inline,
        ..volume(handle)
    }
}

fn end_inline(fixture: &Fixture, handle: &str, pod: &str) {
    fixture.unpublish(&inline(handle), pod).unwrap();
    assert!(!fixture.exists(&inline(handle).target(pod)));
}

/// Of another share.
fn other() -> Volume<'static> {
    Volume {
        remote: r"\\other\more",
        ..volume("other")
    }
}

fn node() -> Fixture {
    let fixture = Fixture::new();
    fixture.add_server("other", &ServerSpec::sharing("more", USER, PASSWORD));
    fixture
}

#[test]
fn a_stray_file_keeps_no_last_volume_from_its_end() {
    for stray in FILES {
        for (name, end) in ENDS {
            let fixture = node();
            let file = path(&format!(r"{KUBELET}\{stray}"));
            fixture.make_directory(&file.parent().unwrap().to_string());
            fixture.files().write_file(&file, b"stray").unwrap();
            end(&fixture);
            assert_eq!(fixture.mappings(), [""; 0], "{name} beside {stray}");
            assert_eq!(fixture.records(), 0, "{name} beside {stray}");
        }
    }
}

/// It may hide a live link: the volume ends, and what it had mapped stays until a later call can look there.
/// Guards: P79
#[test]
fn a_closed_folder_keeps_the_mapping_until_a_look() {
    for (closed, operation) in CLOSED {
        for (name, end) in ENDS {
            let mut fixture = node();
            let at = format!(r"{KUBELET}\{closed}");
            match operation {
                "FSCTL_GET_REPARSE_POINT" => link(&fixture, &path(KUBELET), &path(&at)).unwrap(),
                _ => fixture.make_directory(&at),
            }
            fixture.fail_on(operation, &at, Win32::ACCESS_DENIED);
            let case = format!("{name} beside {closed}");
            end(&fixture);
            assert_eq!(fixture.mappings(), [ROOT], "{case}");
            assert_eq!(fixture.parsed_records().len(), 0, "{case}");
            end_other(&fixture);
            assert_eq!(fixture.mappings().len(), 2, "{case}: it is closed still");
            fixture.restart();
            fixture.heal();
            end_other(&fixture);
            assert_eq!(fixture.mappings(), [""; 0], "{case}");
            assert_eq!(fixture.records(), 0, "{case}");
        }
    }
}

/// A later look that finds a live link leaves it its mapping.
/// Guards: P79
#[test]
fn a_link_that_a_closed_folder_hid_is_not_cut() {
    let fixture = node();
    let closed = format!(r"{KUBELET}\pods\odd\volumes\kubernetes.io~csi");
    let hidden = format!(r"{closed}\theirs\mount");
    fixture.stage(&volume("pv")).unwrap();
    link(&fixture, &path(ROOT), &path(&hidden)).unwrap();
    fixture.fail_on("FindFirstFileExW", &closed, Win32::ACCESS_DENIED);
    fixture.unstage(&volume("pv")).unwrap();
    fixture.heal();
    end_other(&fixture);
    assert_eq!(fixture.mappings(), [ROOT]);
    let files = NodeApi::filesystem(&fixture.hand);
    files.remove_entry(&path(&hidden), fixture.soon()).unwrap();
    end_other(&fixture);
    assert_eq!(
        fixture.mappings(),
        [ROOT],
        "it is the other driver's by now"
    );
}

fn end_other(fixture: &Fixture) {
    fixture.stage(&other()).unwrap();
    fixture.unstage(&other()).unwrap();
}
