use std::ops::Deref;
use std::sync::Arc;

use crate::Meter;
use crate::Operation;

/// What an operation gave out, which is let go when this is dropped.
pub(crate) struct Open<T> {
    given: T,
    // Behind what was given out, and so dropped after it: only then is it closed.
    _told: Told,
}

impl<T> Open<T> {
    pub(crate) fn new(given: T, operation: Operation, meter: &Arc<dyn Meter>) -> Self {
        meter.opened(&operation);
        let meter = Arc::clone(meter);
        Self {
            given,
            _told: Told { operation, meter },
        }
    }
}

impl<T> Deref for Open<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.given
    }
}

/// Tells its meter when it is dropped.
struct Told {
    operation: Operation,
    meter: Arc<dyn Meter>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.meter.closed(&self.operation);
    }
}
