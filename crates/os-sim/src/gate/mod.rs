//! The one gate that every operation of every facility passes: it records, and it lets faults in.

mod fault;
mod pattern;
mod script;

pub use fault::{Effect, Faults, Kill, Rule, RuleId};
pub use pattern::Pattern;
pub use script::ScriptError;

use fault::Due;
pub(crate) use fault::FirstStep;
use script::Script;

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use os::{Cause, Clock, Deadline, Error, Facility, Outcome, Result, SystemText};

use crate::clock::NodeClock;

/// One operation that passed the gate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Op {
    /// The facility that it belongs to.
    pub facility: Facility,
    /// Its Windows name, the one of [`os::Error::operation`].
    pub operation: &'static str,
    /// The object of the operation, the text of [`os::Error::object`].
    pub object: String,
}

impl Op {
    pub(crate) fn new(
        facility: Facility,
        operation: &'static str,
        object: impl fmt::Display,
    ) -> Self {
        Self {
            facility,
            operation,
            object: object.to_string(),
        }
    }

    /// An error of this operation.
    pub(crate) fn error(&self, cause: impl Into<Cause>) -> Error {
        Error::new(self.operation, &self.object, cause)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.facility, self.operation, self.object)
    }
}

/// The error of every call in a process that was killed.
pub(crate) const KILLED: Cause = Cause::Unavailable("the simulated process was killed");

/// Faults that change the machine and not only the operation.
pub(crate) trait MachineActions: Send + Sync {
    fn detach_disk(&self, name: &str);
    fn take_server_down(&self, name: &str);
}

/// How many operations a node in real time remembers.
const REMEMBERED: usize = 1000;

/// The gate of one simulated process.
pub(crate) struct Gate {
    alive: AtomicBool,
    /// The lock on the node's folder, which ends with the process.
    life: Mutex<Option<File>>,
    script: Option<Script>,
    clock: Arc<NodeClock>,
    faults: Faults,
    machine: Box<dyn MachineActions>,
    trace: Mutex<VecDeque<Op>>,
}

/// The faults that the gate injects into one operation around its effect.
pub(crate) struct FaultPlan {
    answer: Option<Outcome>,
    /// The effect stops after its first step.
    pub(crate) half_way: Option<FirstStep>,
    /// For how long a new volume cannot be formatted.
    pub(crate) unsettled: Option<Duration>,
    after: After,
}

impl FaultPlan {
    /// The result of a fault in place of the operation's.
    pub(crate) fn take_answer(&mut self) -> Option<Outcome> {
        self.answer.take()
    }
}

enum After {
    Answer(Outcome),
    Fail(Cause, Option<SystemText>),
    Kill,
    Nothing,
}

impl Gate {
    pub(crate) fn new(
        clock: Arc<NodeClock>,
        faults: Faults,
        machine: Box<dyn MachineActions>,
    ) -> Self {
        Self {
            alive: AtomicBool::new(true),
            life: Mutex::new(None),
            script: None,
            clock,
            faults,
            machine,
            trace: Mutex::default(),
        }
    }

    /// Holds this for as long as the process lives.
    pub(crate) fn living(mut self, life: File) -> Self {
        self.life = Mutex::new(Some(life));
        self
    }

    /// Follows the fault script at this path, whenever it changes.
    pub(crate) fn scripted(mut self, path: PathBuf) -> Self {
        self.script = Some(Script::at(path));
        self
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    pub(crate) fn kill(&self) {
        self.alive.store(false, Ordering::Release);
        let life = self.life.lock();
        life.unwrap_or_else(PoisonError::into_inner).take();
        self.faults.end();
    }

    /// The operations so far, and a fresh start.
    pub(crate) fn take_trace(&self) -> Vec<Op> {
        std::mem::take(&mut *self.locked_trace()).into()
    }

    /// A node in real time may serve for days, so it keeps its latest operations alone.
    fn record(&self, op: &Op) {
        let mut trace = self.locked_trace();
        if self.clock.is_real() && trace.len() == REMEMBERED {
            trace.pop_front();
        }
        trace.push_back(op.clone());
    }

    /// Takes one operation through: its effect, with whatever faults are due around it.
    pub(crate) fn pass<T>(
        &self,
        op: &Op,
        effect: impl FnOnce() -> std::result::Result<T, Cause>,
    ) -> Result<T> {
        self.pass_within(op, Deadline::NEVER, effect)
    }

    /// As [`Gate::pass`], for an operation that has a deadline.
    pub(crate) fn pass_within<T>(
        &self,
        op: &Op,
        deadline: Deadline,
        effect: impl FnOnce() -> std::result::Result<T, Cause>,
    ) -> Result<T> {
        let plan = self.admit(op, deadline)?;
        if plan.answer.is_some() {
            return Err(op.error(no_code()));
        }
        self.conclude(op, plan, effect())
    }

    /// Records the operation and lets the faults in that come before its effect.
    pub(crate) fn admit(&self, op: &Op, deadline: Deadline) -> Result<FaultPlan> {
        self.refuse_the_dead(op)?;
        self.record(op);
        let mut plan = FaultPlan {
            answer: None,
            half_way: None,
            unsettled: None,
            after: After::Nothing,
        };
        if let Some(script) = &self.script {
            script.follow(&self.faults);
        }
        if deadline.left(&*self.clock).is_none() {
            return Err(op.error(Cause::TimedOut));
        }
        for due in self.faults.due(op) {
            self.inject_fault(op, deadline, due, &mut plan)?;
        }
        self.refuse_the_dead(op)?;
        Ok(plan)
    }

    /// Lets the faults in that come after the effect.
    pub(crate) fn conclude<T>(
        &self,
        op: &Op,
        plan: FaultPlan,
        done: std::result::Result<T, Cause>,
    ) -> Result<T> {
        self.refuse_the_dead(op)?;
        match plan.after {
            After::Nothing => done.map_err(|cause| op.error(cause)),
            After::Answer(_) => Err(op.error(no_code())),
            After::Fail(cause, system_text) => Err(op.error(cause).with_system_text(system_text)),
            After::Kill => {
                self.kill();
                Err(op.error(KILLED))
            }
        }
    }

    /// As [`Gate::conclude`], for a method that has a return code.
    pub(crate) fn conclude_outcome(
        &self,
        op: &Op,
        mut plan: FaultPlan,
        done: std::result::Result<Outcome, Cause>,
    ) -> Result<Outcome> {
        let after = std::mem::replace(&mut plan.after, After::Nothing);
        let done = match after {
            After::Answer(outcome) => done.map(|_| outcome),
            other => {
                plan.after = other;
                done
            }
        };
        self.conclude(op, plan, done)
    }
}

fn no_code() -> Cause {
    Cause::Malformed("a return code was scripted for an operation that has none".to_owned())
}

impl Gate {
    fn inject_fault(
        &self,
        op: &Op,
        deadline: Deadline,
        due: Due,
        plan: &mut FaultPlan,
    ) -> Result<()> {
        match due.effect {
            Effect::Answer(outcome) => plan.answer = Some(outcome),
            Effect::AnswerAfter(outcome) => plan.after = After::Answer(outcome),
            Effect::Delay(delay) => self.delay(delay, deadline, plan),
            Effect::DetachDisk(name) => self.machine.detach_disk(&name),
            Effect::Fail(cause) => return Err(op.error(cause).with_system_text(due.system_text)),
            Effect::FailAfter(cause) => plan.after = After::Fail(cause, due.system_text),
            Effect::HalfWay => plan.half_way = Some(FirstStep::AsEver),
            Effect::HalfWayFromEnd => plan.half_way = Some(FirstStep::FromEnd),
            Effect::Hang => self.hang(due.rule),
            Effect::Kill(Kill::After) => plan.after = After::Kill,
            Effect::Kill(Kill::Before) => {
                self.kill();
                return Err(op.error(KILLED));
            }
            Effect::Overrun => self.overrun(deadline, plan),
            Effect::TakeServerDown(name) => self.machine.take_server_down(&name),
            Effect::Unsettled(time) => plan.unsettled = Some(time),
        }
        Ok(())
    }

    /// A hang that the script began ends with the script's change, and no other operation may come by
    /// to notice that.
    fn hang(&self, rule: RuleId) {
        let Some(script) = &self.script else {
            return self.faults.hang(rule, None);
        };
        let follow = || script.follow(&self.faults);
        self.faults.hang(rule, Some(&follow));
    }

    fn delay(&self, delay: Duration, deadline: Deadline, plan: &mut FaultPlan) {
        match deadline.left(&*self.clock) {
            Some(left) if delay < left => self.clock.sleep(delay),
            _ => self.overrun(deadline, plan),
        }
    }

    fn overrun(&self, deadline: Deadline, plan: &mut FaultPlan) {
        if deadline != Deadline::NEVER {
            let left = deadline.left(&*self.clock);
            self.clock.sleep(left.unwrap_or_default());
        }
        plan.after = After::Fail(Cause::TimedOut, None);
    }

    fn refuse_the_dead(&self, op: &Op) -> Result<()> {
        if self.is_alive() {
            return Ok(());
        }
        Err(op.error(KILLED))
    }

    fn locked_trace(&self) -> MutexGuard<'_, VecDeque<Op>> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
