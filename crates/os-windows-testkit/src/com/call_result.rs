//! `IWbemCallResult`: a method or the definition of a class on its way.

// UNSAFETY: `#[implement]` writes the tables of functions called by COM.
#![expect(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use os::schema::{Class, Method};
use os::{Hresult, Value};
use windows::Win32::System::Com::IClientSecurity;
use windows::Win32::System::Wmi::{
    IWbemCallResult, IWbemCallResult_Impl, IWbemClassObject, IWbemServices, WBEM_S_TIMEDOUT,
};
use windows::core::{BSTR, Error, HRESULT, Result, implement};

use super::blanket::protected;
use super::failure::{INVALID_OPERATION, failed, refused};
use super::object::Object;
use crate::call::{Done, ProviderCall};
use crate::held::Token;
use crate::wmi::Shared;

/// The result of a call.
#[derive(Clone)]
pub(super) enum Product {
    /// The definition of this class.
    Definition(&'static Class),
    /// The out-parameters of this method.
    Output(&'static Method, BTreeMap<&'static str, Value>),
}

#[implement(IWbemCallResult, IClientSecurity)]
pub(super) struct CallResult {
    shared: Arc<Shared>,
    call: ProviderCall<Product>,
    _token: Token,
}

protected!(CallResult_Impl, IWbemCallResult);

impl CallResult {
    pub(super) fn new(shared: &Arc<Shared>, call: ProviderCall<Product>) -> Self {
        Self {
            shared: Arc::clone(shared),
            call,
            _token: shared.held.take(),
        }
    }

    /// Waits for the end of any kind. A missing end is a success code of WMI, and the wrappers around our methods can
    /// return it only as an error.
    fn end(&self, milliseconds: i32) -> Result<Done<Product>> {
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
        let product = done.map_err(|failure| failed(failure, &self.shared.held))?;
        let object = match product {
            Product::Definition(class) => Object::definition(class, &self.shared),
            Product::Output(method, values) => Object::output(method, values, &self.shared.held),
        };
        Ok(object.into())
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
