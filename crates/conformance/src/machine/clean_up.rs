use std::fmt;
use std::path::Path;

use node::api::{Condition, NodeApi};
use node::{Node, Options, RemotePath};

use super::{Lock, disks, services, set_up};
use crate::names;
use crate::real::{self, VirtualDisks};

/// The removal of one possible leftover of a run.
pub struct Removal {
    what: String,
    failure: Option<String>,
}

impl Removal {
    fn of(what: impl fmt::Display, done: Result<(), impl fmt::Display>) -> Self {
        Self {
            what: what.to_string(),
            failure: done.err().map(|error| error.to_string()),
        }
    }

    /// Whether it is gone.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.failure.is_none()
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            Some(failure) => write!(f, "{} is still there: {failure}", self.what),
            None => write!(f, "{} is gone", self.what),
        }
    }
}

/// Removes everything with one of the suite's names: the mapping of its share, share, user, services, and the disks in
/// its folder. A missing one is success. Only the name identifies them.
///
/// # Errors
/// Another run is under way, or the folder cannot be read.
pub fn clean_up(folder: &Path) -> Result<Vec<Removal>, String> {
    clean_up_under(Lock::of(folder)?)
}

/// As [`clean_up`], by a caller that has the folder to itself already: a run at its end, even if a case of it has not
/// ended.
///
/// # Errors
/// The folder cannot be read.
pub fn clean_up_under(lock: Lock) -> Result<Vec<Removal>, String> {
    let removals = removals(lock.folder())?;
    lock.give_up();
    Ok(removals)
}

/// Removes a former run's leftovers.
pub(super) fn refuse_remains(lock: &Lock) -> Result<(), String> {
    let removals = removals(lock.folder())?;
    match removals.iter().find(|removal| !removal.is_good()) {
        Some(removal) => Err(removal.to_string()),
        None => Ok(()),
    }
}

/// The Server service comes first: a killed run may have stopped it, and removing shares needs it. Then the mapping
/// goes, because it uses the share; the share before its folder's disk, and before its user, as Windows keeps the user
/// while the server is in use.
fn removals(folder: &Path) -> Result<Vec<Removal>, String> {
    let mut removals = vec![
        Removal::of("the stop of the Server service", start_server()),
        Removal::of("the mapping of the share", unmap()),
        Removal::of(names::SHARE, real::remove_share(names::SHARE)),
        Removal::of(names::USER, real::remove_user(names::USER)),
    ];
    let services = names::SERVICES.iter();
    removals.extend(services.map(|name| Removal::of(name, services::remove(name))));
    let files = names::disk_files(folder);
    let files = files.map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = files.iter();
    removals.extend(files.map(|file| Removal::of(file.display(), remove_disk(file))));
    Ok(removals)
}

fn start_server() -> os::Result<()> {
    services::start_server(&Node::new(
        os_windows::node(names::EVENT_SOURCE),
        Options::default(),
    ))
}

fn unmap() -> Result<(), String> {
    let share = set_up::share_path().map_err(|error| error.to_string())?;
    let remote = RemotePath::parse(&share).map_err(|error| error.to_string())?;
    let node = Node::new(os_windows::node(names::EVENT_SOURCE), Options::default());
    let api: &dyn NodeApi = &node;
    match api.smb().unmap(&remote, api.deadline(disks::TIMEOUT)) {
        Err(error) if error.condition() == Some(Condition::NotMapped) => Ok(()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// An ending process detaches its disks; a running one, or another program, may have it attached.
fn remove_disk(file: &Path) -> os::Result<()> {
    if let Ok(functions) = VirtualDisks::load() {
        // Usually it is not attached, and that is an error.
        let _ = functions.detach(file);
    }
    disks::remove_file(file)
}
