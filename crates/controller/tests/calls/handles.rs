//! Handles and contexts, byte for byte as csi-driver-smb makes them.

use std::collections::BTreeMap;

use transport::Code;
use wire::csi::v1::Volume;

use crate::fixture::{Fixture, UUID, map, request};
use crate::server::Samba;

/// The default policy, a class, a handle's end behind the source, the folder that is made, and the context's `subDir` if it
/// is another than the class's.
const HANDLES: &[(&str, &str, &str, &str, &str)] = &[
    ("", "", "#NAME##", "NAME", "NAME"),
    ("", "subDir=", "#NAME##", "NAME", "NAME"),
    ("", "subDir=data", "#data#NAME#", "data", ""),
    ("", "subDir=/team/a b/", "#team/a b#NAME#", "team/a b", ""),
    ("", "SUBDIR=Data 2", "#Data 2#NAME#", "Data 2", ""),
    ("", "onDelete=delete", "#NAME##", "NAME", "NAME"),
    ("", "onDelete=retain", "#NAME##retain", "NAME", "NAME"),
    ("", "ondelete=Archive", "#NAME##Archive", "NAME", "NAME"),
    ("archive", "subDir=d3", "#d3#NAME#archive", "d3", ""),
    (
        "archive",
        "onDelete=delete;subDir=d4",
        "#d4#NAME#",
        "d4",
        "",
    ),
    ("Retain", "", "#NAME##Retain", "NAME", "NAME"),
    ("", TEMPLATES, "#space/claim-pv#NAME#", CLAIM, CLAIM),
];

const TEMPLATES: &str = "subDir=${pvc.metadata.namespace}/${pvc.metadata.name}-\
    ${pv.metadata.name};csi.storage.k8s.io/pvc/name=claim;\
    csi.storage.k8s.io/pvc/namespace=space;csi.storage.k8s.io/pv/name=pv";
const CLAIM: &str = "space/claim-pv";

#[test]
fn handles_and_contexts_are_csi_driver_smbs() {
    let samba = Samba::start();
    for (number, (policy, class, end, folder, sub_dir)) in HANDLES.iter().enumerate() {
        let fixture = Fixture::with(&[&format!("-default-ondelete-policy={policy}")]);
        let name = format!("pvc-{number}");
        let named = |text: &str| text.replace("NAME", &name);
        let mut wanted = request(&name, samba.port());
        let pairs = class.split(';').filter_map(|pair| pair.split_once('='));
        wanted.parameters.extend(map(&pairs.collect::<Vec<_>>()));
        let volume = fixture.create(&wanted).unwrap();
        let expected = format!("127.0.0.1/encrypted{}", named(end));
        assert_eq!(volume.volume_id, expected);
        let mut context = wanted.parameters.clone();
        if !sub_dir.is_empty() {
            context.insert(String::from("subDir"), named(sub_dir));
        }
        assert_eq!(volume.volume_context, context, "{}", volume.volume_id);
        assert_eq!(volume.capacity_bytes, 0);
        assert!(samba.root().join(named(folder)).is_dir(), "{folder}");
    }
}

#[test]
fn without_a_secret_a_volume_is_the_source() {
    let fixture = Fixture::with(&[]);
    let made = |pairs: &[(&str, &str)]| -> Result<Volume, Code> {
        let mut wanted = request(&format!("pvc-{UUID}"), 1);
        wanted.parameters = map(pairs);
        wanted.secrets = BTreeMap::new();
        fixture.create(&wanted).map_err(|status| status.code)
    };
    for source in ["//files/data/a", "//files/data/a/", "//files/data/a//"] {
        let volume = made(&[("source", source), ("onDelete", "retain")]).unwrap();
        let expected = format!("files/data/a#pvc-{UUID}##retain");
        assert_eq!(volume.volume_id, expected);
        let context = map(&[("source", source), ("onDelete", "retain")]);
        assert_eq!(volume.volume_context, context);
    }
    assert_eq!(made(&[("source", "//files")]), Err(Code::InvalidArgument));
}
