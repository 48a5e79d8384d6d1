//! The jobs for WMI: each is a type of its own, with its reply and its states. The queue and the threads handle any
//! job, as a waiting [`Request`] or an [`ActiveJob`] under way.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use automation::WmiError;
use os::schema::Class;

use super::com::Called;
use super::session::{Broken, Connection, Generation, Session};

/// A question to WMI, complete, to be begun again over another connection if it must.
///
/// It goes to another thread, and its reply comes back. A stage stays there: it holds COM values.
pub(super) trait Job: Send + 'static {
    type Reply: Send + 'static;
    /// How far it is, over one connection.
    type State: 'static;

    /// The class whose namespace it goes to.
    fn class(&self) -> &'static Class;

    fn begin(&self, over: &Connection) -> Stepped<Self>;

    /// Its next stage, or its reply, within this many milliseconds.
    fn advance(&self, state: Self::State, over: &Connection, wait: i32) -> Stepped<Self>;
}

/// The step after a stage; the stage is consumed and cannot be used again.
pub(super) enum Step<S, R> {
    On(S),
    Ended(R),
}

pub(super) type Stepped<J> = Result<Step<<J as Job>::State, <J as Job>::Reply>, Broken>;

/// A job with a waiting caller, of any reply.
pub(super) trait Request: Send {
    /// For a repeated one: the generation of connections that it may use.
    fn needs(&self) -> Option<Generation>;

    /// Whether the caller no longer waits.
    fn is_abandoned(&self) -> bool;

    /// Begins it over this connection of the session's.
    fn begin(self: Box<Self>, connection: Rc<Connection>, session: &mut Session) -> Next;

    /// Answers it without WMI.
    fn refuse(self: Box<Self>, fault: WmiError);
}

/// A running job, for any type of reply. Dropping it releases its COM objects.
pub(super) trait ActiveJob {
    /// Its state within this many milliseconds.
    fn advance(self: Box<Self>, session: &mut Session, wait: i32) -> Next;
}

/// A job's next state.
pub(super) enum Next {
    GoesOn(Box<dyn ActiveJob>),
    Over(End),
}

/// The end of a job.
pub(super) enum End {
    Abandoned,
    Answered(Answer),
    /// Its connection was lost: it begins once more, over one that it [needs](Request::needs).
    Again(Box<dyn Request>),
}

/// Sends the answer to the caller; this one may send another request at once.
pub(super) type Answer = Box<dyn FnOnce()>;

/// A job, and the sender of its reply.
pub(super) struct PendingJob<J: Job> {
    job: J,
    needs: Option<Generation>,
    abandoned: Arc<AtomicBool>,
    reply: mpsc::Sender<Called<J::Reply>>,
}

/// The caller's end of a request.
pub(super) struct ReplyHandle<R> {
    abandoned: Arc<AtomicBool>,
    pub(super) answer: mpsc::Receiver<Called<R>>,
}

impl<R> ReplyHandle<R> {
    /// Waits no more.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

impl<J: Job> PendingJob<J> {
    pub(super) fn new(job: J) -> (Self, ReplyHandle<J::Reply>) {
        let (reply, answer) = mpsc::channel();
        let abandoned = Arc::new(AtomicBool::new(false));
        let reply_handle = ReplyHandle {
            abandoned: Arc::clone(&abandoned),
            answer,
        };
        let pending = Self {
            job,
            needs: None,
            abandoned,
            reply,
        };
        (pending, reply_handle)
    }

    /// The same, for a connection of this generation.
    pub(super) fn again(self, over: Generation) -> Self {
        let needs = Some(over);
        Self { needs, ..self }
    }

    fn next(self, stepped: Stepped<J>, connection: Rc<Connection>, session: &mut Session) -> Next {
        match stepped {
            Ok(Step::On(state)) => Next::GoesOn(Box::new(UnderWay {
                pending: self,
                state,
                connection,
            })),
            Ok(Step::Ended(reply)) => Next::Over(End::Answered(self.answer(Ok(reply)))),
            Err(broken) => {
                session.heed(&broken.fault, &connection);
                Next::Over(self.broken(broken, connection.generation.next()))
            }
        }
    }

    /// The connection may have died since its last use: this justifies a second attempt.
    fn broken(self, broken: Broken, next: Generation) -> End {
        match broken.may_repeat && self.needs.is_none() {
            true => End::Again(Box::new(self.again(next))),
            false => End::Answered(self.answer(Err(broken.fault))),
        }
    }

    fn answer(self, answer: Called<J::Reply>) -> Answer {
        let reply = self.reply;
        // The caller may have gone meanwhile.
        Box::new(move || drop(reply.send(answer)))
    }
}

impl<J: Job> Request for PendingJob<J> {
    fn needs(&self) -> Option<Generation> {
        self.needs
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    fn begin(self: Box<Self>, connection: Rc<Connection>, session: &mut Session) -> Next {
        if self.is_abandoned() {
            return Next::Over(End::Abandoned);
        }
        let stepped = self.job.begin(&connection);
        self.next(stepped, connection, session)
    }

    fn refuse(self: Box<Self>, fault: WmiError) {
        self.answer(Err(fault))();
    }
}

/// A begun job, and its connection.
struct UnderWay<J: Job> {
    pending: PendingJob<J>,
    state: J::State,
    connection: Rc<Connection>,
}

impl<J: Job> ActiveJob for UnderWay<J> {
    fn advance(self: Box<Self>, session: &mut Session, wait: i32) -> Next {
        let Self {
            pending,
            state,
            connection,
        } = *self;
        if pending.is_abandoned() {
            return Next::Over(End::Abandoned);
        }
        let stepped = pending.job.advance(state, &connection, wait);
        pending.next(stepped, connection, session)
    }
}
