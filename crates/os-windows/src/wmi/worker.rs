//! The work of a pool's thread.

use std::collections::VecDeque;
use std::rc::Rc;

use super::com::Apartment;
use super::job::{ActiveJob, End, Next, Request};
use super::pool::{PoolSlot, Task};
use super::queue::Duty;
use super::session::{Connection, Generation, Session};

/// Serves requests until there will be no more. It connects only while it has no calls under way, since nothing would
/// poll them meanwhile.
pub(super) fn work(place: &PoolSlot) {
    // Dropped last: all COM values have to be gone by then.
    let apartment = match Apartment::enter() {
        Ok(apartment) => apartment,
        Err(fault) => {
            let left = place.left_over().into_iter();
            return left.for_each(|request| request.refuse(fault.clone()));
        }
    };
    let mut worker = Worker {
        place,
        active: VecDeque::new(),
        session: place.session(),
    };
    while worker.turn() == Turn::GoesOn {}
    drop(worker);
    drop(apartment);
}

/// How long a thread polls its calls for their ends, in all, before it checks for new ones.
const TURN_MILLISECONDS: usize = 20;

struct Worker<'a> {
    place: &'a PoolSlot,
    /// The calls under way, the longest unpolled first.
    active: VecDeque<Box<dyn ActiveJob>>,
    session: Session,
}

#[derive(PartialEq, Eq)]
enum Turn {
    GoesOn,
    Over,
}

impl Worker<'_> {
    /// Takes waiting requests, and polls each call for its end.
    fn turn(&mut self) -> Turn {
        let own = self.session.connection();
        if self.active.is_empty() {
            match self.place.wait(own) {
                Task::Begin(request, over) => self.begin(request, over),
                Task::Otherwise(Duty::Connect(generation)) => self.connect(generation),
                Task::Otherwise(Duty::End) => return Turn::Over,
            }
        } else {
            self.begin_spare(own);
        }
        self.poll();
        Turn::GoesOn
    }

    /// Its request waits in the queue meanwhile, and gets the error if there is no connection.
    fn connect(&mut self, generation: Generation) {
        match self.session.connect(generation) {
            Ok(()) => self.place.become_idle(self.session.generation()),
            Err(fault) => {
                if let Some(request) = self.place.refused() {
                    request.refuse(fault);
                }
            }
        }
    }

    /// Begins one more beside the calls under way, if there is one and a connection for it.
    fn begin_spare(&mut self, own: Option<Rc<Connection>>) {
        if let Some(own) = own
            && let Some(request) = self.place.spare(own.generation)
        {
            self.begin(request, own);
        }
    }

    fn begin(&mut self, request: Box<dyn Request>, over: Rc<Connection>) {
        let next = request.begin(over, &mut self.session);
        self.proceed(next);
    }

    fn poll(&mut self) {
        let wait = TURN_MILLISECONDS / self.active.len().max(1);
        let wait = i32::try_from(wait.max(1)).unwrap_or(1);
        for _ in 0..self.active.len() {
            if let Some(call) = self.active.pop_front() {
                let next = call.advance(&mut self.session, wait);
                self.proceed(next);
            }
        }
    }

    fn proceed(&mut self, next: Next) {
        match next {
            Next::GoesOn(call) => self.active.push_back(call),
            Next::Over(end) => self.conclude(end),
        }
    }

    /// Gives an answer, or the request back, after counting a thread without further work as idle.
    fn conclude(&self, end: End) {
        if self.active.is_empty() {
            self.place.become_idle(self.session.generation());
        }
        match end {
            End::Abandoned => {}
            End::Answered(give) => give(),
            End::Again(request) => self.place.put_back(request),
        }
    }
}
