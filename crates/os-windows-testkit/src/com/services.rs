//! `IWbemServices`: a connection to a namespace.

// UNSAFETY: in-parameters are read through an interface passed by the caller.
#![expect(unsafe_code)]

use std::ptr;
use std::sync::Arc;

use os::schema::{Class, Direction, Method, Namespace, Scope};
use os::{Arguments, Hresult, Instance, ObjectPath, Value};
use windows::Win32::System::Com::IClientSecurity;
use windows::Win32::System::Variant::VARIANT;
use windows::Win32::System::Wmi::{
    IEnumWbemClassObject, IWbemCallResult, IWbemClassObject, IWbemContext, IWbemObjectSink,
    IWbemServices, IWbemServices_Impl, WBEM_FLAG_ENSURE_LOCATABLE, WBEM_FLAG_FORWARD_ONLY,
    WBEM_FLAG_NONSYSTEM_ONLY, WBEM_FLAG_RETURN_IMMEDIATELY, WBEM_GENERIC_FLAG_TYPE,
};
use windows::core::{BSTR, HSTRING, OutRef, PCWSTR, Ref, Result, implement};

use super::blanket::protected;
use super::call_result::{CallResult, Product};
use super::enumerator::Enumerator;
use super::failure::{
    INVALID_OBJECT_PATH, INVALID_QUERY_TYPE, PROVIDER_NOT_CAPABLE, failed, not_served, refused,
};
use super::shape::Shape;
use super::variant;
use crate::call::{ComFailure, Done, ProviderCall};
use crate::held::Token;
use crate::object_path::{self, Which};
use crate::provided::{self, Invocation};
use crate::wmi::{Line, Shared};
use crate::{Asked, Hanging, On, asked, resolve, wql};

#[implement(IWbemServices, IClientSecurity)]
pub(super) struct Services {
    shared: Arc<Shared>,
    line: Arc<Line>,
    namespace: Namespace,
    _token: Token,
}

protected!(Services_Impl, IWbemServices);

impl Services {
    pub(super) fn new(shared: Arc<Shared>, line: Arc<Line>, namespace: Namespace) -> Self {
        let _token = shared.held.take();
        Self {
            shared,
            line,
            namespace,
            _token,
        }
    }

    fn crossed(&self, call: &'static str, of: String) {
        self.shared.crossed(&self.line, call, of);
    }

    fn failed(&self, failure: ComFailure) -> windows::core::Error {
        failed(failure, &self.shared.held)
    }

    /// A query's errors come when its answers are read.
    fn query(&self, text: &BSTR, flags: WBEM_GENERIC_FLAG_TYPE) -> Done<Enumerator> {
        let asked = self.asked(text);
        let is_located = flags.contains(WBEM_FLAG_ENSURE_LOCATABLE);
        let shared = Arc::clone(&self.shared);
        let trouble = self.shared.trouble(On::Query);
        let call = ProviderCall::begin(&self.line, trouble, move || {
            let asked = asked?;
            let is_located = is_located || has_keys(&asked);
            let found = provided::find(&shared.os, asked)?;
            Ok(found
                .into_iter()
                .map(|it| located(it, is_located))
                .collect())
        })?;
        if !flags.contains(WBEM_FLAG_RETURN_IMMEDIATELY) {
            call.wait(-1);
        }
        Ok(Enumerator::new(&self.shared, call))
    }

    fn asked(&self, text: &BSTR) -> Done<Asked> {
        let text = String::from_utf16(text).map_err(|_| Hresult::WBEM_E_INVALID_QUERY)?;
        let statement = wql::read(&text).ok_or(Hresult::WBEM_E_INVALID_QUERY)?;
        Ok(resolve(&statement, self.namespace)?)
    }

    fn definition(&self, path: &BSTR) -> Done<CallResult> {
        let trouble = self.shared.trouble(On::Definition);
        let named = self.named(path);
        let shared = Arc::clone(&self.shared);
        let call = ProviderCall::begin(&self.line, trouble, move || match named? {
            (class, Which::Class) => {
                shared.hang(Hanging::Definition(class.name));
                Ok(Product::Definition(class))
            }
            (_, Which::Only | Which::Keyed(_)) => Err(PROVIDER_NOT_CAPABLE.into()),
        })?;
        Ok(CallResult::new(&self.shared, call))
    }

    /// The class and the object of a path, in this namespace.
    fn named(&self, path: &BSTR) -> Done<(&'static Class, Which)> {
        let path = String::from_utf16(path).map_err(|_| INVALID_OBJECT_PATH)?;
        let named = object_path::read(&path).ok_or(INVALID_OBJECT_PATH)?;
        let is_here = |it: &String| it.eq_ignore_ascii_case(self.namespace.path());
        if !named.namespace.as_ref().is_none_or(is_here) {
            return Err(Hresult::WBEM_E_INVALID_NAMESPACE.into());
        }
        let class = asked::class(&named.class, self.namespace)?;
        Ok((class, named.which))
    }

    fn invocation(
        &self,
        path: &BSTR,
        method: &BSTR,
        input: Option<&IWbemClassObject>,
    ) -> Done<Invocation> {
        let (class, which) = self.named(path)?;
        let method = class
            .method(&method.to_string())
            .ok_or(Hresult::WBEM_E_INVALID_METHOD)?;
        let on = match (method.scope, which) {
            (Scope::Static(_), Which::Class) => None,
            (Scope::Instance, Which::Keyed(_) | Which::Only) => Some(ObjectPath(path.to_string())),
            _ => return Err(Hresult::WBEM_E_INVALID_METHOD_PARAMETERS.into()),
        };
        Ok(Invocation {
            class,
            method,
            on,
            arguments: arguments(method, input)?,
        })
    }

    fn begin(&self, invocation: Invocation) -> Done<CallResult> {
        let method = invocation.method;
        let shared = Arc::clone(&self.shared);
        let trouble = self.shared.trouble(On::Method);
        let call = ProviderCall::begin(&self.line, trouble, move || {
            let output = invocation.run(&shared.os)?;
            Ok(Product::Output(method, output))
        })?;
        Ok(CallResult::new(&self.shared, call))
    }
}

impl Services {
    /// Begins a call for one object, and waits for its end unless it is to return at once.
    fn deliver(
        &self,
        flags: WBEM_GENERIC_FLAG_TYPE,
        object: OutRef<'_, IWbemClassObject>,
        result: OutRef<'_, IWbemCallResult>,
        begin: impl FnOnce() -> Done<CallResult>,
    ) -> Result<()> {
        let begun: IWbemCallResult = begin().map_err(|it| self.failed(it))?.into();
        if flags.contains(WBEM_FLAG_RETURN_IMMEDIATELY) {
            if !object.is_null() {
                object.write(None)?;
            }
            return result.write(Some(begun));
        }
        // SAFETY: the interface is alive.
        let ended = unsafe { begun.GetResultObject(-1) }?;
        object.write(Some(ended))
    }
}

/// Nothing where the path is none.
fn class_of(path: &BSTR) -> String {
    let named = object_path::read(&path.to_string());
    named.map(|named| named.class).unwrap_or_default()
}

/// Whether the keys were selected; the other kind of query has them without a selection.
fn has_keys(asked: &Asked) -> bool {
    match asked {
        Asked::Associated { .. } => true,
        Asked::Objects { class, select, .. } => class.keys().all(|key| select.contains(&key)),
    }
}

/// An object has a path when it can be found again.
fn located(instance: Instance, is_located: bool) -> Instance {
    if is_located {
        return instance;
    }
    let path = ObjectPath(String::new());
    Instance { path, ..instance }
}

/// The in-parameters: they have to be the method's; an older build's definition lacks some.
fn arguments(method: &'static Method, input: Option<&IWbemClassObject>) -> Done<Arguments> {
    let mut arguments = Arguments::none();
    let shape = Shape::Input(method);
    let invalid = Hresult::WBEM_E_INVALID_METHOD_PARAMETERS;
    for name in input.map(names).transpose()?.into_iter().flatten() {
        let field = shape.field(&name).ok_or(invalid)?;
        let name = HSTRING::from(field.name);
        let mut variant = VARIANT::default();
        let input = input.ok_or(invalid)?;
        // SAFETY: the name ends in a NUL and the VARIANT is empty; both outlive the call.
        let got = unsafe { input.Get(PCWSTR(name.as_ptr()), 0, &raw mut variant, None, None) };
        got.map_err(|_| invalid)?;
        let value = variant::value(&variant, field).ok_or(invalid)?;
        if !value.is_null() {
            arguments = arguments.with(field.name, value);
        }
    }
    check_required(method, &arguments)?;
    Ok(arguments)
}

/// The properties of the client's object; an empty one is no object of parameters.
fn names(input: &IWbemClassObject) -> Done<Vec<String>> {
    let none = PCWSTR::null();
    // SAFETY: neither a name nor a value is handed over, for this condition has none.
    let names = unsafe { input.GetNames(none, WBEM_FLAG_NONSYSTEM_ONLY, ptr::null()) };
    let names = names.map_err(|_| Hresult::WBEM_E_INVALID_METHOD_PARAMETERS)?;
    // SAFETY: the call made the array for us.
    let names = unsafe { variant::texts(names) };
    let names = names.filter(|names| !names.is_empty());
    Ok(names.ok_or(Hresult::WBEM_E_INVALID_METHOD_PARAMETERS)?)
}

fn check_required(method: &Method, arguments: &Arguments) -> Done<()> {
    let mut required = method
        .parameters
        .iter()
        .filter(|row| row.direction == Direction::In && !row.optional);
    let is_given = |name| {
        arguments
            .0
            .get(name)
            .is_some_and(|it: &Value| !it.is_null())
    };
    if required.all(|row| is_given(row.name)) {
        return Ok(());
    }
    Err(Hresult::WBEM_E_INVALID_METHOD_PARAMETERS.into())
}

impl IWbemServices_Impl for Services_Impl {
    fn ExecQuery(
        &self,
        language: &BSTR,
        query: &BSTR,
        flags: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
    ) -> Result<IEnumWbemClassObject> {
        self.crossed("ExecQuery", String::new());
        if !language.to_string().eq_ignore_ascii_case("WQL") {
            return Err(refused(INVALID_QUERY_TYPE));
        }
        if !flags.contains(WBEM_FLAG_FORWARD_ONLY) {
            return not_served();
        }
        let answers = self.query(query, flags);
        answers.map(Into::into).map_err(|it| self.failed(it))
    }

    fn GetObject(
        &self,
        path: &BSTR,
        flags: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        object: OutRef<'_, IWbemClassObject>,
        result: OutRef<'_, IWbemCallResult>,
    ) -> Result<()> {
        self.crossed("GetObject", path.to_string());
        self.deliver(flags, object, result, || self.definition(path))
    }

    fn ExecMethod(
        &self,
        path: &BSTR,
        method: &BSTR,
        flags: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        input: Ref<'_, IWbemClassObject>,
        output: OutRef<'_, IWbemClassObject>,
        result: OutRef<'_, IWbemCallResult>,
    ) -> Result<()> {
        self.crossed("ExecMethod", format!("{}.{method}", class_of(path)));
        // It is not documented as filled then, so a client may not count on it.
        if flags.contains(WBEM_FLAG_RETURN_IMMEDIATELY) && !output.is_null() {
            return Err(refused(Hresult::WBEM_E_INVALID_PARAMETER));
        }
        self.deliver(flags, output, result, || {
            let invocation = self.invocation(path, method, input.as_ref())?;
            self.begin(invocation)
        })
    }

    fn OpenNamespace(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: OutRef<'_, IWbemServices>,
        _: OutRef<'_, IWbemCallResult>,
    ) -> Result<()> {
        not_served()
    }

    fn CancelAsyncCall(&self, _: Ref<'_, IWbemObjectSink>) -> Result<()> {
        not_served()
    }

    fn QueryObjectSink(&self, _: WBEM_GENERIC_FLAG_TYPE) -> Result<IWbemObjectSink> {
        not_served()
    }

    fn GetObjectAsync(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn PutClass(
        &self,
        _: Ref<'_, IWbemClassObject>,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: OutRef<'_, IWbemCallResult>,
    ) -> Result<()> {
        not_served()
    }

    fn PutClassAsync(
        &self,
        _: Ref<'_, IWbemClassObject>,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn DeleteClass(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: OutRef<'_, IWbemCallResult>,
    ) -> Result<()> {
        not_served()
    }

    fn DeleteClassAsync(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn CreateClassEnum(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
    ) -> Result<IEnumWbemClassObject> {
        not_served()
    }

    fn CreateClassEnumAsync(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn PutInstance(
        &self,
        _: Ref<'_, IWbemClassObject>,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: OutRef<'_, IWbemCallResult>,
    ) -> Result<()> {
        not_served()
    }

    fn PutInstanceAsync(
        &self,
        _: Ref<'_, IWbemClassObject>,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn DeleteInstance(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: OutRef<'_, IWbemCallResult>,
    ) -> Result<()> {
        not_served()
    }

    fn DeleteInstanceAsync(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn CreateInstanceEnum(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
    ) -> Result<IEnumWbemClassObject> {
        not_served()
    }

    fn CreateInstanceEnumAsync(
        &self,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn ExecQueryAsync(
        &self,
        _: &BSTR,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn ExecNotificationQuery(
        &self,
        _: &BSTR,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
    ) -> Result<IEnumWbemClassObject> {
        not_served()
    }

    fn ExecNotificationQueryAsync(
        &self,
        _: &BSTR,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }

    fn ExecMethodAsync(
        &self,
        _: &BSTR,
        _: &BSTR,
        _: WBEM_GENERIC_FLAG_TYPE,
        _: Ref<'_, IWbemContext>,
        _: Ref<'_, IWbemClassObject>,
        _: Ref<'_, IWbemObjectSink>,
    ) -> Result<()> {
        not_served()
    }
}
