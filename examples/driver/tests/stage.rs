use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use first_driver::stage;
use wincsi::disks::{Criterion, DiskQuery, Page83};
use wincsi::sim::{
    Bus, ClockMode, Content, DiskSpec, Effect, IdentifierKind, Kill, NodeSpec, Rule, SimNode,
};
use wincsi::{Cause, Condition, Deadline, Node, NodeApi, Options, Win32};

type Outcome = Result<(), Box<dyn Error>>;

const DISK: &str = "60022480aabbccddeeff001122334455";
const STAGING: &str = r"C:\var\lib\kubelet\plugins\first\globalmount";
const GIB: u64 = 1 << 30;

fn new_node(folder: &Path) -> Result<SimNode, Box<dyn Error>> {
    let spec = NodeSpec::named("node-1");
    let sim = SimNode::create(folder, &spec, ClockMode::Virtual)?;
    let disk = DiskSpec::on(Bus::Sas).lun(1);
    let disk = disk.identified(IdentifierKind::Naa, DISK);
    sim.hardware()
        .attach_disk("data", &disk, &Content::blank(2 * GIB))?;
    Ok(sim)
}

/// From the volume context.
fn disk(identifier: &str) -> Result<DiskQuery, Box<dyn Error>> {
    let identifier = Criterion::Page83(Page83::parse(identifier)?);
    Ok(DiskQuery::all([identifier, Criterion::Lun(1)])?)
}

fn operations(sim: &SimNode) -> Arc<dyn NodeApi> {
    Arc::new(Node::new(sim.os(), Options::default()))
}

fn soon(node: &dyn NodeApi) -> Deadline {
    node.deadline(Duration::from_secs(60))
}

#[test]
fn a_raw_disk_is_formatted_and_mounted_and_a_second_call_leaves_it_so() -> Outcome {
    let home = tempfile::tempdir()?;
    let sim = new_node(home.path())?;
    let node = operations(&sim);
    let staging = STAGING.parse()?;

    stage(&*node, &disk(DISK)?, &staging)?;
    let volume = node.volumes().of_target(&staging, soon(&*node))?;
    let space = node.volumes().stats(volume, soon(&*node))?;
    assert!(space.total > GIB, "{space:?}");

    stage(&*node, &disk(DISK)?, &staging)?;
    assert_eq!(node.volumes().of_target(&staging, soon(&*node))?, volume);
    Ok(())
}

#[test]
fn an_error_says_what_failed_and_the_next_call_goes_on_from_there() -> Outcome {
    let home = tempfile::tempdir()?;
    let sim = new_node(home.path())?;
    let node = operations(&sim);
    let staging = STAGING.parse()?;

    let broken = Effect::fail(Win32::IO_DEVICE);
    let rule = Rule::on("MSFT_Volume.Format", broken).times(1);
    sim.faults().add(rule);
    let error = stage(&*node, &disk(DISK)?, &staging).unwrap_err();
    assert!(error.is(Condition::DeviceFailed), "{error}");
    assert_eq!(error.operation, "format volume");

    stage(&*node, &disk(DISK)?, &staging)?;
    Ok(())
}

#[test]
fn a_missing_disk_and_a_disk_with_data_are_different_errors() -> Outcome {
    let home = tempfile::tempdir()?;
    let sim = new_node(home.path())?;
    let node = operations(&sim);
    let staging = STAGING.parse()?;

    let missing = stage(&*node, &disk("another-disk")?, &staging).unwrap_err();
    assert!(missing.is(Condition::NotFound), "{missing}");

    // An ext4 superblock, without a partition table.
    sim.hardware().write_disk("data", 0x438, &[0x53, 0xEF])?;
    let foreign = stage(&*node, &disk(DISK)?, &staging).unwrap_err();
    assert!(foreign.is(Condition::NotBlank), "{foreign}");
    Ok(())
}

#[test]
fn a_call_that_hangs_is_answered_at_its_deadline() -> Outcome {
    let home = tempfile::tempdir()?;
    let sim = new_node(home.path())?;
    let node = operations(&sim);
    let staging = STAGING.parse()?;

    let wanted = disk(DISK)?;
    let rule = Rule::on("MSFT_Volume.Format", Effect::Hang);
    let hang = sim.faults().add(rule);
    let error = thread::scope(|threads| {
        let staged = threads.spawn(|| stage(&*node, &wanted, &staging));
        assert!(sim.faults().wait_until_hanging(1, Duration::from_secs(60)));
        sim.os().clock.sleep(Duration::from_secs(120));
        staged.join()
    });
    let error = error.map_err(|_| "the thread died")?.unwrap_err();
    assert_eq!(error.cause, Cause::Deadline);

    sim.faults().remove(hang);
    stage(&*node, &disk(DISK)?, &staging)?;
    Ok(())
}

#[test]
fn a_driver_that_died_goes_on_after_its_restart() -> Outcome {
    let staging = STAGING.parse()?;
    let steps = [
        "MSFT_Disk.Initialize",
        "MSFT_Disk.CreatePartition",
        "MSFT_Volume.Format",
        "SetVolumeMountPointW",
    ];
    for step in steps {
        let home = tempfile::tempdir()?;
        let sim = new_node(home.path())?;
        let node = operations(&sim);
        sim.faults().add(Rule::on(step, Effect::Kill(Kill::After)));
        assert!(stage(&*node, &disk(DISK)?, &staging).is_err(), "{step}");
        assert!(sim.is_killed(), "{step}");
        drop((node, sim));

        let sim = SimNode::open(home.path(), ClockMode::Virtual)?;
        stage(&*operations(&sim), &disk(DISK)?, &staging)?;
    }
    Ok(())
}

#[test]
fn the_same_volume_is_staged_after_a_reboot() -> Outcome {
    let home = tempfile::tempdir()?;
    let sim = new_node(home.path())?;
    let node = operations(&sim);
    let staging = STAGING.parse()?;
    stage(&*node, &disk(DISK)?, &staging)?;
    let volume = node.volumes().of_target(&staging, soon(&*node))?;

    sim.reboot()?;
    stage(&*node, &disk(DISK)?, &staging)?;
    assert_eq!(node.volumes().of_target(&staging, soon(&*node))?, volume);
    Ok(())
}

use first_driver::{publish, unpublish, unstage};

#[test]
fn each_of_kubelets_calls_may_be_repeated() -> Outcome {
    let home = tempfile::tempdir()?;
    let sim = new_node(home.path())?;
    let node = operations(&sim);
    let staging = STAGING.parse()?;
    let target = r"C:\var\lib\kubelet\pods\1\volumes\first\mount".parse()?;

    stage(&*node, &disk(DISK)?, &staging)?;
    for _ in 0..2 {
        publish(&*node, &staging, &target)?;
    }
    let staged = node.volumes().of_target(&staging, soon(&*node))?;
    assert_eq!(node.volumes().of_target(&target, soon(&*node))?, staged);
    for _ in 0..2 {
        unpublish(&*node, &target)?;
    }
    for _ in 0..2 {
        unstage(&*node, &disk(DISK)?, &staging)?;
    }
    assert!(!node.filesystem().path_exists(&staging, soon(&*node))?);
    Ok(())
}

use first_driver::{stage_share, unstage_share};
use wincsi::sim::smb::{ServerSpec, SmbControl};
use wincsi::smb::{Credentials, RemotePath};
use wincsi::{WinPath, Zeroizing};

#[test]
fn a_share_is_staged_and_a_wrong_password_is_said_to_be_one() -> Outcome {
    let home = tempfile::tempdir()?;
    let sim = new_node(home.path())?;
    let node = operations(&sim);
    let server = ServerSpec::sharing("share", r"DOMAIN\pods", "correct horse");
    SmbControl::at(home.path()).add_server("files", &server)?;

    let remote = RemotePath::parse(r"\\files\share")?;
    let staging: WinPath = STAGING.parse()?;
    let user = |password: &str| {
        let user = Credentials::new(r"DOMAIN\pods", Zeroizing::new(password.to_owned()));
        user.ok_or("a user's name is wanted")
    };
    let refused = stage_share(&*node, &remote, &user("wrong")?, &staging).unwrap_err();
    assert!(refused.is(Condition::LogonFailure), "{refused}");

    for _ in 0..2 {
        stage_share(&*node, &remote, &user("correct horse")?, &staging)?;
    }
    assert!(node.filesystem().is_symlink(&staging, soon(&*node))?);
    for _ in 0..2 {
        unstage_share(&*node, &remote, &staging)?;
    }
    assert!(node.smb().mappings(soon(&*node))?.is_empty());
    Ok(())
}
