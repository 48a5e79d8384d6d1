use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use os::{Cause, Facility, Outcome, SystemText};

use super::{Op, Pattern};

/// The faults to inject, and when. Cheap to clone: all clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Shared>);

/// Names a rule, to take it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(u64);

/// An effect, and the operations that it applies to.
///
/// ```
/// use os::Win32;
/// use wincsi_os_sim::{Effect, Rule};
///
/// let rule = Rule::on("MSFT_Disk.CreatePartition", Effect::fail(Win32::IO_DEVICE))
///     .from_nth(2)
///     .times(1);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Only operations of this facility.
    pub facility: Option<Facility>,
    /// Only operations with such a name.
    pub operation: Pattern,
    /// Only operations on such an object.
    pub object: Pattern,
    /// The first matching operation that it applies to, counted from 1.
    pub from_nth: u32,
    /// How many operations it applies to; `None`: all from then on.
    pub times: Option<u32>,
    /// The effect on them.
    pub effect: Effect,
    /// The text of the system for a failure that the effect injects, in its own language.
    pub system_text: Option<SystemText>,
}

/// The effect on an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A provider's method answers this instead of doing anything.
    Answer(Outcome),
    /// A provider's method takes effect, then answers this.
    AnswerAfter(Outcome),
    /// It begins later by this much. If its deadline passes before, the caller gets a timeout at the deadline, and the
    /// operation still takes effect.
    Delay(Duration),
    /// The disk of this name is pulled out first.
    DetachDisk(String),
    /// It fails without an effect.
    Fail(Cause),
    /// It takes effect, then fails.
    FailAfter(Cause),
    /// It stops after its first step and fails; the crate's page lists the operations that have steps.
    HalfWay,
    /// As [`Effect::HalfWay`], but the operation begins with its last step.
    HalfWayFromEnd,
    /// It does not begin until it is released. Its deadline does not help.
    Hang,
    /// The process is killed: this and every later operation fails.
    Kill(Kill),
    /// It takes effect, but returns after the deadline, as timed out.
    Overrun,
    /// The SMB or iSCSI server of this name goes down first.
    TakeServerDown(String),
    /// `MSFT_Volume.Format` returns "invalid parameter" for this long after the volume appeared, while it has
    /// no drive letter (<https://github.com/PowerShell/PowerShell/issues/7771>, which has no duration). Other
    /// operations work as usual.
    Unsettled(Duration),
}

/// The first step of a method, after which it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstStep {
    AsEver,
    FromEnd,
}

/// When a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The operation has taken effect, but nobody learns of it.
    After,
    /// The operation has not begun.
    Before,
}

impl Rule {
    /// `effect` applies to every operation of this name (`*` stands for anything).
    pub fn on(operation: &str, effect: Effect) -> Self {
        Self {
            facility: None,
            operation: Pattern::from(operation),
            object: Pattern::from("*"),
            from_nth: 1,
            times: None,
            effect,
            system_text: None,
        }
    }

    /// Only in this facility.
    #[must_use]
    pub fn in_facility(self, facility: Facility) -> Self {
        Self {
            facility: Some(facility),
            ..self
        }
    }

    /// Only on such objects (`*` stands for anything).
    #[must_use]
    pub fn object(self, object: &str) -> Self {
        Self {
            object: Pattern::from(object),
            ..self
        }
    }

    /// From the `nth` matching operation on, counted from 1.
    #[must_use]
    pub fn from_nth(self, nth: u32) -> Self {
        Self {
            from_nth: nth,
            ..self
        }
    }

    /// At most so many times.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// The failure has this text of the system's. Outcomes have a text of their own.
    #[must_use]
    pub fn with_system_text(self, text: &str) -> Self {
        Self {
            system_text: SystemText::new(text),
            ..self
        }
    }

    fn matches(&self, op: &Op) -> bool {
        self.facility.is_none_or(|facility| facility == op.facility)
            && self.operation.matches(op.operation)
            && self.object.matches(&op.object)
    }

    fn is_due_at(&self, occurrence: u32) -> bool {
        let past = occurrence.checked_sub(self.from_nth);
        past.is_some_and(|past| self.times.is_none_or(|times| past < times))
    }
}

impl Effect {
    /// Failure with a Win32 code or an HRESULT.
    pub fn fail(cause: impl Into<Cause>) -> Self {
        Self::Fail(cause.into())
    }
}

impl Faults {
    /// Adds a rule.
    pub fn add(&self, rule: Rule) -> RuleId {
        self.0.add(rule, Origin::Api)
    }

    /// Takes a rule back, which releases the operations that hang by it.
    pub fn remove(&self, id: RuleId) {
        self.0.retain(|armed| armed.id != id);
    }

    /// Takes all rules back.
    pub fn clear(&self) {
        self.0.retain(|_| false);
    }

    /// Waits until so many operations hang, for at most `patience` of real time.
    #[must_use]
    pub fn wait_until_hanging(&self, operations: usize, patience: Duration) -> bool {
        let list = self.0.locked();
        let (list, _) = self
            .0
            .changed
            .wait_timeout_while(list, patience, |list| list.hanging() < operations)
            .unwrap_or_else(PoisonError::into_inner);
        list.hanging() >= operations
    }

    /// Puts the rules of the folder's script in the place of those it had before.
    pub(super) fn replace_script(&self, rules: Vec<Rule>) {
        self.0.retain(|armed| armed.origin != Origin::Script);
        for rule in rules {
            self.0.add(rule, Origin::Script);
        }
    }

    /// Counts the operation against every rule and returns the faults that apply to it.
    pub(super) fn due(&self, op: &Op) -> Vec<Due> {
        let mut list = self.0.locked();
        let mut due = Vec::new();
        for armed in list.rules.iter_mut().filter(|armed| armed.rule.matches(op)) {
            armed.occurrences = armed.occurrences.saturating_add(1);
            if armed.rule.is_due_at(armed.occurrences) {
                due.push(Due {
                    rule: armed.id,
                    effect: armed.rule.effect.clone(),
                    system_text: armed.rule.system_text.clone(),
                });
            }
        }
        due
    }

    /// Lets everything go that hangs, now and later: nobody hangs in a process that is dead.
    pub(super) fn end(&self) {
        self.0.locked().has_ended = true;
        self.0.changed.notify_all();
    }

    /// Blocks until the rule is taken back, which `follow` may do: it is called now and then.
    pub(super) fn hang(&self, id: RuleId, follow: Option<&dyn Fn()>) {
        self.change_hanging(|hanging| hanging.push(id));
        while self.hangs(id, follow.map(|_| FOLLOW)) {
            follow.inspect(|follow| follow());
        }
        self.change_hanging(|hanging| {
            if let Some(own) = hanging.iter().position(|by| *by == id) {
                hanging.swap_remove(own);
            }
        });
    }

    fn change_hanging(&self, change: impl FnOnce(&mut Vec<RuleId>)) {
        change(&mut self.0.locked().hanging);
        self.0.changed.notify_all();
    }

    /// Waits until the rule is taken back, and tells whether it is still there after `pause`.
    fn hangs(&self, id: RuleId, pause: Option<Duration>) -> bool {
        let is_there =
            |list: &mut List| !list.has_ended && list.rules.iter().any(|armed| armed.id == id);
        let changed = &self.0.changed;
        let list = self.0.locked();
        let mut list = match pause {
            Some(pause) => {
                let waited = changed.wait_timeout_while(list, pause, is_there);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = changed.wait_while(list, is_there);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        is_there(&mut list)
    }
}

/// How often a hanging operation checks whether the script has changed.
const FOLLOW: Duration = Duration::from_millis(50);

/// A fault that applies to one operation, and its rule.
pub(super) struct Due {
    pub(super) rule: RuleId,
    pub(super) effect: Effect,
    pub(super) system_text: Option<SystemText>,
}

#[derive(Debug, Default)]
struct Shared {
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct List {
    /// For each operation that hangs, or has been released and has not noticed: by which rule.
    hanging: Vec<RuleId>,
    has_ended: bool,
    last_id: u64,
    rules: Vec<Armed>,
}

#[derive(Debug)]
struct Armed {
    id: RuleId,
    occurrences: u32,
    origin: Origin,
    rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Api,
    Script,
}

impl List {
    /// Operations that hang by a rule that is still there.
    fn hanging(&self) -> usize {
        let hangs = |by: &&RuleId| self.rules.iter().any(|armed| armed.id == **by);
        self.hanging.iter().filter(hangs).count()
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, rule: Rule, origin: Origin) -> RuleId {
        let mut list = self.locked();
        list.last_id += 1;
        let id = RuleId(list.last_id);
        list.rules.push(Armed {
            id,
            occurrences: 0,
            origin,
            rule,
        });
        id
    }

    fn retain(&self, keep: impl FnMut(&Armed) -> bool) {
        self.locked().rules.retain(keep);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use os::{Facility, Win32};

    use super::{Effect, Faults, Rule};
    use crate::gate::Op;

    fn op(operation: &'static str, object: &str) -> Op {
        Op::new(Facility::Storage, operation, object)
    }

    #[test]
    fn the_nth_matching_operation_is_hit_and_no_other() {
        let faults = Faults::default();
        let broken = Effect::fail(Win32::IO_DEVICE);
        faults.add(
            Rule::on("MSFT_Disk.*", broken)
                .object("*disk-1*")
                .from_nth(2)
                .times(1),
        );
        let hits = |operation, object| faults.due(&op(operation, object)).len();
        assert_eq!(hits("MSFT_Disk.Refresh", "disk-1"), 0);
        assert_eq!(hits("MSFT_Disk.Refresh", "disk-2"), 0);
        assert_eq!(hits("MSFT_Partition.Online", "disk-1"), 0);
        assert_eq!(hits("MSFT_Disk.Online", "disk-1"), 1);
        assert_eq!(hits("MSFT_Disk.Online", "disk-1"), 0);
    }

    #[test]
    fn what_is_released_hangs_no_more_though_it_has_not_noticed() {
        let faults = Faults::default();
        let rule = faults.add(Rule::on("a", Effect::Hang));
        faults.0.locked().hanging.push(rule);
        assert!(faults.wait_until_hanging(1, Duration::ZERO));
        faults.remove(rule);
        assert!(!faults.wait_until_hanging(1, Duration::ZERO));
    }

    #[test]
    fn a_new_script_replaces_the_old_one_alone() {
        let faults = Faults::default();
        faults.add(Rule::on("a", Effect::HalfWay));
        faults.replace_script(vec![
            Rule::on("a", Effect::Hang),
            Rule::on("a", Effect::Hang),
        ]);
        faults.replace_script(vec![Rule::on("a", Effect::Overrun)]);
        let effects: Vec<_> = faults
            .due(&op("a", ""))
            .into_iter()
            .map(|due| due.effect)
            .collect();
        assert_eq!(effects, [Effect::HalfWay, Effect::Overrun]);
    }
}
