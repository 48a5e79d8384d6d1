use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use super::com::Called;
use super::session::Answer;
use super::session::Ask;
use super::session::Generation;

/// The requests of a namespace that wait for a thread, and what its threads are about.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Request>,
    threads: BTreeMap<ThreadNumber, Standing>,
    started: ThreadNumber,
    /// Of the connections that are made now.
    generation: Generation,
    closed: bool,
}

/// Names a thread of a namespace.
pub(super) type ThreadNumber = u64;

/// What a thread is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has calls under way, or connects and may hang there.
    Busy,
    /// It has nothing to do, or is about to: it is counted before it gives its last answer, so that
    /// whoever asks again at once finds it. With the generation of its connection, if it has one.
    Idle(Option<Generation>),
}

/// What a thread that has nothing under way is to do.
pub(super) enum Task {
    /// Take this over its connection.
    Begin(Request),
    /// Make a connection of this generation, and look again.
    Connect(Generation),
    /// There will be nothing more.
    End,
}

/// What somebody waits for.
pub(super) struct Request {
    pub(super) ask: Ask,
    /// Of a request that is repeated: the generation of connections over which it may be.
    pub(super) needs: Option<Generation>,
    /// Who connects for it.
    connector: Option<ThreadNumber>,
    abandoned: Arc<AtomicBool>,
    reply: mpsc::Sender<Called<Answer>>,
}

/// The asker's end of a request.
pub(super) struct Asker {
    abandoned: Arc<AtomicBool>,
    pub(super) answer: mpsc::Receiver<Called<Answer>>,
}

impl Request {
    pub(super) fn new(ask: Ask) -> (Self, Asker) {
        let (reply, answer) = mpsc::channel();
        let abandoned = Arc::new(AtomicBool::new(false));
        let asker = Asker {
            abandoned: Arc::clone(&abandoned),
            answer,
        };
        let request = Self {
            ask,
            needs: None,
            connector: None,
            abandoned,
            reply,
        };
        (request, asker)
    }

    /// Whether nobody waits for the answer any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    fn goes_over(&self, connection: Generation) -> bool {
        self.needs.is_none_or(|needs| needs <= connection)
    }

    pub(super) fn answer(&self, answer: Called<Answer>) {
        // Whoever asked may have gone meanwhile.
        let _ = self.reply.send(answer);
    }
}

impl Queue {
    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many requests wait, those included for which a thread connects.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether more requests wait that nobody connects for than there are threads to do so.
    pub(super) fn is_short_of_threads(&self) -> bool {
        self.unclaimed() > self.idle()
    }

    pub(super) fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// Back to the front, behind those that are there for the same reason.
    pub(super) fn put_back(&mut self, request: Request) {
        self.generation = self.generation.max(request.needs.unwrap_or_default());
        let repeated = self.waiting.iter().take_while(|it| it.needs.is_some());
        let at = repeated.count();
        self.waiting.insert(at, request);
    }

    /// Nobody waits for this one any more. It may have been taken already.
    pub(super) fn abandon(&mut self, asker: &Asker) {
        asker.abandoned.store(true, Ordering::Relaxed);
        self.waiting.retain(|request| !request.is_abandoned());
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The number of a thread that is being started. It counts as soon as it stands somewhere.
    pub(super) fn next_thread(&mut self) -> ThreadNumber {
        self.started += 1;
        self.started
    }

    pub(super) fn stand(&mut self, thread: ThreadNumber, standing: Standing) {
        self.threads.insert(thread, standing);
        self.unclaim(thread);
    }

    /// A thread has ended, in whatever way. Who it was connecting for sees that no answer will come, so that
    /// what brings threads down brings down one for each request at most.
    pub(super) fn leave(&mut self, thread: ThreadNumber) {
        self.threads.remove(&thread);
        self.waiting.retain(|it| it.connector != Some(thread));
    }

    /// All who wait see that no answers will come.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
    }

    /// What an idle thread is to do, as one that is about it; `None` when there is nothing yet.
    ///
    /// A request stays here while a thread connects for it: another whose connection is there takes it
    /// meanwhile. One thread connects for one request, and who hangs there with nobody's request any more
    /// keeps no other thread from connecting.
    pub(super) fn task(&mut self, thread: ThreadNumber, own: Option<Generation>) -> Option<Task> {
        if let Some(request) = self.take(own) {
            self.stand(thread, Standing::Busy);
            return Some(Task::Begin(request));
        }
        if self.unclaimed() > self.ready() {
            self.stand(thread, Standing::Busy);
            let mut waiting = self.waiting.iter_mut();
            if let Some(request) = waiting.find(|it| it.connector.is_none()) {
                request.connector = Some(thread);
            }
            return Some(Task::Connect(self.generation));
        }
        self.closed.then_some(Task::End)
    }

    /// A request for a thread that has calls under way already: one that no idle thread will take.
    pub(super) fn spare(&mut self, own: Option<Generation>) -> Option<Request> {
        let own = own?;
        let are_short = self.unclaimed() > self.idle();
        self.remove(|it| it.goes_over(own) && (are_short || it.connector.is_some()))
    }

    /// The request that a thread connects for, if it is still here.
    pub(super) fn claimed(&mut self, thread: ThreadNumber) -> Option<Request> {
        self.remove(|it| it.connector == Some(thread))
    }

    /// The first that nobody connects for.
    pub(super) fn first(&mut self) -> Option<Request> {
        self.remove(|it| it.connector.is_none())
    }

    /// The first that can go over a connection of this generation.
    fn take(&mut self, own: Option<Generation>) -> Option<Request> {
        let own = own?;
        self.remove(|it| it.goes_over(own))
    }

    fn remove(&mut self, is_it: impl Fn(&Request) -> bool) -> Option<Request> {
        let at = self.waiting.iter().position(is_it)?;
        let mut request = self.waiting.remove(at)?;
        request.connector = None;
        Some(request)
    }

    fn unclaim(&mut self, thread: ThreadNumber) {
        let all = self.waiting.iter_mut();
        let claimed = all.filter(|it| it.connector == Some(thread));
        claimed.for_each(|it| it.connector = None);
    }

    fn unclaimed(&self) -> usize {
        let all = self.waiting.iter();
        all.filter(|it| it.connector.is_none()).count()
    }

    fn idle(&self) -> usize {
        self.count(|standing| matches!(standing, Standing::Idle(_)))
    }

    /// Idle threads that can take any request at once.
    fn ready(&self) -> usize {
        let ready = Standing::Idle(Some(self.generation));
        self.count(|standing| standing == ready)
    }

    fn count(&self, is_one: impl Fn(Standing) -> bool) -> usize {
        self.threads.values().filter(|it| is_one(**it)).count()
    }
}

#[cfg(test)]
mod tests {
    use os::schema::disk;

    use super::Queue;
    use super::Request;
    use super::Standing;
    use super::Task;
    use super::ThreadNumber;
    use crate::wmi::method::Signature;
    use crate::wmi::session::Ask;
    use crate::wmi::session::Generation;

    const FIRST: Generation = Generation::FIRST;

    fn request() -> Request {
        let (class, method) = (&disk::CLASS, &disk::REFRESH);
        Request::new(Ask::Describe(Signature { class, method })).0
    }

    fn repeated() -> Request {
        let needs = Some(FIRST.next());
        Request { needs, ..request() }
    }

    fn queue(standings: &[Standing]) -> (Queue, Vec<ThreadNumber>) {
        let mut queue = Queue::default();
        let stand = |standing: &Standing| {
            let thread = queue.next_thread();
            queue.stand(thread, *standing);
            thread
        };
        let threads = standings.iter().map(stand).collect();
        (queue, threads)
    }

    #[test]
    fn nobody_connects_for_what_an_idle_thread_will_take() {
        let idle = [Standing::Idle(None), Standing::Idle(Some(FIRST))];
        let (mut queue, threads) = queue(&idle);
        queue.push(request());
        assert!(queue.task(threads[0], None).is_none());
        assert!(!queue.is_short_of_threads());
        let task = queue.task(threads[1], Some(FIRST));
        assert!(matches!(task, Some(Task::Begin(_))));
    }

    #[test]
    fn what_a_thread_connects_for_goes_to_a_busy_one_that_is_connected() {
        let standings = [Standing::Idle(None), Standing::Busy, Standing::Idle(None)];
        let (mut queue, threads) = queue(&standings);
        queue.push(request());
        assert!(queue.spare(Some(FIRST)).is_none());
        let task = queue.task(threads[0], None);
        assert!(matches!(task, Some(Task::Connect(FIRST))));
        assert!(!queue.is_short_of_threads());
        assert!(queue.spare(None).is_none());
        assert!(queue.spare(Some(FIRST)).is_some());
    }

    #[test]
    fn one_thread_connects_for_one_request() {
        let (mut queue, threads) = queue(&[Standing::Idle(None); 2]);
        queue.push(request());
        assert!(queue.task(threads[0], None).is_some());
        assert!(queue.task(threads[1], None).is_none());
        queue.push(request());
        assert!(queue.task(threads[1], None).is_some());
    }

    #[test]
    fn a_thread_that_connects_for_nobody_keeps_no_other_from_connecting() {
        let (mut queue, threads) = queue(&[Standing::Idle(None), Standing::Busy]);
        queue.push(request());
        assert!(queue.task(threads[0], None).is_some());
        assert!(queue.spare(Some(FIRST)).is_some());
        queue.push(request());
        assert!(queue.is_short_of_threads());
        queue.stand(threads[1], Standing::Idle(None));
        assert!(queue.task(threads[1], None).is_some());
        assert!(queue.claimed(threads[0]).is_none());
        assert!(queue.claimed(threads[1]).is_some());
    }

    #[test]
    fn what_is_repeated_needs_a_younger_connection_and_others_pass_it() {
        let (mut queue, threads) = queue(&[Standing::Idle(Some(FIRST)), Standing::Busy]);
        queue.push(request());
        queue.put_back(repeated());
        // The older one is good enough for the request that is none.
        let task = queue.task(threads[0], Some(FIRST));
        assert!(matches!(task, Some(Task::Begin(it)) if it.needs.is_none()));
        assert!(queue.spare(Some(FIRST)).is_none());
        assert!(queue.is_short_of_threads());
        queue.stand(threads[0], Standing::Idle(Some(FIRST)));
        let task = queue.task(threads[0], Some(FIRST));
        assert!(matches!(task, Some(Task::Connect(it)) if it == FIRST.next()));
        assert!(queue.spare(Some(FIRST.next())).is_some());
    }

    #[test]
    fn repeated_requests_stay_in_their_order_before_the_others() {
        let (mut queue, _) = queue(&[]);
        queue.push(request());
        let calls = [repeated(), repeated()];
        let order = calls
            .each_ref()
            .map(|it| std::ptr::from_ref(&*it.abandoned));
        calls.into_iter().for_each(|it| queue.put_back(it));
        for wanted in order {
            let first = queue.first().expect("a request");
            assert!(std::ptr::eq(&*first.abandoned, wanted));
        }
        assert!(queue.first().is_some_and(|it| it.needs.is_none()));
    }

    #[test]
    fn whoever_gave_up_is_not_waited_for() {
        let (mut queue, _) = queue(&[]);
        let (class, method) = (&disk::CLASS, &disk::REFRESH);
        let (request, asker) = Request::new(Ask::Describe(Signature { class, method }));
        queue.push(request);
        assert!(queue.is_short_of_threads());
        queue.abandon(&asker);
        assert!(!queue.is_short_of_threads());
    }
}
