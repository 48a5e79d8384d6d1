//! Answers of failing iSCSI methods.

use os::schema::{iscsi_codes, iscsi_target_portal as portal};
use os::{Arguments, Cause, Returned, Target, Value};

use super::{Answer, Sight, Sights};
use crate::NodeFixture;
use crate::cases::{Initiator, NOWHERE};

/// Win32 codes are below it, the initiator's own above.
const WIN32_CODES: u32 = 0x1_0000;

pub(super) fn refused_portal(fixture: &dyn NodeFixture) -> Sights {
    let initiator = Initiator::started(fixture)?;
    let arguments = Arguments::none()
        .with(
            portal::new::TARGET_PORTAL_ADDRESS.name,
            Value::text(NOWHERE),
        )
        .with(
            portal::new::TARGET_PORTAL_PORT_NUMBER.name,
            Value::uint16(3260),
        );
    let class = Target::Class(portal::CLASS.name);
    let iscsi = &*fixture.os().iscsi;
    let answer = Answer::of(fixture, iscsi, class, &portal::NEW, &arguments);
    initiator.forget_nowhere();
    Ok(vec![Sight::of(is_known(&answer), format!("New {answer}"))])
}

fn is_known(answer: &Answer) -> bool {
    let is_own = |code: u32| iscsi_codes::ALL.iter().any(|row| row.code == code);
    match &answer.0 {
        Ok(outcome) => match outcome.code {
            Returned::Code(code) => code != 0 && (code < WIN32_CODES || is_own(code)),
            Returned::Null => false,
        },
        Err(error) => match error.cause {
            Cause::Win32(_) => true,
            Cause::Hresult(code) => code.win32().is_some() || is_own(code.0),
            _ => false,
        },
    }
}
