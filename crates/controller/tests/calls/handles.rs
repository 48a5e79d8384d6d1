//! Handles and contexts, byte for byte as csi-driver-smb makes them.

use std::collections::BTreeMap;
use std::fs;

use transport::Code;
use wincsi_controller::requests::Handle;
use wire::csi::v1::Volume;

use crate::fixture::{Fixture, Pairs, UUID, map, request, set};
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
    ("archive", DELETE_D4, "#d4#NAME#", "d4", ""),
    ("Retain", "", "#NAME##Retain", "NAME", "NAME"),
    ("", TEMPLATES, "#space/claim-pv#NAME#", CLAIM, CLAIM),
];

const TEMPLATES: &str = "subDir=${pvc.metadata.namespace}/${pvc.metadata.name}-\
    ${pv.metadata.name};csi.storage.k8s.io/pvc/name=claim;\
    csi.storage.k8s.io/pvc/namespace=space;csi.storage.k8s.io/pv/name=pv";
const DELETE_D4: &str = "onDelete=delete;subDir=d4";
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

/// What csi-driver-smb's own functions make and read. Three are refused here: the base folder, a `#`, no source.
#[test]
fn handles_are_those_of_its_own_functions() {
    let samba = Samba::start();
    fs::create_dir(samba.root().join("team")).unwrap();
    let fixture = Fixture::with(&[]);
    for line in include_str!("handles.txt").lines().skip(1) {
        let line: Pairs = serde_json::from_str(line).unwrap();
        let value = |key: &str| line.get(key).cloned().unwrap_or_default();
        let Some(id) = line.get("reads") else {
            let mut wanted = request(&line["name"], samba.port());
            set(&mut wanted, "source", &line["source"]);
            set(&mut wanted, "subDir", &line["subDir"]);
            let made = fixture.create(&wanted).map(|it| it.volume_id);
            let expected = match line["name"].as_str() {
                "pvc-10" | "pvc-11" | "pvc-12" => Err(Code::InvalidArgument),
                // Newer ones have a fourth field.
                _ => Ok(value("makes") + "#"),
            };
            assert_eq!(made.map_err(|it| it.code), expected, "{line:?}");
            continue;
        };
        let read = Handle::read(id).map(|it| [it.source, it.folder, it.name]);
        let source = value("source");
        let source = format!("//{}", source.trim_start_matches(['/', '\\']));
        // It takes five fields for three of another folder.
        let is_one = !line.contains_key("error") && id.split('#').count() < 5;
        let expected = is_one.then(|| [source, value("subDir"), value("name")]);
        assert_eq!(read, expected, "{id}");
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
