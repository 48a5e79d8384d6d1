//! Calls to the program; one can be paused in its middle.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use client::{Client, ClientError};
use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;

use crate::exe::{TIMEOUT, look_until};

/// Whether the server in this folder answers on a pipe of the filesystem group.
pub(crate) fn answers(folder: &Path) -> bool {
    let client = Client::local(folder.join("sockets"));
    let request = filesystem::PathExistsRequest {
        path: r"C:\var\lib\kubelet".to_owned(),
    };
    let answer = client.call::<filesystem::rpc::PathExists>(&request, TIMEOUT);
    answer.is_ok_and(|answer| answer.exists)
}

/// Whether it answers on a pipe of the disk group.
pub(crate) fn disks_answer(folder: &Path) -> bool {
    let client = Client::local(folder.join("sockets"));
    let request = disk::ListDiskIdsRequest {};
    client
        .call::<disk::rpc::ListDiskIds>(&request, TIMEOUT)
        .is_ok()
}

/// A page of the address in the log.
pub(crate) fn page(log: &str, path: &str) -> String {
    let address = log.split("http://").nth(1).expect("an address in the log");
    let address = address.split_whitespace().next().unwrap_or_default();
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// A call that hangs in the middle of its work until released.
pub(crate) struct HangingCall {
    script: PathBuf,
    answer: Receiver<Result<disk::PartitionDiskResponse, ClientError>>,
}

impl HangingCall {
    /// Has the server in this folder partition its data disk. When this returns, the disk is initialised and
    /// the call hangs.
    pub(crate) fn begin(folder: &Path) -> Self {
        let node = folder.join("node");
        let script = node.join("faults.toml");
        let client = Client::local(folder.join("sockets"));
        let rescan = client.call::<disk::rpc::Rescan>(&disk::RescanRequest {}, TIMEOUT);
        rescan.expect("the data disk is found");
        fs::write(&script, HANG).expect("a script of faults");
        let (sender, answer) = mpsc::channel();
        thread::spawn(move || {
            let request = disk::PartitionDiskRequest { disk_number: 1 };
            sender.send(client.call::<disk::rpc::PartitionDisk>(&request, TIMEOUT))
        });
        let held = Self { script, answer };
        look_until(
            || "a partition table".to_owned(),
            || {
                held.assert_unanswered();
                has_table(&os_sim::demo::disk_image(&node))
            },
        );
        held
    }

    pub(crate) fn assert_unanswered(&self) {
        if let Ok(answer) = self.answer.try_recv() {
            panic!("the call is to hang, and was answered: {answer:?}");
        }
    }

    /// Releases it, and returns its result.
    pub(crate) fn let_go(self) -> Result<disk::PartitionDiskResponse, ClientError> {
        fs::remove_file(&self.script).expect("the script is there");
        self.answer.recv_timeout(TIMEOUT).expect("the call ends")
    }
}

const HANG: &str = "[[fault]]\noperation = \"MSFT_Disk.CreatePartition\"\neffect = \"hang\"\n";

/// Whether a disk has the signature of a protective master boot record.
fn has_table(image: &Path) -> bool {
    let mut sector = [0; 512];
    let read = File::open(image).and_then(|mut file| file.read_exact(&mut sector));
    read.is_ok() && sector.ends_with(&[0x55, 0xAA])
}
