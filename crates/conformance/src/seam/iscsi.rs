//! The contract of the iSCSI classes.

use os::schema::iscsi_associations::{target_to_session, target_to_target_portal};
use os::schema::{ReturnCode, iscsi_codes, iscsi_session, iscsi_target, iscsi_target_portal};
use os::{
    Arguments, Cause, Deadline, Facility, Hresult, Instance, ObjectPath, Provider, Query, Returned,
    Target, Value,
};

use crate::case::declare;
use crate::failure::{holds, same};
use crate::{CaseResult, Failure, Fixture, IscsiTarget};

declare!("iscsi", &[Facility::Iscsi];
    a_portal_that_is_added_tells_of_its_targets,
    a_portal_may_be_added_again,
    a_portal_that_does_not_answer_is_not_added,
    a_target_is_connected_as_long_as_it_has_a_session,
    a_second_login_to_a_target_is_refused,
    a_target_that_nobody_told_of_is_unknown,
    a_secret_that_is_too_short_is_refused,
    a_secret_of_twelve_to_sixteen_bytes_is_taken,
    a_session_is_persistent_from_register_to_unregister,
    a_session_is_ended_by_its_identifier_and_once,
    a_portal_is_asked_anew_and_removed_by_address_and_port,
);

fn a_portal_that_is_added_tells_of_its_targets(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    let portal = initiator.portal()?;
    let targets = initiator.iscsi.associators(
        &portal,
        target_to_target_portal::CLASS.name,
        iscsi_target::CLASS.name,
        Deadline::NEVER,
    )?;
    let names: Result<Vec<_>, _> = targets
        .iter()
        .map(|target| target.text(iscsi_target::NODE_ADDRESS.name))
        .collect();
    let is_listed = names?.contains(&initiator.target.name.as_str());
    holds("the target is among them", is_listed)
}

fn a_portal_may_be_added_again(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    initiator.add_portal(&initiator.target.portal)?;
    let query = Query::all(iscsi_target_portal::CLASS.name, &[]).with(
        iscsi_target_portal::TARGET_PORTAL_ADDRESS.name,
        Value::text(&initiator.target.portal),
    );
    let found = initiator.iscsi.query(&query, Deadline::NEVER)?;
    same("portals", &found.len(), &1)
}

fn a_portal_that_does_not_answer_is_not_added(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    // Reserved for documentation: no machine has it.
    let added = initiator.add_portal("192.0.2.1");
    holds("it fails", added.is_err())
}

fn a_target_is_connected_as_long_as_it_has_a_session(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    let target = initiator.found()?;
    let is_connected = iscsi_target::IS_CONNECTED.name;
    same("before", &target.bool(is_connected)?, &false)?;
    initiator.connect(&initiator.target.name)?;
    same(
        "with a session",
        &initiator.found()?.bool(is_connected)?,
        &true,
    )?;
    let sessions = initiator.iscsi.associators(
        &target.path,
        target_to_session::CLASS.name,
        iscsi_session::CLASS.name,
        Deadline::NEVER,
    )?;
    same("sessions", &sessions.len(), &1)?;
    let of = sessions
        .first()
        .map(|session| session.text(iscsi_session::TARGET_NODE_ADDRESS.name));
    same(
        "target",
        &of.transpose()?,
        &Some(initiator.target.name.as_str()),
    )?;
    initiator.disconnect(&target.path)?;
    same("after", &initiator.found()?.bool(is_connected)?, &false)
}

fn a_second_login_to_a_target_is_refused(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    initiator.connect(&initiator.target.name)?;
    let again = initiator.connect(&initiator.target.name);
    refused("Connect", again, iscsi_codes::TARGET_ALREADY_LOGGED_IN)
}

fn a_target_that_nobody_told_of_is_unknown(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    let connected = initiator.connect("iqn.2026-01.com.example:no-such-target");
    refused("Connect", connected, iscsi_codes::TARGET_NOT_FOUND)
}

fn a_secret_that_is_too_short_is_refused(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    let secret = Arguments::none().with(
        iscsi_session::set_chap_secret::CHAP_SECRET.name,
        Value::text("eleven long"),
    );
    let class = Target::Class(iscsi_session::CLASS.name);
    let set = initiator.invoke(class, iscsi_session::SET_CHAP_SECRET.name, &secret);
    holds("it fails", set.is_err())
}

fn a_secret_of_twelve_to_sixteen_bytes_is_taken(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    for secret in ["0123456789ab", "0123456789abcdef"] {
        let secret = Arguments::none().with(
            iscsi_session::set_chap_secret::CHAP_SECRET.name,
            Value::text(secret),
        );
        let class = Target::Class(iscsi_session::CLASS.name);
        initiator.invoke(class, iscsi_session::SET_CHAP_SECRET.name, &secret)?;
    }
    Ok(())
}

fn a_session_is_persistent_from_register_to_unregister(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    initiator.connect(&initiator.target.name)?;
    let is_persistent = || initiator.session()?.bool(iscsi_session::IS_PERSISTENT.name);
    same("at first", &is_persistent()?, &false)?;
    let session = initiator.session()?.path;
    let run = |method| initiator.invoke(Target::Instance(&session), method, &Arguments::none());
    run(iscsi_session::REGISTER.name)?;
    same("registered", &is_persistent()?, &true)?;
    run(iscsi_session::UNREGISTER.name)?;
    same("unregistered", &is_persistent()?, &false)
}

fn a_session_is_ended_by_its_identifier_and_once(fixture: &Fixture) -> CaseResult {
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    initiator.connect(&initiator.target.name)?;
    let session = initiator.session()?;
    let id = session.text(iscsi_session::SESSION_IDENTIFIER.name)?;
    let id = Arguments::none().with(
        iscsi_target::disconnect::SESSION_IDENTIFIER.name,
        Value::text(id),
    );
    let target = initiator.found()?.path;
    let end = || {
        let target = Target::Instance(&target);
        initiator.invoke(target, iscsi_target::DISCONNECT.name, &id)
    };
    end()?;
    refused("Disconnect", end(), iscsi_codes::INVALID_SESSION_ID)
}

fn a_portal_is_asked_anew_and_removed_by_address_and_port(fixture: &Fixture) -> CaseResult {
    const PORT: u16 = 3260;
    let initiator = Initiator::of(fixture)?;
    initiator.add_portal(&initiator.target.portal)?;
    let portal = initiator.portal()?;
    let run = |method, address, port| {
        let arguments = Arguments::none()
            .with(address, Value::text(&initiator.target.portal))
            .with(port, Value::uint16(PORT));
        initiator.invoke(Target::Instance(&portal), method, &arguments)
    };
    run(
        iscsi_target_portal::UPDATE.name,
        iscsi_target_portal::update::TARGET_PORTAL_ADDRESS.name,
        iscsi_target_portal::update::TARGET_PORTAL_PORT_NUMBER.name,
    )?;
    initiator.found()?;
    run(
        iscsi_target_portal::REMOVE.name,
        iscsi_target_portal::remove::TARGET_PORTAL_ADDRESS.name,
        iscsi_target_portal::remove::TARGET_PORTAL_PORT_NUMBER.name,
    )?;
    holds("the portal is gone", initiator.portal().is_err())
}

/// The node's initiator, with a target for this case alone, logged out when this is dropped.
struct Initiator<'a> {
    iscsi: &'a dyn Provider,
    target: IscsiTarget,
}

impl<'a> Initiator<'a> {
    fn of(fixture: &'a Fixture) -> CaseResult<Self> {
        let target = fixture.control().target();
        Ok(Self {
            iscsi: fixture.iscsi(),
            target: target.ok_or(Failure::Unequipped("target to log in to"))?,
        })
    }

    fn add_portal(&self, address: &str) -> os::Result<()> {
        let arguments = Arguments::none().with(
            iscsi_target_portal::new::TARGET_PORTAL_ADDRESS.name,
            Value::text(address),
        );
        let class = Target::Class(iscsi_target_portal::CLASS.name);
        self.invoke(class, iscsi_target_portal::NEW.name, &arguments)
    }

    fn connect(&self, target: &str) -> os::Result<()> {
        let arguments = Arguments::none().with(
            iscsi_target::connect::NODE_ADDRESS.name,
            Value::text(target),
        );
        let class = Target::Class(iscsi_target::CLASS.name);
        self.invoke(class, iscsi_target::CONNECT.name, &arguments)
    }

    fn disconnect(&self, target: &ObjectPath) -> os::Result<()> {
        let target = Target::Instance(target);
        self.invoke(target, iscsi_target::DISCONNECT.name, &Arguments::none())
    }

    /// A method's return code is the initiator's, as is a failed call's HRESULT, so both kinds of failure become one.
    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
    ) -> os::Result<()> {
        let done = self
            .iscsi
            .invoke(target, method, arguments, Deadline::NEVER)?;
        match done.code {
            Returned::Code(0) => Ok(()),
            Returned::Null => {
                let null = Cause::Malformed("no return value".to_owned());
                Err(os::Error::new(method, target, null))
            }
            Returned::Code(code) => Err(os::Error::new(method, target, Hresult(code))),
        }
    }

    fn portal(&self) -> CaseResult<ObjectPath> {
        let query = Query::all(iscsi_target_portal::CLASS.name, &[]).with(
            iscsi_target_portal::TARGET_PORTAL_ADDRESS.name,
            Value::text(&self.target.portal),
        );
        let found = self.iscsi.query(&query, Deadline::NEVER)?.pop();
        let found = found.map(|portal| portal.path);
        found.ok_or_else(|| Failure::Wrong("the portal is not listed".to_owned()))
    }

    /// The one session of the target.
    fn session(&self) -> os::Result<Instance> {
        const SELECT: &[&str] = &[
            iscsi_session::IS_PERSISTENT.name,
            iscsi_session::SESSION_IDENTIFIER.name,
        ];
        let name = iscsi_session::TARGET_NODE_ADDRESS.name;
        let query = Query::all(iscsi_session::CLASS.name, SELECT)
            .with(name, Value::text(&self.target.name));
        let mut found = self.iscsi.query(&query, Deadline::NEVER)?;
        match (found.pop(), found.is_empty()) {
            (Some(session), true) => Ok(session),
            _ => Err(os::Error::new(
                "query",
                &self.target.name,
                Hresult::WBEM_E_NOT_FOUND,
            )),
        }
    }

    fn found(&self) -> CaseResult<Instance> {
        let name = iscsi_target::NODE_ADDRESS.name;
        let select = [name, iscsi_target::IS_CONNECTED.name];
        let query = Query::all(iscsi_target::CLASS.name, &select)
            .with(name, Value::text(&self.target.name));
        let found = self.iscsi.query(&query, Deadline::NEVER)?.pop();
        found.ok_or_else(|| Failure::Wrong("the target is not listed".to_owned()))
    }
}

impl Drop for Initiator<'_> {
    fn drop(&mut self) {
        // A leftover makes the next case fail, and so shows.
        if let Ok(target) = self.found() {
            let _ = self.disconnect(&target.path);
        }
        if let Ok(portal) = self.portal() {
            let target = Target::Instance(&portal);
            let method = iscsi_target_portal::REMOVE.name;
            let _ = self.invoke(target, method, &Arguments::none());
        }
    }
}

/// Passes when the call failed with this code of the initiator.
fn refused(step: &str, result: os::Result<()>, wanted: ReturnCode) -> CaseResult {
    let cause = result.err().map(|error| error.cause);
    same(step, &cause, &Some(Cause::Hresult(Hresult(wanted.code))))
}
