use std::collections::{BTreeMap, VecDeque};

use super::job::{ReplyHandle, Request};
use super::session::Generation;

/// The waiting requests of a namespace, and the states of its threads.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Entry>,
    threads: BTreeMap<ThreadNumber, Standing>,
    started: ThreadNumber,
    /// The generation of new connections.
    generation: Generation,
    closed: bool,
}

/// Names a thread of a namespace.
pub(super) type ThreadNumber = u64;

/// A thread's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has calls under way, or connects and may hang there.
    Busy,
    /// It has nothing to do, or soon: it counts as idle before it gives its last answer, so a caller's next request
    /// finds it at once. With the generation of its connection, if any.
    Idle(Option<Generation>),
}

/// The task of a thread with no call under way and none to begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Make a connection of this generation, and look again.
    Connect(Generation),
    /// There will be nothing more.
    End,
}

/// A request, and the thread connecting for it.
struct Entry {
    request: Box<dyn Request>,
    connector: Option<ThreadNumber>,
}

impl Entry {
    fn unclaimed(request: Box<dyn Request>) -> Self {
        let connector = None;
        Self { request, connector }
    }

    fn goes_over(&self, connection: Generation) -> bool {
        let needs = self.request.needs();
        needs.is_none_or(|needs| needs <= connection)
    }
}

impl Queue {
    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many requests wait, with those for which a thread connects.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether more unclaimed requests wait than there are threads to connect for them.
    pub(super) fn is_short_of_threads(&self) -> bool {
        self.unclaimed() > self.idle()
    }

    pub(super) fn push(&mut self, request: Box<dyn Request>) {
        self.waiting.push_back(Entry::unclaimed(request));
    }

    /// Back to the front, behind others put back before.
    pub(super) fn put_back(&mut self, request: Box<dyn Request>) {
        self.generation = self.generation.max(request.needs().unwrap_or_default());
        let is_repeated = |it: &&Entry| it.request.needs().is_some();
        let at = self.waiting.iter().take_while(is_repeated).count();
        self.waiting.insert(at, Entry::unclaimed(request));
    }

    /// The caller no longer waits for this one. It may have been taken already.
    pub(super) fn abandon<R>(&mut self, asker: &ReplyHandle<R>) {
        asker.abandon();
        self.waiting.retain(|it| !it.request.is_abandoned());
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The number of a starting thread. It counts as soon as it has a state.
    pub(super) fn next_thread(&mut self) -> ThreadNumber {
        self.started += 1;
        self.started
    }

    pub(super) fn set_standing(&mut self, thread: ThreadNumber, standing: Standing) {
        self.threads.insert(thread, standing);
        self.unclaim(thread);
    }

    /// A thread has ended, even by a panic. The caller it was connecting for gets no answer, so a fatal request ends
    /// one thread at most.
    pub(super) fn leave(&mut self, thread: ThreadNumber) {
        self.threads.remove(&thread);
        self.waiting.retain(|it| it.connector != Some(thread));
    }

    /// All waiting callers see that no answers will come.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
    }

    /// A request for an idle thread with a connection of this generation. The thread is then busy.
    pub(super) fn begin(
        &mut self,
        thread: ThreadNumber,
        own: Generation,
    ) -> Option<Box<dyn Request>> {
        let request = self.remove(|it| it.goes_over(own))?;
        self.set_standing(thread, Standing::Busy);
        Some(request)
    }

    /// The task of an idle thread that can begin nothing, marked as taken; `None` if there is
    /// nothing yet.
    ///
    /// A request stays here while a thread connects for it: another, connected thread takes it meanwhile. One thread
    /// connects for one request, and a thread hung for an abandoned request stops no other from connecting.
    pub(super) fn duty(&mut self, thread: ThreadNumber) -> Option<Duty> {
        if self.unclaimed() > self.ready() {
            self.set_standing(thread, Standing::Busy);
            let mut waiting = self.waiting.iter_mut();
            if let Some(entry) = waiting.find(|it| it.connector.is_none()) {
                entry.connector = Some(thread);
            }
            return Some(Duty::Connect(self.generation));
        }
        self.closed.then_some(Duty::End)
    }

    /// A request for a thread with calls under way: one that no idle thread will take.
    pub(super) fn spare(&mut self, own: Generation) -> Option<Box<dyn Request>> {
        let are_short = self.unclaimed() > self.idle();
        self.remove(|it| it.goes_over(own) && (are_short || it.connector.is_some()))
    }

    /// The request for which a thread connects, if still here.
    pub(super) fn claimed(&mut self, thread: ThreadNumber) -> Option<Box<dyn Request>> {
        self.remove(|it| it.connector == Some(thread))
    }

    /// The first without a connecting thread.
    pub(super) fn first(&mut self) -> Option<Box<dyn Request>> {
        self.remove(|it| it.connector.is_none())
    }

    fn remove(&mut self, is_it: impl Fn(&Entry) -> bool) -> Option<Box<dyn Request>> {
        let at = self.waiting.iter().position(is_it)?;
        self.waiting.remove(at).map(|entry| entry.request)
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

    use super::{Duty, Queue, Standing, ThreadNumber};
    use crate::wmi::job::{PendingJob, Request};
    use crate::wmi::method::{ListParameters, Signature};
    use crate::wmi::session::Generation;

    const FIRST: Generation = Generation::FIRST;

    fn asked() -> PendingJob<ListParameters> {
        let (class, method) = (&disk::CLASS, &disk::REFRESH);
        PendingJob::new(ListParameters(Signature { class, method })).0
    }

    fn request() -> Box<dyn Request> {
        Box::new(asked())
    }

    fn repeated(generation: Generation) -> Box<dyn Request> {
        Box::new(asked().again(generation))
    }

    fn queue(standings: &[Standing]) -> (Queue, Vec<ThreadNumber>) {
        let mut queue = Queue::default();
        let set_standing = |standing: &Standing| {
            let thread = queue.next_thread();
            queue.set_standing(thread, *standing);
            thread
        };
        let threads = standings.iter().map(set_standing).collect();
        (queue, threads)
    }

    #[test]
    fn nobody_connects_for_what_an_idle_thread_will_take() {
        let idle = [Standing::Idle(None), Standing::Idle(Some(FIRST))];
        let (mut queue, threads) = queue(&idle);
        queue.push(request());
        assert_eq!(queue.duty(threads[0]), None);
        assert!(!queue.is_short_of_threads());
        assert!(queue.begin(threads[1], FIRST).is_some());
    }

    #[test]
    fn what_a_thread_connects_for_goes_to_a_busy_one_that_is_connected() {
        let standings = [Standing::Idle(None), Standing::Busy, Standing::Idle(None)];
        let (mut queue, threads) = queue(&standings);
        queue.push(request());
        assert!(queue.spare(FIRST).is_none());
        assert_eq!(queue.duty(threads[0]), Some(Duty::Connect(FIRST)));
        assert!(!queue.is_short_of_threads());
        assert!(queue.spare(FIRST).is_some());
    }

    #[test]
    fn one_thread_connects_for_one_request() {
        let (mut queue, threads) = queue(&[Standing::Idle(None); 2]);
        queue.push(request());
        assert!(queue.duty(threads[0]).is_some());
        assert!(queue.duty(threads[1]).is_none());
        queue.push(request());
        assert!(queue.duty(threads[1]).is_some());
    }

    #[test]
    fn a_thread_that_connects_for_nobody_keeps_no_other_from_connecting() {
        let (mut queue, threads) = queue(&[Standing::Idle(None), Standing::Busy]);
        queue.push(request());
        assert!(queue.duty(threads[0]).is_some());
        assert!(queue.spare(FIRST).is_some());
        queue.push(request());
        assert!(queue.is_short_of_threads());
        queue.set_standing(threads[1], Standing::Idle(None));
        assert!(queue.duty(threads[1]).is_some());
        assert!(queue.claimed(threads[0]).is_none());
        assert!(queue.claimed(threads[1]).is_some());
    }

    #[test]
    fn what_is_repeated_needs_a_younger_connection_and_others_pass_it() {
        let (mut queue, threads) = queue(&[Standing::Idle(Some(FIRST)), Standing::Busy]);
        queue.push(request());
        queue.put_back(repeated(FIRST.next()));
        // An older connection is good enough for a first attempt.
        let begun = queue.begin(threads[0], FIRST);
        assert!(begun.is_some_and(|it| it.needs().is_none()));
        assert!(queue.spare(FIRST).is_none());
        assert!(queue.is_short_of_threads());
        queue.set_standing(threads[0], Standing::Idle(Some(FIRST)));
        assert!(queue.begin(threads[0], FIRST).is_none());
        let next = Duty::Connect(FIRST.next());
        assert_eq!(queue.duty(threads[0]), Some(next));
        assert!(queue.spare(FIRST.next()).is_some());
    }

    #[test]
    fn repeated_requests_stay_in_their_order_before_the_others() {
        let (mut queue, _) = queue(&[]);
        queue.push(request());
        let order = [FIRST.next().next(), FIRST.next()];
        for needs in order {
            queue.put_back(repeated(needs));
        }
        for needs in order {
            let first = queue.first().expect("a request");
            assert_eq!(first.needs(), Some(needs));
        }
        assert!(queue.first().is_some_and(|it| it.needs().is_none()));
    }

    #[test]
    fn a_caller_that_gave_up_is_not_waited_for() {
        let (mut queue, _) = queue(&[]);
        let (class, method) = (&disk::CLASS, &disk::REFRESH);
        let (asked, asker) = PendingJob::new(ListParameters(Signature { class, method }));
        queue.push(Box::new(asked));
        assert!(queue.is_short_of_threads());
        queue.abandon(&asker);
        assert!(!queue.is_short_of_threads());
    }
}
