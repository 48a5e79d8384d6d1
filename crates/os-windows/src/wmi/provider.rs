use std::collections::BTreeSet;
use std::sync::Arc;

use automation::{SchemaMismatch, Secrets, WmiError};
use os::schema::{self, Class, Direction, Method, Namespace, Scope};
use os::{
    Arguments, Cause, Clock, Deadline, Error, Instance, ObjectPath, Outcome, Provider, Query,
    Result, Target,
};

use super::job::Job;
use super::method::{Invoke, ListParameters, Signature, WipedArguments};
use super::pool::Pool;
use super::query::Find;
use super::{Connect, LocalMachine};
use crate::failure;

/// The providers of every namespace of [`os::schema`]; a class's row names its namespace. One of them serves the whole
/// node.
///
/// A deadline bounds the wait, even for an uninterruptible call. A method begun before its deadline goes on after it: a
/// caller with a lock for it calls without a deadline.
pub struct NativeProvider {
    clock: Arc<dyn Clock>,
    pools: Pools,
}

/// Each namespace has threads of its own, so none waits for another, silent one.
struct Pools {
    cim_v2: Pool,
    smb: Pool,
    storage: Pool,
}

impl Pools {
    fn over(connect: &Arc<dyn Connect>) -> Self {
        let pool = |namespace| Pool::new(Arc::clone(connect), namespace);
        Self {
            cim_v2: pool(Namespace::CimV2),
            smb: pool(Namespace::Smb),
            storage: pool(Namespace::Storage),
        }
    }

    fn of(&self, namespace: Namespace) -> &Pool {
        match namespace {
            Namespace::CimV2 => &self.cim_v2,
            Namespace::Smb => &self.smb,
            Namespace::Storage => &self.storage,
        }
    }
}

impl NativeProvider {
    /// WMI of this machine. Nothing is connected before it is needed.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::over(clock, Arc::new(LocalMachine))
    }

    /// The same over other connections.
    #[must_use]
    pub fn over(clock: Arc<dyn Clock>, connect: Arc<dyn Connect>) -> Self {
        let pools = Pools::over(&connect);
        Self { clock, pools }
    }

    #[cfg(test)]
    pub(super) fn threads(&self, namespace: Namespace) -> usize {
        self.pools.of(namespace).threads()
    }

    #[cfg(test)]
    pub(super) fn waiting(&self, namespace: Namespace) -> usize {
        self.pools.of(namespace).waiting()
    }

    fn ask<J: Job>(&self, job: J, deadline: Deadline) -> std::result::Result<J::Reply, WmiError> {
        let patience = deadline.left(&*self.clock).ok_or(Cause::TimedOut)?;
        self.pools.of(job.class().namespace).ask(job, patience)
    }

    fn find(&self, find: Find, deadline: Deadline) -> Result<Vec<Instance>> {
        let text = find.text().to_owned();
        let found = self.ask(find, deadline);
        found.map_err(|fault| error(QUERY, &text, fault))
    }
}

impl Provider for NativeProvider {
    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
        let selection = automation::select(query)
            .map_err(|mismatch| error(QUERY, query.class, mismatch.into()))?;
        self.find(Find::selected(selection), deadline)
    }

    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Instance>> {
        let selection = automation::associators(of, association, result_class)
            .map_err(|mismatch| error(QUERY, association, mismatch.into()))?;
        self.find(Find::whole(selection), deadline)
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome> {
        let object = format!("{method} of {target}");
        let call = call(target, method, arguments);
        let call = call.map_err(|mismatch| error(METHOD, &object, mismatch.into()))?;
        let secrets = Secrets::of(call.signature.method, arguments);
        let failed = |fault| error_without(&secrets, METHOD, &object, fault);
        self.ask(call, deadline).map_err(failed)
    }

    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>> {
        let failed = |fault| error(DEFINITION, &format!("{class}.{method}"), fault);
        let row = schema::class(class)
            .ok_or_else(|| SchemaMismatch::class(class))
            .and_then(|class| signature(class, method));
        let signature = row.map_err(|mismatch| failed(mismatch.into()))?;
        self.ask(ListParameters(signature), deadline)
            .map_err(failed)
    }
}

const QUERY: &str = "IWbemServices.ExecQuery";
const METHOD: &str = "IWbemServices.ExecMethod";
const DEFINITION: &str = "IWbemServices.GetObject";

fn error(operation: &'static str, object: &str, fault: WmiError) -> Error {
    error_without(&Secrets::none(), operation, object, fault)
}

/// The system's text, in its own language, is data beside the cause, never matched on.
fn error_without(
    secrets: &Secrets<'_>,
    operation: &'static str,
    object: &str,
    fault: WmiError,
) -> Error {
    let Some(system_text) = fault
        .extended
        .and_then(|system_text| secrets.keep(&system_text))
    else {
        return failure::error(operation, object, fault.cause);
    };
    // The error's receiver may convert it to one without the text.
    tracing::debug!(operation, object, cause = %fault.cause, "said" = %system_text, "WMI says more of a failure");
    Error::new(operation, object, fault.cause).with_system_text(Some(system_text))
}

/// The call, if the class table allows it.
fn call(
    target: Target<'_>,
    method: &str,
    arguments: &Arguments,
) -> std::result::Result<Invoke, SchemaMismatch> {
    let signature = signature(class_of(target)?, method)?;
    check_scope(signature, target)?;
    check_arguments(signature.method, arguments)?;
    let path = match target {
        Target::Class(_) => signature.class.name.to_owned(),
        Target::Instance(path) => path.0.clone(),
    };
    Ok(Invoke {
        signature,
        path,
        arguments: WipedArguments(arguments.clone()),
    })
}

fn signature(
    class: &'static Class,
    method: &str,
) -> std::result::Result<Signature, SchemaMismatch> {
    let row = class.method(method);
    let method = row.ok_or_else(|| SchemaMismatch::property(class.name, method))?;
    Ok(Signature { class, method })
}

fn class_of(target: Target<'_>) -> std::result::Result<&'static Class, SchemaMismatch> {
    match target {
        Target::Class(name) => schema::class(name).ok_or_else(|| SchemaMismatch::class(name)),
        Target::Instance(path) => automation::class_of(path),
    }
}

fn check_scope(
    signature: Signature,
    target: Target<'_>,
) -> std::result::Result<(), SchemaMismatch> {
    let Signature { class, method } = signature;
    match (method.scope, target) {
        (Scope::Instance, Target::Instance(_)) | (Scope::Static(_), Target::Class(_)) => Ok(()),
        _ => Err(SchemaMismatch::property(class.name, method.name)),
    }
}

/// Each is declared, and every required one is present. The conversion checks the types.
fn check_arguments(
    method: &Method,
    arguments: &Arguments,
) -> std::result::Result<(), SchemaMismatch> {
    for name in arguments.0.keys() {
        method
            .parameter(name)
            .filter(|row| row.direction == Direction::In)
            .ok_or_else(|| SchemaMismatch::property(method.name, name))?;
    }
    for row in method.parameters {
        let is_needed = row.direction == Direction::In && !row.optional;
        let is_given = arguments
            .0
            .iter()
            .any(|(name, value)| name.eq_ignore_ascii_case(row.name) && !value.is_null());
        if is_needed && !is_given {
            return Err(SchemaMismatch::value(format!(
                "{}.{}",
                method.name, row.name
            )));
        }
    }
    Ok(())
}
