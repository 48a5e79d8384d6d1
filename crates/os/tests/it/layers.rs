//! A layer may refuse an operation or fail after it, and keeps no wait from passing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use os::layer::{Ending, Layer, Op, Part, Ran, Run};
use os::{
    Boot, BootId, Cause, Clock, Deadline, Error, Facility, Instance, ObjectPath, Outcome, Paging,
    Provider, Query, Result, Target, Win32,
};
use wincsi_os as os;

/// A system that counts its calls.
#[derive(Default)]
struct Counting(AtomicU32);

impl Counting {
    fn count(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn taken(&self) -> u32 {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Boot for Counting {
    fn boot_id(&self) -> Result<BootId> {
        self.count();
        Ok(BootId("this".to_owned()))
    }

    fn computer_name(&self) -> Result<String> {
        Ok("node".to_owned())
    }

    fn paging(&self) -> Result<Paging> {
        self.count();
        Ok(Paging::default())
    }
}

impl Clock for Counting {
    fn now(&self) -> os::Moment {
        os::Moment(Duration::ZERO)
    }

    fn wall(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) {
        self.count();
    }
}

/// A provider whose methods answer this code.
struct Answering(u32);

impl Provider for Answering {
    fn query(&self, _: &Query<'_>, _: Deadline) -> Result<Vec<Instance>> {
        Ok(Vec::new())
    }

    fn associators(
        &self,
        _: &ObjectPath,
        _: &'static str,
        _: &'static str,
        _: Deadline,
    ) -> Result<Vec<Instance>> {
        Ok(Vec::new())
    }

    fn invoke(
        &self,
        _: Target<'_>,
        _: &'static str,
        _: &os::Arguments,
        _: Deadline,
    ) -> Result<Outcome> {
        Ok(Outcome::of(self.0))
    }

    fn parameters(
        &self,
        _: &'static str,
        _: &'static str,
        _: Deadline,
    ) -> Result<std::collections::BTreeSet<String>> {
        Ok(Default::default())
    }
}

fn broken() -> Error {
    Error::new("test", "layer", Cause::Win32(Win32::IO_DEVICE))
}

struct Refusing;

impl Layer for Refusing {
    fn around<'run>(&self, _: &Op<'_>, _: Run<'run>) -> Result<Ran<'run>> {
        Err(broken())
    }
}

struct FailingAfter;

impl Layer for FailingAfter {
    fn around<'run>(&self, _: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        run.run()?;
        Err(broken())
    }
}

/// Expects operations to end so.
struct Expecting(Ending);

impl Layer for Expecting {
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        let ran = run.run()?;
        assert_eq!(ran.ending(), self.0, "{} {}", op.method, op.object);
        Ok(ran)
    }
}

fn layered<T>(part: &Arc<T>, layer: impl Layer + 'static) -> (Arc<dyn Boot>, Arc<dyn Clock>)
where
    T: Boot + Clock + 'static,
{
    let layer: Arc<dyn Layer> = Arc::new(layer);
    let boot: Arc<dyn Boot> = Arc::clone(part) as _;
    let clock: Arc<dyn Clock> = Arc::clone(part) as _;
    (
        boot.layered(Facility::Boot, &layer),
        clock.layered(Facility::Clock, &layer),
    )
}

#[test]
fn a_refused_operation_is_not_run_and_a_failed_one_was() {
    let system = Arc::new(Counting::default());
    let (boot, _) = layered(&system, Refusing);
    assert_eq!(boot.boot_id(), Err(broken()));
    assert_eq!(system.taken(), 0);
    let (boot, _) = layered(&system, FailingAfter);
    assert_eq!(boot.boot_id(), Err(broken()));
    assert_eq!(system.taken(), 1);
}

#[test]
fn a_wait_passes_once_whatever_a_layer_does() {
    let system = Arc::new(Counting::default());
    for (_, clock) in [
        layered(&system, Refusing),
        layered(&system, FailingAfter),
        layered(&system, Expecting(Ending::Done)),
    ] {
        clock.sleep(Duration::from_secs(1));
        assert_eq!(system.taken(), 1);
    }
}

#[test]
fn a_method_that_answers_another_code_than_zero_has_failed() {
    for (code, ending) in [(0, Ending::Done), (5, Ending::Failed)] {
        let provider: Arc<dyn Provider> = Arc::new(Answering(code));
        let layer: Arc<dyn Layer> = Arc::new(Expecting(ending));
        let provider = provider.layered(Facility::Storage, &layer);
        let target = Target::Class("MSFT_StorageSetting");
        let arguments = os::Arguments::none();
        let outcome = provider.invoke(
            target,
            "UpdateHostStorageCache",
            &arguments,
            Deadline::NEVER,
        );
        assert_eq!(outcome.map(|outcome| outcome.code == code), Ok(true));
    }
}
