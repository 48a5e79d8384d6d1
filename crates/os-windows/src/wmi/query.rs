//! A query, as a job.

use automation::{Associated, Selection};
use os::Instance;
use os::schema::{Class, Property};

use super::com::{Called, ClassObject, Enumerator, Progress};
use super::job::{Job, Step, Stepped};
use super::session::{Broken, Connection};

/// A query, and how to read its objects.
pub(super) struct Find {
    selection: Selection,
    read: fn(&ClassObject, &[&Property]) -> Called<Instance>,
}

impl Find {
    /// Its objects have all selected properties.
    pub(super) fn selected(selection: Selection) -> Self {
        let read = ClassObject::instance;
        Self { selection, read }
    }

    /// Its objects have their class's properties.
    pub(super) fn whole(Associated(selection): Associated) -> Self {
        let read = ClassObject::whole;
        Self { selection, read }
    }

    pub(super) fn text(&self) -> &str {
        &self.selection.text
    }

    fn instances(&self, found: &[ClassObject]) -> Called<Vec<Instance>> {
        let instance = |object| (self.read)(object, &self.selection.properties);
        found.iter().map(instance).collect()
    }
}

/// A begun query, and its objects so far.
pub(super) struct Finding {
    answers: Enumerator,
    found: Vec<ClassObject>,
}

impl Job for Find {
    type Reply = Vec<Instance>;
    type State = Finding;

    fn class(&self) -> &'static Class {
        self.selection.class
    }

    fn begin(&self, over: &Connection) -> Stepped<Self> {
        let answers = over.services.query(self.text());
        Ok(Step::On(Finding {
            answers: answers.map_err(Broken::before_a_change)?,
            found: Vec::new(),
        }))
    }

    fn advance(&self, mut state: Finding, _: &Connection, wait: i32) -> Stepped<Self> {
        let Finding { answers, found } = &mut state;
        match answers.next(wait, found).map_err(Broken::before_a_change)? {
            Progress::Ended(()) => {
                let instances = self.instances(found).map_err(Broken::before_a_change)?;
                Ok(Step::Ended(instances))
            }
            Progress::NotYet => Ok(Step::On(state)),
        }
    }
}
