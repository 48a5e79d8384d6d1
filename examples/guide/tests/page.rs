//! What the page says outside of its tests.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::Command;

use os_sim::{ClockMode, demo};
use toml::Table;

fn dependencies(manifest: &Table) -> &Table {
    manifest["dependencies"].as_table().unwrap()
}

#[test]
fn the_pages_manifest_names_the_crates_that_its_code_was_built_with() {
    let page = include_str!(concat!(env!("OUT_DIR"), "/Cargo.toml"));
    let page: Table = page.parse().unwrap();
    let ours: Table = include_str!("../Cargo.toml").parse().unwrap();
    let all: Table = include_str!("../../../Cargo.toml").parse().unwrap();
    let all = &all["workspace"];

    let names = |manifest: &Table| dependencies(manifest).keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&page), names(&ours));
    for (name, one) in dependencies(&page) {
        let of_workspace = &all["dependencies"][name.as_str()];
        assert_eq!(one["package"], of_workspace["package"], "{name}");
        let version = of_workspace["version"].as_str().unwrap();
        assert!(
            version.starts_with(one["version"].as_str().unwrap()),
            "{name}"
        );
    }
    assert_eq!(page["package"]["edition"], all["package"]["edition"]);
}

#[test]
fn the_program_stages_on_a_simulated_node() {
    let home = tempfile::tempdir().unwrap();
    drop(demo::create(home.path(), ClockMode::Real).unwrap());
    let staging = r"C:\var\lib\kubelet\plugins\first\globalmount";
    let ran = Command::new(env!("CARGO_BIN_EXE_first-driver"))
        .arg(format!("simulated:{}", home.path().display()))
        .args([demo::DISK_PAGE83, staging])
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(said.trim_end(), format!("{staging} is staged"));
}
