use std::sync::Arc;

use os::layer::{Ending, Layer, Op, Ran, Run};
use os::{Os, Result};

use crate::{Recorder, SeamOperation};

/// The same node, with each operation reported to the recorder.
#[must_use]
pub fn watched(os: Os, recorder: &Recorder) -> Os {
    os.layered(&watch(recorder))
}

/// A layer that reports each operation to the recorder.
#[must_use]
pub fn watch(recorder: &Recorder) -> Arc<dyn Layer> {
    Arc::new(Watch(recorder.clone()))
}

struct Watch(Recorder);

impl Layer for Watch {
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        let ran = run.run();
        let operation = SeamOperation::from(op);
        match &ran {
            Ok(ran) if ran.ending() == Ending::Done => self.0.saw_done(operation),
            _ => self.0.saw_failed(operation),
        }
        ran
    }

    fn opened(&self, _: &Op<'_>) -> Option<Arc<dyn Layer>> {
        Some(watch(&self.0))
    }
}
