//! What a thread of the pool does.

use super::com::Apartment;
use super::com::Called;
use super::pool::Place;
use super::queue::Request;
use super::queue::Task;
use super::session::Answer;
use super::session::Failed;
use super::session::Generation;
use super::session::Running;
use super::session::Session;

/// Serves requests until there will be no more. It connects only while it has no calls under way, since
/// nobody would ask them for their ends meanwhile.
pub(super) fn work(place: &Place) {
    // Dropped last: all that came from COM has to be gone by then.
    let apartment = match Apartment::enter() {
        Ok(apartment) => apartment,
        Err(fault) => {
            let left = place.left_over().into_iter();
            return left.for_each(|request| request.answer(Err(fault.clone())));
        }
    };
    let mut worker = Worker {
        place,
        active: Vec::new(),
        session: place.session(),
    };
    while worker.turn() == Turn::GoesOn {}
    drop(worker);
    drop(apartment);
}

/// How long a thread that has calls under way waits for their ends, in all, before it looks for new ones.
const TURN_MILLISECONDS: usize = 20;

struct Worker<'a> {
    place: &'a Place,
    active: Vec<Active>,
    session: Session,
}

/// A call under way.
struct Active {
    request: Request,
    running: Running,
}

#[derive(PartialEq, Eq)]
enum Turn {
    GoesOn,
    Over,
}

/// What becomes of a request.
enum End {
    /// Nobody waits for it any more.
    Abandoned,
    Answered(Called<Answer>),
    /// It is to be begun once more, over a connection of this generation.
    Again(Generation),
}

impl Worker<'_> {
    /// Takes what there is to take, and asks each call for its end.
    fn turn(&mut self) -> Turn {
        let own = self.session.generation();
        let request = match self.active.is_empty() {
            true => match self.place.wait(own) {
                Task::Begin(request) => Some(request),
                Task::Connect(generation) => {
                    self.connect(generation);
                    return Turn::GoesOn;
                }
                Task::End => return Turn::Over,
            },
            false => self.place.spare(own),
        };
        if let Some(request) = request {
            self.begin(request);
        }
        self.poll();
        Turn::GoesOn
    }

    /// The request that it is for waits in the queue meanwhile, and is told when there is no connection.
    fn connect(&mut self, generation: Generation) {
        match self.session.connect(generation) {
            Ok(()) => self.place.become_idle(self.session.generation()),
            Err(fault) => {
                if let Some(request) = self.place.refused() {
                    request.answer(Err(fault));
                }
            }
        }
    }

    fn begin(&mut self, request: Request) {
        if request.is_abandoned() {
            return self.conclude(request, End::Abandoned);
        }
        match self.session.begin(&request.ask) {
            Ok(running) => self.active.push(Active { request, running }),
            Err(failed) => {
                let end = End::of(failed, &request);
                self.conclude(request, end);
            }
        }
    }

    fn poll(&mut self) {
        let wait = TURN_MILLISECONDS / self.active.len().max(1);
        let wait = i32::try_from(wait.max(1)).unwrap_or(1);
        let mut at = 0;
        while let Some(call) = self.active.get_mut(at) {
            match call.advance(&mut self.session, wait) {
                None => at += 1,
                Some(end) => {
                    let Active { request, .. } = self.active.remove(at);
                    self.conclude(request, end);
                }
            }
        }
    }

    /// Gives an answer, or the request back, after a thread that has nothing more to do was counted idle.
    fn conclude(&self, mut request: Request, end: End) {
        if self.active.is_empty() {
            self.place.become_idle(self.session.generation());
        }
        match end {
            End::Abandoned => {}
            End::Answered(answer) => request.answer(answer),
            End::Again(generation) => {
                request.needs = Some(generation);
                self.place.put_back(request);
            }
        }
    }
}

impl Active {
    /// What becomes of it, if that is known within this many milliseconds.
    fn advance(&mut self, session: &mut Session, wait: i32) -> Option<End> {
        if self.request.is_abandoned() {
            return Some(End::Abandoned);
        }
        match session.advance(&mut self.running, &self.request.ask, wait) {
            Ok(answer) => answer.map(|answer| End::Answered(Ok(answer))),
            Err(failed) => Some(End::of(failed, &self.request)),
        }
    }
}

impl End {
    /// The connection may have died since it was last used: that much is worth a second attempt.
    fn of(failed: Failed, request: &Request) -> Self {
        match failed.again.filter(|_| request.needs.is_none()) {
            Some(generation) => Self::Again(generation),
            None => Self::Answered(Err(failed.fault)),
        }
    }
}
