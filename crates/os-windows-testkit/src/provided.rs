//! Calls of a node's providers, with their answers and failures as WMI has them.

use std::collections::{BTreeMap, BTreeSet};

use os::schema::{Class, Direction, Method, Namespace, extended_status, wmi_error};
use os::{
    Arguments, Cause, Deadline, Hresult, Instance, ObjectPath, Os, Outcome, Provider, Query,
    Returned, SystemText, Target, Value, Win32,
};

use crate::call::{ComFailure, Done};
use crate::{Asked, ErrorInfo};

/// The objects of a query.
pub(crate) fn find(os: &Os, asked: Asked) -> Done<Vec<Instance>> {
    match asked {
        Asked::Associated {
            of,
            association,
            result,
        } => provider(os, association)
            .associators(&of, association.name, result.name, Deadline::NEVER)
            .map_err(|error| failure(result, &error)),
        Asked::Objects {
            class,
            select,
            conditions,
        } => {
            let select: Vec<_> = select.iter().map(|row| row.name).collect();
            let query = Query {
                class: class.name,
                select: &select,
                conditions,
            };
            provider(os, class)
                .query(&query, Deadline::NEVER)
                .map_err(|error| failure(class, &error))
        }
    }
}

/// A method of the class, or of one of its objects.
pub(crate) struct Invocation {
    pub(crate) class: &'static Class,
    pub(crate) method: &'static Method,
    /// None is the class itself.
    pub(crate) on: Option<ObjectPath>,
    pub(crate) arguments: Arguments,
}

impl Invocation {
    /// The out-parameters, `ReturnValue` among them.
    pub(crate) fn run(&self, os: &Os) -> Done<BTreeMap<&'static str, Value>> {
        let target = self
            .on
            .as_ref()
            .map_or(Target::Class(self.class.name), Target::Instance);
        let (method, arguments) = (self.method, &self.arguments);
        provider(os, self.class)
            .invoke(target, method.name, arguments, Deadline::NEVER)
            .map(|outcome| output(method, outcome))
            .map_err(|error| failure(self.class, &error))
    }
}

/// The in-parameters of a method on this node.
pub(crate) fn inputs(os: &Os, class: &Class, method: &Method) -> Done<BTreeSet<String>> {
    provider(os, class)
        .parameters(class.name, method.name, Deadline::NEVER)
        .map_err(|error| failure(class, &error))
}

/// The name of every method's out-parameter.
pub(crate) const RETURN_VALUE: &str = "ReturnValue";

fn provider<'a>(os: &'a Os, class: &Class) -> &'a dyn Provider {
    match class.namespace {
        Namespace::Smb => &*os.smb,
        Namespace::CimV2 => &*os.processes,
        _ if class.name.starts_with("MSFT_iSCSI") => &*os.iscsi,
        _ => &*os.storage,
    }
}

fn output(method: &'static Method, mut outcome: Outcome) -> BTreeMap<&'static str, Value> {
    let status = outcome.extended.take().map(status);
    let outs = method
        .parameters
        .iter()
        .filter(|row| row.direction == Direction::Out);
    let mut values: BTreeMap<_, _> = outs
        .map(|row| {
            (
                row.name,
                outcome.out.remove(row.name).unwrap_or(Value::Null),
            )
        })
        .collect();
    if let (Some(status), Some(place)) = (status, values.get_mut(extended_status::PARAMETER.name)) {
        *place = status;
    }
    let returned = match outcome.code {
        Returned::Code(code) => Value::uint32(code),
        Returned::Null => Value::Null,
    };
    values.insert(RETURN_VALUE, returned);
    values
}

fn status(text: String) -> Value {
    object(
        &extended_status::CLASS,
        [(extended_status::MESSAGE.name, Value::Text(text))],
    )
}

/// The providers of SMB fail with a meaningless code, and an object with the real one.
fn failure(class: &Class, error: &os::Error) -> ComFailure {
    let text = error.system_text.as_ref().map(SystemText::to_string);
    let failed_with = |code| ComFailure {
        code,
        error_info: text
            .clone()
            .map_or(ErrorInfo::Nothing, ErrorInfo::Description),
    };
    let code = match &error.cause {
        Cause::Hresult(code) => return failed_with(*code),
        Cause::Storage(code) => return storage_error(*code, text),
        Cause::Win32(code) => *code,
        Cause::TimedOut => Win32::TIMEOUT,
        other => {
            let error_info = ErrorInfo::Description(other.to_string());
            let code = Hresult::WBEM_E_PROVIDER_FAILURE;
            return ComFailure { code, error_info };
        }
    };
    if class.namespace == Namespace::Smb {
        let text = text.unwrap_or_else(|| code.to_string());
        let error_info = wmi_error(code, text);
        let code = Hresult::WBEM_E_FAILED;
        return ComFailure { code, error_info };
    }
    failed_with(Hresult(0x8007_0000 | code.0))
}

/// The failure of a storage call without a return code, with its identifier as in PowerShell.
fn storage_error(code: u32, text: Option<String>) -> ComFailure {
    let object = object(
        &wmi_error::CLASS,
        [
            (
                wmi_error::MESSAGE.name,
                Value::Text(text.unwrap_or_default()),
            ),
            (
                wmi_error::MESSAGE_ID.name,
                Value::Text(format!("StorageWMI {code}")),
            ),
        ],
    );
    let error_info = match object {
        Value::Object(object) => ErrorInfo::Object(object),
        _ => ErrorInfo::Nothing,
    };
    ComFailure {
        code: Hresult::WBEM_E_FAILED,
        error_info,
    }
}

fn wmi_error(code: Win32, text: String) -> ErrorInfo {
    let kind = wmi_error::error_type::WIN32.value;
    let Value::Object(object) = object(
        &wmi_error::CLASS,
        [
            (wmi_error::ERROR_CODE.name, Value::uint32(code.0)),
            (wmi_error::ERROR_TYPE.name, Value::text(kind)),
            (wmi_error::MESSAGE.name, Value::Text(text)),
        ],
    ) else {
        return ErrorInfo::Nothing;
    };
    ErrorInfo::Object(object)
}

fn object<const N: usize>(class: &Class, values: [(&str, Value); N]) -> Value {
    let values = values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Value::Object(Box::new(Instance {
        class: class.name.to_owned(),
        path: ObjectPath(String::new()),
        properties: values.collect(),
    }))
}
