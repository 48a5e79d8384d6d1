//! `IWbemCallResult`: a method on its way.

// UNSAFETY: `#[implement]` writes the tables of functions that COM calls.
#![expect(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use os::Hresult;
use os::Value;
use os::schema::Method;
use windows::Win32::System::Com::IClientSecurity;
use windows::Win32::System::Wmi::IWbemCallResult;
use windows::Win32::System::Wmi::IWbemCallResult_Impl;
use windows::Win32::System::Wmi::IWbemClassObject;
use windows::Win32::System::Wmi::IWbemServices;
use windows::Win32::System::Wmi::WBEM_S_TIMEDOUT;
use windows::core::BSTR;
use windows::core::Error;
use windows::core::HRESULT;
use windows::core::Result;
use windows::core::implement;

use super::blanket::protected;
use super::failure::INVALID_OPERATION;
use super::failure::failed;
use super::failure::refused;
use super::object::Object;
use crate::call::Call;
use crate::call::Done;
use crate::held::Token;
use crate::wmi::Shared;

/// The out-parameters of a method.
pub(super) type Output = BTreeMap<&'static str, Value>;

#[implement(IWbemCallResult, IClientSecurity)]
pub(super) struct CallResult {
    shared: Arc<Shared>,
    method: &'static Method,
    call: Call<Output>,
    _token: Token,
}

protected!(CallResult_Impl, IWbemCallResult);

impl CallResult {
    pub(super) fn new(shared: &Arc<Shared>, method: &'static Method, call: Call<Output>) -> Self {
        Self {
            shared: Arc::clone(shared),
            method,
            call,
            _token: shared.held.take(),
        }
    }

    /// Waits for the end, whatever it is. What has not come is told by a success of WMI's, which the
    /// wrappers around our methods can tell as an error alone.
    fn end(&self, milliseconds: i32) -> Result<Done<Output>> {
        let late = || Error::from_hresult(HRESULT(WBEM_S_TIMEDOUT.0));
        let done = self.call.wait(milliseconds).ok_or_else(late)?;
        Ok(match self.call.cut() {
            Some(code) => Err(code.into()),
            None => done,
        })
    }
}

impl IWbemCallResult_Impl for CallResult_Impl {
    fn GetResultObject(&self, milliseconds: i32) -> Result<IWbemClassObject> {
        let done = self.end(milliseconds)?;
        let output = done.map_err(|failure| failed(failure, &self.shared.held))?;
        Ok(Object::output(self.method, output, &self.shared.held).into())
    }

    fn GetResultString(&self, _: i32) -> Result<BSTR> {
        Err(refused(INVALID_OPERATION))
    }

    fn GetResultServices(&self, _: i32) -> Result<IWbemServices> {
        Err(refused(INVALID_OPERATION))
    }

    fn GetCallStatus(&self, milliseconds: i32) -> Result<i32> {
        let status = match self.end(milliseconds)? {
            Ok(_) => Hresult(0),
            Err(failure) => failure.code,
        };
        Ok(status.0.cast_signed())
    }
}
