use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smb::{Login, RemoteShare, Share, SharePath};

use crate::volumes::{Connected, Connector};

/// The most connections that wait for a call.
const MOST: usize = 16;

/// How long one waits.
const LONGEST: Duration = Duration::from_secs(30);

/// How long one has to show that it still works; else a new one is tried.
const ANSWER: Duration = Duration::from_secs(2);

/// Connections that wait for the next call of the same login: to ask whether one still answers takes a tenth of a new one's
/// time.
#[derive(Default)]
pub(super) struct Idle(Mutex<Vec<Waiting>>);

struct Waiting {
    login: Login,
    since: Instant,
    share: Box<dyn Share + Send>,
}

/// Opens connections of a login, or takes those that wait.
pub(super) struct Connections {
    pub(super) login: Login,
    pub(super) idle: Arc<Idle>,
}

impl Connector for Connections {
    fn open(&self, folders: &[SharePath], by: Instant) -> smb::Result<Connected> {
        while let Some(mut share) = self.idle.take(&self.login) {
            // It may have ended meanwhile, perhaps without a word.
            if let Ok(looked) = share.look(folders, by.min(Instant::now() + ANSWER)) {
                return Ok((share, looked));
            }
        }
        let mut opened = RemoteShare::open(&self.login, by)?;
        let looked = opened.look(folders, by)?;
        Ok((Box::new(opened), looked))
    }

    fn give_back(&self, connection: Box<dyn Share + Send>) {
        let mut waiting = self.idle.fresh();
        if waiting.len() < MOST {
            waiting.push(Waiting {
                login: self.login.clone(),
                since: Instant::now(),
                share: connection,
            });
        }
    }
}

impl Idle {
    fn take(&self, login: &Login) -> Option<Box<dyn Share + Send>> {
        let mut waiting = self.fresh();
        let found = waiting.iter().position(|one| one.login == *login)?;
        Some(waiting.swap_remove(found).share)
    }

    /// Those that have not waited too long.
    fn fresh(&self) -> MutexGuard<'_, Vec<Waiting>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|one| one.since.elapsed() < LONGEST);
        waiting
    }
}
