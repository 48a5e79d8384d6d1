//! Tasks waiting for a driver. Client processes take turns, and new clients of all endpoints are one more of them, so
//! one process's tasks block no other's turn.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Task;
use crate::server::Client;

#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<Lane>);

/// The tasks of one process, never none.
#[derive(Debug)]
struct Lane {
    /// None for new clients.
    client: Option<Arc<Client>>,
    tasks: VecDeque<Task>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, task: Task) {
        match self.0.iter_mut().find(|lane| lane.is_for(&task)) {
            Some(lane) => lane.tasks.push_back(task),
            None => self.0.push_back(Lane::new(task)),
        }
    }

    /// The first task of the next process in turn.
    pub(super) fn pop(&mut self) -> Option<Task> {
        let mut lane = self.0.pop_front()?;
        let task = lane.tasks.pop_front();
        if !lane.tasks.is_empty() {
            self.0.push_back(lane);
        }
        task
    }
}

impl Lane {
    fn new(task: Task) -> Self {
        Self {
            client: task.client().cloned(),
            tasks: VecDeque::from([task]),
        }
    }

    fn is_for(&self, task: &Task) -> bool {
        let own = self.client.as_ref().map(Arc::as_ptr);
        own == task.client().map(Arc::as_ptr)
    }
}

impl Task {
    fn client(&self) -> Option<&Arc<Client>> {
        match self {
            Self::Serve(connection) => Some(connection.client()),
            Self::Accept(_) => None,
        }
    }
}
