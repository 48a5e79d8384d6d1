//! Each flag has its effect, from the command line to the node.

use std::fs;

use os_sim::smb::SmbControl;
use os_sim::{HardwareControl, demo};
use transport::Code;
use wincsi_proxy::flags::{self, Config, Invocation};
use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;
use wire::smb::v1 as smb;

use super::harness::{Proxy, mkdir};

/// The demo node's data disk.
const DATA: u32 = 1;

fn started(line: &[&str]) -> Proxy {
    let line = line.iter().map(|&flag| flag.to_owned());
    let parsed = match flags::parse(line) {
        Ok(Invocation::Serve(parsed)) => *parsed,
        other => panic!("{other:?}"),
    };
    Proxy::start_with(|config| {
        let (listen, simulate) = (config.listen.clone(), config.simulate.take());
        *config = Config {
            listen,
            simulate,
            ..parsed
        };
    })
}

#[test]
fn bytes_that_nothing_explains_are_overwritten_unless_the_flag_says_strict() {
    for (line, is_refused) in [(&[][..], false), (&["-format-guard=strict"], true)] {
        let proxy = started(line);
        let hardware = HardwareControl::at(proxy.node());
        let unknown = hardware.write_disk(demo::DISK, 2 << 20, b"what is this");
        unknown.expect("written");
        let rescan = proxy.call::<disk::rpc::Rescan>(&disk::RescanRequest {});
        rescan.expect("looked");
        let request = disk::PartitionDiskRequest { disk_number: DATA };
        match proxy.call::<disk::rpc::PartitionDisk>(&request) {
            Ok(_) => assert!(!is_refused, "{line:?}"),
            Err(error) => {
                assert!(is_refused, "{line:?}: {error}");
                assert!(error.to_string().contains("is not overwritten"), "{error}");
            }
        }
    }
}

/// The server cannot encrypt, so the result shows whether encryption was requested.
#[test]
fn shares_are_mapped_encrypted_unless_the_flag_requires_no_privacy() {
    let without = &["-require-privacy=false"];
    for (line, is_refused) in [(&[][..], true), (without, false)] {
        let proxy = started(line);
        let servers = SmbControl::at(proxy.node());
        let changed = servers.change_server(demo::SMB_SERVER, |server| server.encryption = false);
        changed.expect("it is there");
        let request = smb::NewSmbGlobalMappingRequest {
            remote_path: demo::SHARE.to_owned(),
            local_path: String::new(),
            username: demo::SMB_USER.to_owned(),
            password: demo::SMB_PASSWORD.to_owned(),
        };
        let mapped = proxy.call::<smb::rpc::NewSmbGlobalMapping>(&request);
        assert_eq!(mapped.is_err(), is_refused, "{line:?}: {mapped:?}");
    }
}

#[test]
fn a_call_that_hangs_is_answered_when_the_time_of_the_flag_is_over() {
    let proxy = started(&["-call-timeout=1"]);
    let script = proxy.node().join("faults.toml");
    let hang = "[[fault]]\noperation = '*'\nobject = '*kubelet*slow*'\neffect = 'hang'\n";
    fs::write(&script, hang).expect("written");
    let slow = mkdir(r"C:\var\lib\kubelet\slow");
    let (code, _) = proxy.refusal::<filesystem::rpc::Mkdir>(&slow);
    assert_eq!(code, Code::DeadlineExceeded);
    fs::remove_file(&script).expect("it is there");
    // The next operation on the node releases the hang.
    assert!(!proxy.exists(r"C:\var\lib\kubelet\other"));
}
