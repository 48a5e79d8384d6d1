//! Class definitions: they differ between builds of Windows.

use std::collections::BTreeSet;

use os::schema::smb_global_mapping::{self, create};
use os::schema::{Build, Direction, Method, disk};
use os::{Arguments, Cause, Deadline, Hresult, Provider, Target, Value};
use os_sim::{ClockMode, Inventory, NodeSpec, SimNode};
use wincsi_os_windows_testkit::OutParameters;

use crate::echo::Echo;
use crate::provider_fixture::ProviderFixture;
use crate::types::methods;

const CLASS: &str = smb_global_mapping::CLASS.name;
const CREATE: &str = smb_global_mapping::CREATE.name;

fn fixture(build: Build) -> ProviderFixture {
    let spec = NodeSpec::default().build(build);
    let node = SimNode::in_memory(&spec, Inventory::of(0), ClockMode::Virtual).expect("a node");
    ProviderFixture::over(node.os(), OutParameters::Result, node)
}

fn parameters(fixture: &ProviderFixture) -> BTreeSet<String> {
    let known = fixture.native.parameters(CLASS, CREATE, Deadline::NEVER);
    known.expect("a definition")
}

fn inputs(method: &Method) -> BTreeSet<String> {
    let rows = method.parameters.iter();
    let inputs = rows.filter(|row| row.direction == Direction::In);
    inputs.map(|row| row.name.to_owned()).collect()
}

#[test]
fn the_definition_names_the_parameters_of_every_method() {
    let (_, fixture) = Echo::with_bench(OutParameters::Result);
    for (class, method) in methods() {
        let known = fixture
            .native
            .parameters(class.name, method.name, Deadline::NEVER);
        assert_eq!(known, Ok(inputs(method)), "{}.{}", class.name, method.name);
    }
}

#[test]
fn a_parameter_comes_with_the_build_that_brought_it() {
    let has = |build, row: os::schema::Parameter| parameters(&fixture(build)).contains(row.name);
    for (build, write_through, block_ntlm) in [
        (Build::SERVER_2016, false, false),
        (Build::SERVER_2022, true, false),
        (Build::SERVER_2025, true, true),
    ] {
        assert_eq!(has(build, create::USE_WRITE_THROUGH), write_through);
        assert_eq!(has(build, create::BLOCK_NTLM), block_ntlm);
        assert!(has(build, create::CREDENTIAL));
    }
}

/// "Not found" would be taken for an unmapped share.
#[test]
fn an_argument_that_the_build_does_not_know_is_no_missing_object() {
    let fixture = fixture(Build::SERVER_2022);
    let arguments = Arguments::none()
        .with(create::REMOTE_PATH.name, Value::text(r"\\files\share"))
        .with(create::BLOCK_NTLM.name, Value::Bool(true));
    let create = |provider: &dyn Provider| {
        let done = provider.invoke(Target::Class(CLASS), CREATE, &arguments, Deadline::NEVER);
        done.expect_err("no such parameter").cause
    };
    let refused = Cause::Hresult(Hresult::WBEM_E_INVALID_METHOD_PARAMETERS);
    assert_eq!(create(&fixture.native), refused);
    assert_eq!(create(&*fixture.node.os().smb), refused);
}

#[test]
fn a_definition_is_fetched_once_for_a_connection() {
    let fixture = fixture(Build::SERVER_2022);
    parameters(&fixture);
    let first = fixture.times("IWbemServices.GetObject");
    parameters(&fixture);
    assert_eq!((first, fixture.times("IWbemServices.GetObject")), (1, 0));
}

#[test]
fn what_the_class_table_does_not_have_is_not_asked_for() {
    let fixture = fixture(Build::SERVER_2022);
    for (class, method) in [(disk::CLASS.name, "Elsewhere"), ("Elsewhere", "Create")] {
        let known = fixture.native.parameters(class, method, Deadline::NEVER);
        let cause = known.expect_err("no row").cause;
        assert!(matches!(cause, Cause::Malformed(_)), "{cause}");
    }
    assert_eq!(fixture.wmi.connections(), 0);
}
