//! WMI through `IWbemServices`, as the seam's [`Provider`](os::Provider).
//!
//! [`NativeProvider`] checks a request against the class table; a `Pool` of a few threads for each namespace sends it,
//! each over a connection of its own; the modules of `com` make the calls.
//!
//! Each request is a type of its own (`Job`), with its reply and its stages. So no query goes on as a method, and none
//! gets a method's answer: that does not compile. The queue and the threads handle all jobs alike, as trait objects of
//! a job and the sender of its reply.
//!
//! Every call to a provider is semisynchronous: a thread begins it and polls for its end, a few
//! milliseconds at a time. So one thread serves several calls, and a silent provider blocks none.
//! So is `IWbemServices::GetObject`: it fetches a class's definition, once for each connection and
//! method. Only connecting blocks the thread, up to two minutes; a thread connects while it has no
//! calls under way, and meanwhile another thread of the namespace can take the request.
//!
//! `CoInitializeSecurity` is left to the program, because a library's call decides for its whole process; instead each
//! interface is set by itself to encrypt and to let the provider impersonate.
//!
//! # Where this has run
//! Nowhere on Windows. Under Wine 8, in two ways. Its own `Root\CimV2` answers queries and methods, but runs both to
//! their end before it returns, has no instance of an `MSFT_*` class and no association. So objects in the process
//! stand in place of the connection ([`Connect`], the crate `os-windows-testkit`), with a simulated node behind them:
//! `conformance`'s cases for storage, SMB and iSCSI, every type of the class table in both directions, late and missing
//! ends, hung connections and definitions, connections that die before and during a call, error objects, definitions of
//! several builds, and a hundred thousand calls without a leak.
//!
//! These objects answer by Microsoft's pages. They are no proxies: nothing has executed the transfer to another
//! process, the effect of the requested protection, or Windows's own answers.
//!
//! A method gets a place for its call and none for its out-parameters, which are read from the call; a definition gets
//! both places, and is read from the call if there is one. Wine's own WMI has no such calls: over it definitions come
//! at once, and the tests run methods synchronously ([`MethodCall`]).

mod com;
mod job;
mod method;
mod pool;
mod provider;
mod query;
mod queue;
mod session;
mod worker;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wine_tests;

use std::fmt;
use std::time::Duration;

use os::schema::Namespace;
use windows::Win32::System::Wmi::IWbemServices;

pub use self::provider::NativeProvider;

/// Where connections come from: Windows itself ([`LocalMachine`]), or objects of a test in its place.
pub trait Connect: Send + Sync {
    /// A connection to the namespace, for the calling thread in the multithreaded apartment.
    ///
    /// # Errors
    /// The namespace does not exist, WMI does not answer, access is denied.
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices>;

    /// How methods are called, and definitions fetched, over these connections.
    fn methods(&self) -> MethodCall {
        MethodCall::Semisynchronous
    }

    /// The most time for a class's definition, whatever the deadline of its call. A caller without a deadline holds the
    /// lock of its object, and nothing was sent yet.
    fn definition_within(&self) -> Duration {
        DEFINITION_WITHIN
    }
}

/// As long as connecting takes at most (`WBEM_FLAG_CONNECT_USE_MAX_WAIT`):
/// <https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemlocator-connectserver>.
const DEFINITION_WITHIN: Duration = Duration::from_secs(2 * 60);

/// How `IWbemServices::ExecMethod` is called, and `GetObject` with it:
/// <https://learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemservices-execmethod>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodCall {
    /// With `WBEM_FLAG_RETURN_IMMEDIATELY`: the call is begun, and its `IWbemCallResult` is polled for its end and its
    /// object.
    Semisynchronous,
    /// The call returns with its object when it has ended, and holds a thread of the provider until then, whatever the
    /// deadline.
    Synchronous,
}

/// WMI of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalMachine;

impl Connect for LocalMachine {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        com::connect_local(namespace)
    }
}

impl fmt::Debug for NativeProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeProvider").finish_non_exhaustive()
    }
}
