//! The lives of a disk and a share through csi-proxy, which serves the node on sockets.

use std::fs;
use std::path::PathBuf;

use proxy::flags::Config;
use proxy::serve::{self, RunningServer};
use tempfile::TempDir;
use wincsi::pipes;

use super::*;

/// A node that only csi-proxy has open.
struct ServedNode {
    node: pipes::Node,
    _server: RunningServer,
    home: TempDir,
}

impl ServedNode {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (folder, sockets) = (home.path().join("node"), home.path().join("sockets"));
        drop(new_node(&folder).unwrap());
        let node = pipes::Node::sockets(&sockets);
        let server = serve::start(&Config {
            listen: sockets,
            simulate: Some(folder),
            ..Config::default()
        });
        Self {
            node,
            _server: server.unwrap(),
            home,
        }
    }

    fn servers(&self) -> SmbControl {
        SmbControl::at(self.folder())
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("node")
    }

    fn exists(&self, path: &str) -> bool {
        let files = self.node.filesystem();
        let path = path.parse().unwrap();
        files.path_exists(&path, soon(&self.node)).unwrap()
    }
}

#[test]
fn a_disk_keeps_its_files_from_stage_to_stage() {
    let served = ServedNode::new();
    let (node, disk, staging) = (&served.node, disk(DISK).unwrap(), STAGING.parse().unwrap());
    let file = format!(r"{STAGING}\data.txt");
    stage(node, &disk, &staging).unwrap();
    let volume = node.volumes().of_target(&staging, soon(node)).unwrap();
    let files = served.folder().join("volumes").join(volume.0.to_string());
    fs::write(files.join("data.txt"), "precious").unwrap();
    assert!(served.exists(&file));

    for _ in 0..2 {
        unstage(node, &disk, &staging).unwrap();
    }
    assert!(!served.exists(STAGING));
    for _ in 0..2 {
        stage(node, &disk, &staging).unwrap();
    }
    assert!(served.exists(&file));
    unstage(node, &disk, &staging).unwrap();
}

#[test]
fn a_share_is_mapped_from_its_stage_to_its_unstage() {
    let served = ServedNode::new();
    let (node, staging) = (&served.node, STAGING.parse().unwrap());
    let server = ServerSpec::sharing("share", r"DOMAIN\pods", "correct horse");
    served.servers().add_server("files", &server).unwrap();
    let remote = RemotePath::parse(r"\\files\share").unwrap();
    let password = Zeroizing::new("correct horse".to_owned());
    let user = Credentials::new(r"DOMAIN\pods", password).unwrap();
    let files = served.servers().share_folder("files", "share");
    fs::create_dir_all(&files).unwrap();
    fs::write(files.join("data.txt"), "precious").unwrap();
    for _ in 0..2 {
        stage_share(node, &remote, &user, &staging).unwrap();
    }
    // What is behind the link csi-proxy shows to no client: it leads out of kubelet's folder.
    let is_link = node.filesystem().is_symlink(&staging, soon(node));
    assert!(is_link.unwrap());
    assert_eq!(served.servers().mapped().unwrap(), [r"\\files\share"]);

    for _ in 0..2 {
        unstage_share(node, &remote, &staging).unwrap();
    }
    assert!(!served.exists(STAGING));
    assert!(served.servers().mapped().unwrap().is_empty());
    assert!(files.join("data.txt").exists());
}
