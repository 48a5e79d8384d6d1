use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
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
pub(super) struct Idle(Mutex<Held>);

#[derive(Default)]
struct Held {
    waiting: Vec<Waiting>,
    /// Whether a thread ends those that wait too long.
    is_swept: bool,
}

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
            match share.look(folders, by.min(Instant::now() + ANSWER)) {
                Ok(looked) => return Ok((share, looked)),
                // The others are no better, and each would take its time.
                Err(_) => self.idle.forget(&self.login),
            }
        }
        let mut opened = RemoteShare::open(&self.login, by)?;
        let looked = opened.look(folders, by)?;
        Ok((Box::new(opened), looked))
    }

    fn give_back(&self, connection: Box<dyn Share + Send>) {
        let mut held = self.idle.fresh();
        if held.waiting.len() < MOST {
            held.waiting.push(Waiting {
                login: self.login.clone(),
                since: Instant::now(),
                share: connection,
            });
        }
        // The password of the last call does not stay for the process's life.
        if !held.is_swept {
            let idle = Arc::clone(&self.idle);
            let sweeper = thread::Builder::new().name("idle".to_owned());
            held.is_swept = sweeper.spawn(move || idle.sweep()).is_ok();
        }
    }
}

impl Idle {
    fn take(&self, login: &Login) -> Option<Box<dyn Share + Send>> {
        let mut held = self.fresh();
        let mut waiting = held.waiting.iter();
        // The last one: what the server has for it is still in its caches.
        let found = waiting.rposition(|one| one.login == *login)?;
        Some(held.waiting.swap_remove(found).share)
    }

    fn forget(&self, login: &Login) {
        self.fresh().waiting.retain(|one| one.login != *login);
    }

    /// Ends connections that wait too long, until none waits.
    fn sweep(&self) {
        loop {
            thread::sleep(LONGEST / 4);
            let mut held = self.fresh();
            if held.waiting.is_empty() {
                held.is_swept = false;
                return;
            }
        }
    }

    /// Those that have not waited too long.
    fn fresh(&self) -> MutexGuard<'_, Held> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.waiting.retain(|one| one.since.elapsed() < LONGEST);
        held
    }
}
