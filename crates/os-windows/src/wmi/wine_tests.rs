//! Against the system's WMI: Wine's, or Windows's own. Wine's gaps are asserted under Wine alone; on Windows the
//! documented behaviour is asserted instead, and this has not run. Outside Wine nothing of the machine changes.

// UNSAFETY: a function of the system is looked up by its name, for the tests alone.
#![expect(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use os::schema::process::{COMMAND_LINE, NAME as PROGRAM};
use os::schema::{Namespace, bios, disk, process, service};
use os::{
    Arguments, Cause, Clock, Deadline, Hresult, Instance, ObjectPath, Provider, Query, Returned,
    Target, Value,
};
use windows::Win32::System::Wmi::IWbemServices;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::core::w;

use super::pool::MOST_THREADS;
use super::{Connect, LocalMachine, MethodCall, NativeProvider};
use crate::{NativeClock, process_usage};

/// One at a time: Wine fills a class's table again for each query, without a lock, and two at once end the process
/// (seen in Wine 8, `fill_service` of wbemprox).
fn provider() -> MutexGuard<'static, NativeProvider> {
    static PROVIDER: OnceLock<Mutex<NativeProvider>> = OnceLock::new();
    let provider = PROVIDER.get_or_init(|| Mutex::new(synchronous()));
    provider.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Methods run to their end before their call returns: Wine's only way.
struct Synchronous;

impl Connect for Synchronous {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        LocalMachine.connect(namespace)
    }

    fn methods(&self) -> MethodCall {
        MethodCall::Synchronous
    }
}

fn synchronous() -> NativeProvider {
    NativeProvider::over(clock(), Arc::new(Synchronous))
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(NativeClock::new())
}

fn services(provider: &NativeProvider, query: &Query<'_>) -> Vec<Instance> {
    provider.query(query, Deadline::NEVER).expect("services")
}

const NAME: &str = service::NAME.name;
const STATE: &str = service::STATE.name;
const ACCEPT_STOP: &str = service::base::ACCEPT_STOP.name;
const TAG: &str = service::base::TAG_ID.name;

/// A service that tests may start and stop, under Wine only; on Windows one that always runs.
fn sample() -> &'static str {
    match is_wine() {
        true => "Spooler",
        false => "RpcSs",
    }
}

/// Whether the system is Wine: it has a function that Windows lacks.
fn is_wine() -> bool {
    // SAFETY: both texts end in a NUL, and the module is part of every process.
    unsafe {
        let library = GetModuleHandleW(w!("ntdll.dll"));
        GetProcAddress(library, c"wine_get_version".as_ptr().cast()).is_some()
    }
}

fn sampled(provider: &NativeProvider) -> Instance {
    let query = Query::all(
        service::CLASS.name,
        &[NAME, STATE, ACCEPT_STOP, service::PROCESS_ID.name],
    )
    .with(NAME, Value::text(sample()));
    let found = services(provider, &query);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().expect("one")
}

#[test]
fn a_query_answers_with_typed_properties_and_usable_paths() {
    let provider = provider();
    let found = sampled(&provider);
    assert_eq!(found.class, service::CLASS.name);
    assert_eq!(found.text(NAME), Ok(sample()));
    assert!(found.bool(ACCEPT_STOP).is_ok());
    assert!(found.u32(service::PROCESS_ID.name).is_ok());
    let key = format!("Win32_Service.Name=\"{}\"", sample());
    assert!(found.path.0.ends_with(&key), "{}", found.path);
    assert_eq!(found.properties.len(), 4);
}

#[test]
fn the_key_comes_along_when_it_was_not_asked_for() {
    let found = services(&provider(), &Query::all(service::CLASS.name, &[STATE]));
    assert!(found.len() > 5);
    for one in found {
        assert_eq!(one.properties.keys().collect::<Vec<_>>(), [STATE]);
        assert!(automation::class_of(&one.path).is_ok(), "{}", one.path);
    }
}

/// Windows reads `\'` as a quote (documented). When Wine does, this test fails.
#[test]
fn an_escaped_quote_is_one_of_the_value_but_for_wine() {
    let query = Query::all(service::CLASS.name, &[NAME]).with(NAME, Value::text("x' OR 'a"));
    let answer = provider().query(&query, Deadline::NEVER);
    if !is_wine() {
        return assert_eq!(answer, Ok(Vec::new()));
    }
    let error = answer.expect_err("Wine");
    assert_eq!(error.cause, Cause::Hresult(Hresult::WBEM_E_INVALID_QUERY));
    assert_eq!(error.operation, "IWbemServices.ExecQuery");
}

/// Each by its own state, since services of a machine start and stop between two queries.
#[test]
fn equality_and_inequality_select() {
    let provider = provider();
    let all = Query::all(service::CLASS.name, &[STATE]);
    let states = |query: &Query<'_>| {
        let found = services(&provider, query);
        let states = found.iter().map(|one| one.text(STATE).map(str::to_owned));
        states.collect::<Result<Vec<_>, _>>().expect("states")
    };
    let running = states(&all.clone().with(STATE, Value::text("Running")));
    assert!(!running.is_empty());
    assert!(
        running.iter().all(|state| state == "Running"),
        "{running:?}"
    );
    let other = states(&all.without(STATE, Value::text("Running")));
    assert!(!other.is_empty());
    assert!(other.iter().all(|state| state != "Running"), "{other:?}");
}

#[test]
fn a_method_tells_its_return_value() {
    let provider = provider();
    let path = sampled(&provider).path;
    let run = |method| code_of(&provider, &path, method).expect(method);
    let first = run(service::START_SERVICE.name);
    if !is_wine() {
        return assert_ne!(first, 0, "what always runs is not started");
    }
    assert_eq!(sampled(&provider).text(STATE), Ok("Running"));
    assert_eq!(
        run(service::START_SERVICE.name),
        service::codes::ALREADY_RUNNING.code
    );
    assert_eq!(run(service::STOP_SERVICE.name), 0);
}

/// A semisynchronous method's value is read from its call, and Wine gives no call. When it does,
/// this test fails.
#[test]
fn a_semisynchronous_method_tells_its_return_value_but_for_wine() {
    let alone = provider();
    let path = sampled(&alone).path;
    let start = service::START_SERVICE.name;
    let outcome = code_of(&NativeProvider::new(clock()), &path, start);
    drop(alone);
    if !is_wine() {
        return assert_ne!(
            outcome,
            Ok(Returned::Code(0)),
            "what always runs is not started"
        );
    }
    let no_call = Cause::Malformed("ExecMethod gave no call".to_owned());
    assert_eq!(outcome.expect_err("Wine").cause, no_call);
}

fn code_of(
    provider: &NativeProvider,
    path: &ObjectPath,
    method: &'static str,
) -> os::Result<Returned> {
    let target = Target::Instance(path);
    let outcome = provider.invoke(target, method, &Arguments::none(), Deadline::NEVER);
    outcome.map(|outcome| outcome.code)
}

#[test]
fn what_does_not_exist_is_told_by_its_code() {
    let provider = provider();
    let path = ObjectPath(r#"Win32_Service.Name="wincsi-none""#.to_owned());
    let start = service::START_SERVICE.name;
    let error = provider.invoke(
        Target::Instance(&path),
        start,
        &Arguments::none(),
        Deadline::NEVER,
    );
    let error = error.expect_err("no such service");
    assert!(matches!(error.cause, Cause::Hresult(_)), "{error}");
    assert!(error.object.contains("wincsi-none"), "{error}");
}

/// Wine has the namespace and nothing in it. When it gets disks, this test fails.
#[test]
fn disks_are_objects_of_storage_but_for_wine() {
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name]);
    let found = provider().query(&query, Deadline::NEVER).expect("disks");
    assert_eq!(found.is_empty(), is_wine(), "{found:?}");
}

/// Wine does not count handles, so a query's leak would show as memory: 5,000 enumerators or query texts are more than
/// is allowed here. The class has no objects under Wine, since each query of a class with objects takes tens of
/// milliseconds there. On Windows each query reaches the storage stack, and other growth there is unknown: fewer are
/// made, and only their connections are counted.
#[test]
fn thousands_of_queries_take_one_connection_a_thread_and_leave_nothing_behind() {
    let alone = provider();
    let connections = Arc::new(Counted::default());
    let provider = NativeProvider::over(clock(), Arc::clone(&connections) as Arc<dyn Connect>);
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name])
        .with(disk::NUMBER.name, Value::uint32(NO_DISK));
    let ask = |times: usize| {
        for _ in 0..times {
            assert_eq!(services(&provider, &query), []);
        }
        process_usage().expect("usage").resident_bytes
    };
    if is_wine() {
        let before = ask(500);
        let after = ask(5_000);
        assert!(after < before + (1 << 20), "{before} {after}");
    } else {
        ask(100);
    }
    let made = connections.0.load(Ordering::Relaxed);
    assert!(made <= MOST_THREADS, "{made}");
    drop(alone);
}

/// More than any machine has.
const NO_DISK: u32 = 4_000;

#[derive(Default)]
struct Counted(AtomicUsize);

impl Connect for Counted {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        self.0.fetch_add(1, Ordering::Relaxed);
        LocalMachine.connect(namespace)
    }
}

#[test]
fn the_class_table_is_asked_before_wmi() {
    let provider = provider();
    let refused = |query: &Query<'_>| {
        let error = provider.query(query, Deadline::NEVER).expect_err("refused");
        assert!(matches!(error.cause, Cause::Malformed(_)), "{error}");
    };
    refused(&Query::all("Win32_Processor", &[]));
    refused(&Query::all(service::CLASS.name, &["Elsewhere"]));
    refused(&Query::all(service::CLASS.name, &[]).with(TAG, Value::text("1")));
    let path = ObjectPath(r#"Win32_Service.Name="x"} WHERE y"#.to_owned());
    let start = service::START_SERVICE.name;
    let target = Target::Instance(&path);
    let error = provider.invoke(target, start, &Arguments::none(), Deadline::NEVER);
    assert!(matches!(
        error.expect_err("refused").cause,
        Cause::Malformed(_)
    ));
}

#[test]
fn a_process_has_its_command_line() {
    let program = std::env::current_exe().expect("a program");
    let name = program.file_name().expect("a name").to_string_lossy();
    let query = Query::all(process::CLASS.name, &[COMMAND_LINE.name]);
    let query = query.with(PROGRAM.name, Value::text(&*name));
    let found = provider()
        .query(&query, Deadline::NEVER)
        .expect("processes");
    let lines: Vec<_> = found
        .iter()
        .map(|one| one.text_or_null(COMMAND_LINE.name))
        .collect();
    let is_own =
        |line: &os::Result<Option<&str>>| matches!(line, Ok(Some(line)) if line.contains(&*name));
    assert!(lines.iter().any(is_own), "{lines:?}");
}

/// Wine's firmware object lacks its key properties. When it gets them, this test fails.
#[test]
fn an_object_that_cannot_be_found_again_is_an_error() {
    let query = Query::all(bios::CLASS.name, &[bios::SERIAL_NUMBER.name]);
    let answer = provider().query(&query, Deadline::NEVER);
    if !is_wine() {
        let found = answer.expect("the firmware");
        return assert!(found.iter().all(|one| !one.path.0.is_empty()), "{found:?}");
    }
    assert_eq!(
        answer.expect_err("Wine").cause,
        Cause::Malformed("an object without a path".to_owned())
    );
}
