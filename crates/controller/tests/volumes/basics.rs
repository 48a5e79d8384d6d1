use std::fs;

use wincsi_controller::volumes::{Created, Deleted};

use crate::fixture::{Controller, at, entries, gone, volume};
use crate::server::Samba;

#[test]
fn a_volume_is_made_and_deleted() {
    let samba = Samba::start();
    let controller = Controller::new(samba.port());
    let volume = volume("pvc-1", "ns/data");
    for _ in 0..2 {
        assert_eq!(controller.create(&volume).unwrap(), Created::Made);
    }
    fs::write(at(&samba, "ns/data/file"), b"x").unwrap();
    for _ in 0..2 {
        assert_eq!(controller.delete(&gone(&volume)).unwrap(), Deleted::Gone);
    }
    assert_eq!(entries(&samba, ""), [".wincsi", "ns"]);
    assert_eq!(entries(&samba, ".wincsi"), ["deleted"]);
    assert!(entries(&samba, "ns").is_empty() && entries(&samba, ".wincsi/deleted").is_empty());
}
