use std::fs;
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Failed;
use os::{Services as _, Win32};
use os_windows::NativeServices;
use wincsi_conformance::machine::{self, Lock};
use wincsi_conformance::{names, real};
use windows_service::service::{
    ServiceAccess, ServiceErrorControl, ServiceInfo, ServiceStartType, ServiceType,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

use super::{Attempt, attempts, suite};

/// Wine alone may be changed by a test: it has a prefix of its own.
pub(crate) fn with_leave() -> &'static [Attempt] {
    match real::wine_version() {
        Some(_) => UNDER_WINE,
        None => &[],
    }
}

const UNDER_WINE: &[Attempt] = attempts![
    it_runs_no_case_under_wine,
    a_clean_up_finds_what_a_killed_run_left_by_its_name_alone,
    calls_by_handle_are_counted_and_recorded,
    a_run_cleans_up_under_the_lock_that_keeps_others_out,
];

/// Both clean-ups remove the same services.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn it_runs_no_case_under_wine() -> Result<(), Failed> {
    super::is_refused_because("this is Wine ")
}

fn a_clean_up_finds_what_a_killed_run_left_by_its_name_alone() -> Result<(), Failed> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let ours = at(&names::disk_file(7));
    let foreign = at("accounts.vhdx");
    for file in [&ours, &foreign] {
        fs::write(file, "a disk")?;
    }
    install(names::IDLE_SERVICE)?;
    let arguments = ["--clean-up", "--i-may-change-this-machine"];
    let ran = suite(folder.path(), &arguments)?;
    let shown = ran.output;
    assert!(!ours.exists(), "{shown}");
    assert!(foreign.exists(), "{shown}");
    assert!(!at(names::LOCK).exists(), "{shown}");
    assert!(!is_installed(names::IDLE_SERVICE)?, "{shown}");
    // Wine has no provider of SMB mappings, and the program does not report the query.
    let remains = shown.lines().filter(|line| !line.ends_with(" is gone"));
    let remains: Vec<_> = remains.filter(|line| !line.is_empty()).collect();
    assert!(
        matches!(*remains, [line] if line.contains("mapping")),
        "{shown}"
    );
    assert_eq!(ran.status, Some(1));
    Ok(())
}

/// As after an endless case: it holds everything else that the run made.
fn a_run_cleans_up_under_the_lock_that_keeps_others_out() -> Result<(), Failed> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir()?;
    let folder = home.path().join("suite");
    let lock = Lock::of(&folder)?;
    let file = folder.join(names::disk_file(3));
    fs::write(&file, "a disk")?;
    install(names::IDLE_SERVICE)?;
    let refused = machine::clean_up(&folder).err();
    let refused = refused.ok_or("two runs have the folder")?;
    assert!(refused.contains("another run?"), "{refused}");
    assert!(file.exists() && is_installed(names::IDLE_SERVICE)?);
    machine::clean_up_under(lock)?;
    assert!(!is_installed(names::IDLE_SERVICE)?);
    assert!(!folder.exists());
    Ok(())
}

/// Its directories are removed again, with any time left.
fn calls_by_handle_are_counted_and_recorded() -> Result<(), Failed> {
    let home = tempfile::tempdir()?;
    let folder = home.path().join("bound");
    fs::create_dir(&folder)?;
    let paths = [folder.as_path(), home.path()];
    let [bound, record] = paths.map(|path| path.to_string_lossy().into_owned());
    let arguments = [
        "--i-may-change-this-machine",
        "--limit=1",
        "--machine=a test",
        &format!("--calls-by-handle={bound}"),
        &format!("--record={record}"),
    ];
    let ran = suite(&home.path().join("suite"), &arguments)?;
    assert_eq!(ran.status, Some(0), "{}", ran.errors);
    let shown = fs::read_to_string(home.path().join("windows.txt"))?;
    // Wine sets no reparse points, as the file cases show.
    let is_seen =
        shown.starts_with("seen: 4 | Wine ") && shown.contains(", a test | contradicted | ");
    assert!(is_seen, "{shown}");
    let name = "files::a_junction_is_followed: FSCTL_SET_REPARSE_POINT";
    assert!(
        shown.contains(name) && !shown.contains("failed with"),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 1, "{shown}");
    assert_eq!(fs::read_dir(&folder)?.count(), 0);
    Ok(())
}

fn install(name: &str) -> windows_service::Result<()> {
    let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
    let info = ServiceInfo {
        name: name.into(),
        display_name: name.into(),
        service_type: ServiceType::OWN_PROCESS,
        start_type: ServiceStartType::OnDemand,
        error_control: ServiceErrorControl::Normal,
        executable_path: env!("CARGO_BIN_EXE_wincsi-conformance").into(),
        launch_arguments: Vec::new(),
        dependencies: Vec::new(),
        account_name: None,
        account_password: None,
    };
    let manager = ServiceManager::local_computer(None::<&str>, access)?;
    let installed = manager.create_service(&info, ServiceAccess::QUERY_STATUS);
    installed.map(drop)
}

fn is_installed(name: &str) -> Result<bool, Failed> {
    match NativeServices::new().query(name) {
        Err(error) if error.win32() == Some(Win32::NO_SUCH_SERVICE) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}
