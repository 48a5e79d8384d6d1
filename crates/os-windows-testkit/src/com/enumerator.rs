//! `IEnumWbemClassObject`, forward only.

// UNSAFETY: the caller's places are filled.
#![expect(unsafe_code)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use os::{Hresult, Instance};
use windows::Win32::Foundation::E_NOTIMPL;
use windows::Win32::System::Com::IClientSecurity;
use windows::Win32::System::Wmi::{
    IEnumWbemClassObject, IEnumWbemClassObject_Impl, IWbemClassObject, IWbemObjectSink,
    WBEM_S_FALSE, WBEM_S_NO_ERROR, WBEM_S_TIMEDOUT,
};
use windows::core::{HRESULT, Ref, Result, implement};

use super::blanket::protected;
use super::failure::{INVALID_OPERATION, failed, refused};
use super::object::Object;
use crate::call::{Done, ProviderCall};
use crate::held::Token;
use crate::wmi::Shared;

/// A query's answers, each handed out once.
#[implement(IEnumWbemClassObject, IClientSecurity)]
pub(super) struct Enumerator {
    shared: Arc<Shared>,
    call: ProviderCall<Vec<Instance>>,
    left: Mutex<Option<VecDeque<Instance>>>,
    _token: Token,
}

protected!(Enumerator_Impl, IEnumWbemClassObject);

impl Enumerator {
    pub(super) fn new(shared: &Arc<Shared>, call: ProviderCall<Vec<Instance>>) -> Self {
        Self {
            shared: Arc::clone(shared),
            call,
            left: Mutex::default(),
            _token: shared.held.take(),
        }
    }

    fn left(&self) -> MutexGuard<'_, Option<VecDeque<Instance>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Up to so many objects, and how far the query is.
    fn next(&self, milliseconds: i32, count: usize) -> Done<(Vec<Instance>, HRESULT)> {
        let Some(answer) = self.call.wait(milliseconds) else {
            return Ok((Vec::new(), HRESULT(WBEM_S_TIMEDOUT.0)));
        };
        let answer = answer?;
        let mut left = self.left();
        let left = left.get_or_insert_with(|| answer.into());
        if self.call.cut().is_some() {
            let first = left.drain(..left.len().min(1)).collect();
            return Ok((first, HRESULT(WBEM_S_TIMEDOUT.0)));
        }
        let taken: Vec<_> = left.drain(..left.len().min(count)).collect();
        let is_full = taken.len() == count;
        let status = if is_full {
            WBEM_S_NO_ERROR
        } else {
            WBEM_S_FALSE
        };
        Ok((taken, HRESULT(status.0)))
    }

    fn objects(&self, instances: Vec<Instance>) -> Result<Vec<IWbemClassObject>> {
        let objects = instances.into_iter();
        objects
            .map(|it| Object::answer(it, &self.shared.held).map(IWbemClassObject::from))
            .collect()
    }
}

impl IEnumWbemClassObject_Impl for Enumerator_Impl {
    fn Reset(&self) -> Result<()> {
        Err(refused(INVALID_OPERATION))
    }

    fn Next(
        &self,
        milliseconds: i32,
        count: u32,
        places: *mut Option<IWbemClassObject>,
        returned: *mut u32,
    ) -> HRESULT {
        let Ok(most) = usize::try_from(count) else {
            return HRESULT(Hresult::WBEM_E_INVALID_PARAMETER.0.cast_signed());
        };
        if places.is_null() || returned.is_null() || most == 0 {
            return HRESULT(Hresult::WBEM_E_INVALID_PARAMETER.0.cast_signed());
        }
        let next = self.next(milliseconds, most);
        let next = next.map_err(|failure| failed(failure, &self.shared.held));
        let next = next.and_then(|(found, status)| Ok((self.objects(found)?, status)));
        match next {
            Ok((objects, status)) => {
                // SAFETY: there are `count` places, and no more objects than places.
                unsafe {
                    returned.write(u32::try_from(objects.len()).unwrap_or(count));
                    for (at, object) in objects.into_iter().enumerate() {
                        places.add(at).write(Some(object));
                    }
                }
                status
            }
            Err(error) => {
                // SAFETY: the place is the caller's.
                unsafe { returned.write(0) };
                error.into()
            }
        }
    }

    fn NextAsync(&self, _: u32, _: Ref<'_, IWbemObjectSink>) -> HRESULT {
        E_NOTIMPL
    }

    fn Clone(&self) -> Result<IEnumWbemClassObject> {
        Err(refused(INVALID_OPERATION))
    }

    fn Skip(&self, _: i32, _: u32) -> HRESULT {
        E_NOTIMPL
    }
}
