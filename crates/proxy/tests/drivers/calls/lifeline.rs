use std::cell::Cell;
use std::rc::Rc;

/// How many more calls a driver's process lives for.
#[derive(Clone, Default)]
pub(crate) struct Lifeline(Rc<State>);

#[derive(Default)]
struct State {
    /// For ever, when there is no number.
    left: Cell<Option<u32>>,
    is_over: Cell<bool>,
}

/// The process's fate at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was killed before.
    Dead,
    /// It is killed before the answer comes.
    Dying,
    Living,
}

impl Lifeline {
    /// The process is killed while it waits for the answer to its call of this number.
    pub(crate) fn ends_with_call(&self, number: u32) {
        self.0.left.set(Some(number));
    }

    /// Whether the process was killed.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_over.get()
    }

    /// A call is about to be made.
    pub(crate) fn spend(&self) -> Fate {
        let Some(left) = self.0.left.get() else {
            return Fate::Living;
        };
        self.0.left.set(Some(left.saturating_sub(1)));
        let fate = match left {
            0 => Fate::Dead,
            1 => Fate::Dying,
            _ => Fate::Living,
        };
        if fate != Fate::Living {
            self.0.is_over.set(true);
        }
        fate
    }
}
