//! A connection to a namespace, and the calls that go through it. Each returns at once and is polled for its end, so no
//! thread is lost to a silent provider.

// UNSAFETY: interfaces of COM are called, and fill places of ours.
#![expect(unsafe_code)]

use std::ptr;

use automation::{Text, WmiError};
use os::Cause;
use os::schema::Namespace;
use windows::Win32::Foundation::E_NOINTERFACE;
use windows::Win32::System::Com::{
    CLSCTX_INPROC_SERVER, CoCreateInstance, CoSetProxyBlanket, EOAC_NONE,
    RPC_C_AUTHN_LEVEL_PKT_PRIVACY, RPC_C_IMP_LEVEL_IMPERSONATE,
};
use windows::Win32::System::Rpc::{RPC_C_AUTHN_WINNT, RPC_C_AUTHZ_NONE};
use windows::Win32::System::Wmi::{
    IEnumWbemClassObject, IWbemCallResult, IWbemClassObject, IWbemLocator, IWbemServices,
    WBEM_FLAG_CONNECT_USE_MAX_WAIT, WBEM_FLAG_ENSURE_LOCATABLE, WBEM_FLAG_FORWARD_ONLY,
    WBEM_FLAG_RETURN_IMMEDIATELY, WBEM_FLAG_RETURN_WBEM_COMPLETE, WBEM_GENERIC_FLAG_TYPE,
    WBEM_S_FALSE, WBEM_S_TIMEDOUT, WbemLocator,
};
use windows::core::{BSTR, HRESULT, IUnknown, Interface};

use super::failure::{fault, fault_of, forget_earlier, is_failure};
use super::variant::bstr;
use super::{Called, ClassObject};
use crate::wmi::MethodCall;

/// Connects to a namespace of this machine (`IWbemLocator::ConnectServer`). The calling thread has to be in an
/// apartment. Waits up to two minutes for a silent service: this flag is the shortest possible wait.
pub(in crate::wmi) fn connect_local(namespace: Namespace) -> windows::core::Result<IWbemServices> {
    // SAFETY: the class is in-process and has the requested interface.
    let locator: IWbemLocator =
        unsafe { CoCreateInstance(&WbemLocator, None, CLSCTX_INPROC_SERVER) }?;
    let none = BSTR::new();
    // SAFETY: strings are whole and outlive the call; null ones are this user and this locale.
    unsafe {
        locator.ConnectServer(
            &BSTR::from(namespace.path()),
            &none,
            &none,
            &none,
            WBEM_FLAG_CONNECT_USE_MAX_WAIT.0,
            &none,
            None,
        )
    }
}

/// `IWbemServices`.
pub(in crate::wmi) struct Services {
    interface: IWbemServices,
    methods: MethodCall,
}

impl Services {
    pub(in crate::wmi) fn new(
        made: windows::core::Result<IWbemServices>,
        methods: MethodCall,
    ) -> Called<Self> {
        let interface = made.map_err(fault)?;
        protect(&interface)?;
        Ok(Self { interface, methods })
    }

    /// Begins a query (`ExecQuery`). Its errors come when its answers are read.
    pub(in crate::wmi) fn query(&self, query: &str) -> Called<Enumerator> {
        forget_earlier();
        let query = bstr(&Text::new(query))?;
        let flags = flags(&[
            WBEM_FLAG_RETURN_IMMEDIATELY,
            WBEM_FLAG_FORWARD_ONLY,
            WBEM_FLAG_ENSURE_LOCATABLE,
        ]);
        // SAFETY: both strings are whole and outlive the call.
        let answers = unsafe {
            self.interface
                .ExecQuery(&BSTR::from("WQL"), &query, flags, None)
        };
        let answers = answers.map_err(fault)?;
        protect(&answers)?;
        Ok(Enumerator(answers))
    }

    /// Begins to fetch the definition of a class (`GetObject`), or fetches it.
    pub(in crate::wmi) fn class(&self, name: &str) -> Called<Begun> {
        forget_earlier();
        let name = BSTR::from(name);
        match self.methods {
            MethodCall::Semisynchronous => self.start_class(&name),
            MethodCall::Synchronous => self.fetch_class(&name).map(Begun::Ended),
        }
    }

    /// The definition is read from the call. Its own place then stays empty, by [MS-WMI] 3.1.4.3.4; Wine's WMI has no
    /// such calls, and fills it at once, with or without a definition.
    fn start_class(&self, name: &BSTR) -> Called<Begun> {
        let mut object = None;
        let mut running = None;
        // SAFETY: the string is whole, the places are empty; all outlive the call.
        let begun = unsafe {
            self.interface.GetObject(
                name,
                WBEM_FLAG_RETURN_IMMEDIATELY,
                None,
                Some(&raw mut object),
                Some(&raw mut running),
            )
        };
        begun.map_err(fault)?;
        match (running, object) {
            (Some(running), _) => {
                protect(&running)?;
                Ok(Begun::Running(CallResult(running)))
            }
            (None, Some(object)) => Ok(Begun::Ended(ClassObject::new(object))),
            (None, None) => Err(malformed("GetObject gave no call")),
        }
    }

    fn fetch_class(&self, name: &BSTR) -> Called<ClassObject> {
        let mut object = None;
        // SAFETY: the string is whole, the place is empty; both outlive the call.
        let got = unsafe {
            self.interface.GetObject(
                name,
                WBEM_FLAG_RETURN_WBEM_COMPLETE,
                None,
                Some(&raw mut object),
                None,
            )
        };
        got.map_err(fault)?;
        object
            .map(ClassObject::new)
            .ok_or_else(|| malformed("GetObject gave no object"))
    }

    /// Begins a method (`ExecMethod`), or runs it to its end.
    pub(in crate::wmi) fn begin(
        &self,
        path: &str,
        method: &str,
        input: Option<&ClassObject>,
    ) -> Called<Begun> {
        forget_earlier();
        let path = bstr(&Text::new(path))?;
        let method = BSTR::from(method);
        match self.methods {
            MethodCall::Semisynchronous => self.start(&path, &method, input).map(Begun::Running),
            MethodCall::Synchronous => self.run(&path, &method, input).map(Begun::Ended),
        }
    }

    /// The out-parameters are read from the call: [MS-WMI] 3.2.4.2.7.
    fn start(&self, path: &BSTR, method: &BSTR, input: Option<&ClassObject>) -> Called<CallResult> {
        let mut running = None;
        // SAFETY: strings and in-parameters are whole, the place is empty; all outlive the call.
        let begun = unsafe {
            self.interface.ExecMethod(
                path,
                method,
                WBEM_FLAG_RETURN_IMMEDIATELY,
                None,
                input.map(ClassObject::interface),
                None,
                Some(&raw mut running),
            )
        };
        begun.map_err(fault)?;
        let running = running.ok_or_else(|| malformed("ExecMethod gave no call"))?;
        protect(&running).map_err(begun_all_the_same)?;
        Ok(CallResult(running))
    }

    fn run(&self, path: &BSTR, method: &BSTR, input: Option<&ClassObject>) -> Called<ClassObject> {
        let mut output = None;
        // SAFETY: as in `start`.
        let ended = unsafe {
            self.interface.ExecMethod(
                path,
                method,
                SYNCHRONOUS,
                None,
                input.map(ClassObject::interface),
                Some(&raw mut output),
                None,
            )
        };
        ended.map_err(fault)?;
        output
            .map(ClassObject::new)
            .ok_or_else(|| malformed("ExecMethod gave no out-parameters"))
    }
}

/// No flag of `ExecMethod`'s.
const SYNCHRONOUS: WBEM_GENERIC_FLAG_TYPE = WBEM_GENERIC_FLAG_TYPE(0);

/// The answer to the beginning of a call for one object.
pub(in crate::wmi) enum Begun {
    /// It has ended already, with a class's definition or a method's out-parameters.
    Ended(ClassObject),
    Running(CallResult),
}

/// The method has been sent, so no code may claim the opposite.
fn begun_all_the_same(fault: WmiError) -> WmiError {
    malformed(&format!("no protection for a call: {}", fault.cause))
}

/// How far a call is.
pub(in crate::wmi) enum Progress<T> {
    Ended(T),
    /// Not there within the wait.
    NotYet,
}

/// `IEnumWbemClassObject`, forward only. Dropping it cancels the query.
pub(in crate::wmi) struct Enumerator(IEnumWbemClassObject);

impl Enumerator {
    /// Appends the objects of this many milliseconds (`Next`).
    pub(in crate::wmi) fn next(
        &self,
        wait: i32,
        found: &mut Vec<ClassObject>,
    ) -> Called<Progress<()>> {
        let mut batch: [Option<IWbemClassObject>; BATCH] = Default::default();
        let mut count = 0;
        // SAFETY: the places are empty and as many as is said; they outlive the call.
        let answer = unsafe { self.0.Next(wait, &mut batch, &raw mut count) };
        found.extend(batch.into_iter().flatten().map(ClassObject::new));
        if is_failure(answer) {
            return Err(fault_of(answer));
        }
        let is_end = answer == HRESULT(WBEM_S_FALSE.0);
        Ok(if is_end {
            Progress::Ended(())
        } else {
            Progress::NotYet
        })
    }
}

/// The objects of one read.
const BATCH: usize = 16;

/// `IWbemCallResult`: a method or a class's definition on its way. Dropping it leaves the call running.
pub(in crate::wmi) struct CallResult(IWbemCallResult);

impl CallResult {
    /// Waits this many milliseconds for the end and its object.
    pub(in crate::wmi) fn end(&self, wait: i32) -> Called<Progress<ClassObject>> {
        match self.status(wait)? {
            Progress::NotYet => Ok(Progress::NotYet),
            Progress::Ended(status) if is_failure(status) => Err(self.failure(status)),
            Progress::Ended(_) => self.output(0),
        }
    }

    /// `GetCallStatus`, through the table of functions: the wrapper drops the success code.
    fn status(&self, wait: i32) -> Called<Progress<HRESULT>> {
        let mut status = 0;
        // SAFETY: the interface is alive, and the place is ours and outlives the call.
        let answer =
            unsafe { (self.0.vtable().GetCallStatus)(self.0.as_raw(), wait, &raw mut status) };
        ended(answer).map(|progress| match progress {
            Progress::Ended(()) => Progress::Ended(HRESULT(status)),
            Progress::NotYet => Progress::NotYet,
        })
    }

    /// `GetResultObject`, in the same way.
    fn output(&self, wait: i32) -> Called<Progress<ClassObject>> {
        let mut raw = ptr::null_mut();
        // SAFETY: as in `status`.
        let answer =
            unsafe { (self.0.vtable().GetResultObject)(self.0.as_raw(), wait, &raw mut raw) };
        if let Progress::NotYet = ended(answer)? {
            return Ok(Progress::NotYet);
        }
        if raw.is_null() {
            return Err(malformed("GetResultObject gave no object"));
        }
        // SAFETY: the call succeeded and gave a reference, ours from now on.
        let object = unsafe { IWbemClassObject::from_raw(raw) };
        Ok(Progress::Ended(ClassObject::new(object)))
    }

    /// Reading the result of a failed call fails with the call's own code, and leaves its error object on the thread.
    fn failure(&self, status: HRESULT) -> WmiError {
        match self.output(0) {
            Err(fault) => fault,
            Ok(_) => fault_of(status),
        }
    }
}

fn ended(answer: HRESULT) -> Called<Progress<()>> {
    if is_failure(answer) {
        return Err(fault_of(answer));
    }
    let is_late = answer == HRESULT(WBEM_S_TIMEDOUT.0);
    Ok(if is_late {
        Progress::NotYet
    } else {
        Progress::Ended(())
    })
}

/// Requests encryption for this interface, and lets the provider act as we (`CoSetProxyBlanket`). Each interface of a
/// proxy has protection of its own, so this pointer is passed and not its `IUnknown`, a different one:
/// <https://learn.microsoft.com/windows/win32/api/objidl/nn-objidl-iclientsecurity>. An object in this process is no
/// proxy and has nothing to encrypt.
fn protect<T: Interface>(proxy: &T) -> Called<()> {
    let raw = proxy.as_raw();
    // SAFETY: every interface begins as `IUnknown` does, and this one is alive for as long as `proxy`.
    let proxy = unsafe { IUnknown::from_raw_borrowed(&raw) };
    // SAFETY: the interface is alive; no name and no identity are handed over.
    let protected = unsafe {
        CoSetProxyBlanket(
            proxy,
            RPC_C_AUTHN_WINNT,
            RPC_C_AUTHZ_NONE,
            None,
            RPC_C_AUTHN_LEVEL_PKT_PRIVACY,
            RPC_C_IMP_LEVEL_IMPERSONATE,
            None,
            EOAC_NONE,
        )
    };
    match protected {
        Err(error) if error.code() == E_NOINTERFACE => Ok(()),
        other => other.map_err(fault),
    }
}

fn flags(flags: &[WBEM_GENERIC_FLAG_TYPE]) -> WBEM_GENERIC_FLAG_TYPE {
    WBEM_GENERIC_FLAG_TYPE(flags.iter().fold(0, |all, flag| all | flag.0))
}

fn malformed(text: &str) -> WmiError {
    Cause::Malformed(text.to_owned()).into()
}
