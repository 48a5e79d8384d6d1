//! The contract of SMB's global mappings.

use os::schema::smb_global_mapping::{
    CLASS, CREATE, REMOTE_PATH, REMOVE, STATUS, create, remove, status,
};
use os::{
    Arguments, Cause, Deadline, Facility, Hresult, Instance, ObjectPath, Provider, Query, Returned,
    Target, Value, Win32, WinPath,
};

use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::{CaseResult, Failure, Fixture, Share};

declare!("smb", &[Facility::Files, Facility::Smb];
    a_mapped_share_is_listed_and_reached,
    a_mapping_is_found_without_regard_to_case,
    a_mapping_that_is_gone_cannot_be_removed,
    a_server_that_is_not_there_is_bad_netpath,
    a_share_that_is_not_there_is_bad_net_name,
    a_wrong_password_is_refused_and_leaves_nothing,
    a_second_user_of_a_server_conflicts,
    a_share_that_is_mapped_is_not_mapped_again,
    a_separator_at_the_end_is_refused,
    the_definition_tells_which_parameters_a_method_has,
);

fn the_definition_tells_which_parameters_a_method_has(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    let known = client
        .smb
        .parameters(CLASS.name, CREATE.name, Deadline::NEVER)?;
    for row in [
        create::REMOTE_PATH,
        create::CREDENTIAL,
        create::REQUIRE_PRIVACY,
    ] {
        let is_known = known.iter().any(|it| it.eq_ignore_ascii_case(row.name));
        holds("every build has the parameter", is_known)?;
    }
    let created = create::CREATED_MAPPING.name;
    holds("what comes out is none", !known.contains(created))
}

fn a_mapped_share_is_listed_and_reached(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    client.map(&client.share.path, &client.share.password)?;
    let mapping = client.mapping(&client.share.path)?;
    let listed = mapping.ok_or_else(|| Failure::Wrong("the mapping is not listed".to_owned()))?;
    same("status", &listed.u32(STATUS.name)?, &status::OK.value)?;
    let root = client.root()?;
    let entry = fixture.files().entry(&root)?;
    holds("the share is a directory", entry.is_directory())?;
    client.remove(&listed.path)?;
    let left = client.mapping(&client.share.path)?;
    holds("the mapping is gone", left.is_none())
}

fn a_mapping_is_found_without_regard_to_case(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    client.map(&client.share.path, &client.share.password)?;
    let upper = client.mapping(&client.share.path.to_uppercase())?;
    holds("it is found in upper case", upper.is_some())
}

fn a_mapping_that_is_gone_cannot_be_removed(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    client.map(&client.share.path, &client.share.password)?;
    let mapping = client.mapping(&client.share.path)?;
    let path = mapping.map(|mapping| mapping.path);
    let path = path.ok_or_else(|| Failure::Wrong("the mapping is not listed".to_owned()))?;
    client.remove(&path)?;
    let again = client.remove(&path);
    holds("it fails", again.is_err())
}

fn a_server_that_is_not_there_is_bad_netpath(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    let mapped = client.map(r"\\wincsi-no-such-server\share", &client.share.password);
    refused("Create", mapped, Win32::BAD_NETPATH)
}

fn a_share_that_is_not_there_is_bad_net_name(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    let other = format!("{}-no-such-share", client.share.path);
    let mapped = client.map(&other, &client.share.password);
    refused("Create", mapped, Win32::BAD_NET_NAME)
}

/// Some servers name the password, most say that it may be the name as well.
fn a_wrong_password_is_refused_and_leaves_nothing(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    let code = client
        .map(&client.share.path, "wrong password")
        .err()
        .and_then(|error| error.win32());
    let is_refusal = matches!(code, Some(Win32::INVALID_PASSWORD | Win32::LOGON_FAILURE));
    holds("the logon fails", is_refusal)?;
    let left = client.mapping(&client.share.path)?;
    holds("nothing is mapped", left.is_none())
}

fn a_second_user_of_a_server_conflicts(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    client.map(&client.share.path, &client.share.password)?;
    let other = format!("{}-other", client.share.user);
    let mapped = client.create(&client.share.path, &other, &client.share.password);
    refused("Create", mapped, Win32::SESSION_CREDENTIAL_CONFLICT)
}

/// Since Server 2019: see `os-sim`'s `Redirector::create` for who saw it.
fn a_share_that_is_mapped_is_not_mapped_again(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    client.map(&client.share.path, &client.share.password)?;
    let again = client.map(&client.share.path, &client.share.password);
    let failed_with = again.err().map(|error| error.cause);
    let failed = Some(Cause::Hresult(Hresult::WBEM_E_FAILED));
    same("the second time", &failed_with, &failed)?;
    let left = client.mapping(&client.share.path)?;
    holds("the first mapping stays", left.is_some())
}

fn a_separator_at_the_end_is_refused(fixture: &Fixture) -> CaseResult {
    let client = Client::of(fixture)?;
    let mapped = client.map(&format!(r"{}\", client.share.path), &client.share.password);
    refused("Create", mapped, Win32::INVALID_PARAMETER)
}

/// The node's SMB client, with a share for this case alone. Its mapping goes when this is dropped.
struct Client<'a> {
    smb: &'a dyn Provider,
    share: Share,
}

impl<'a> Client<'a> {
    fn of(fixture: &'a Fixture) -> CaseResult<Self> {
        let share = fixture.control().share();
        Ok(Self {
            smb: fixture.smb(),
            share: share.ok_or(Failure::Unequipped("share to map"))?,
        })
    }

    fn map(&self, remote: &str, password: &str) -> os::Result<()> {
        self.create(remote, &self.share.user, password)
    }

    fn create(&self, remote: &str, user: &str, password: &str) -> os::Result<()> {
        let user = user.replace('\\', r"\\").replace(':', r"\:");
        let arguments = Arguments::none()
            .with(create::REMOTE_PATH.name, Value::text(remote))
            .with(
                create::CREDENTIAL.name,
                Value::text(format!("{user}:{password}")),
            )
            .with(create::REQUIRE_PRIVACY.name, Value::Bool(true))
            .with(create::PERSISTENT.name, Value::Bool(false));
        let class = Target::Class(CLASS.name);
        self.invoke(class, CREATE.name, &arguments)
    }

    fn remove(&self, mapping: &ObjectPath) -> os::Result<()> {
        let force = Arguments::none().with(remove::FORCE.name, Value::Bool(true));
        self.invoke(Target::Instance(mapping), REMOVE.name, &force)
    }

    /// A method's return code is a Win32 error as well, so both kinds of failure become one.
    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
    ) -> os::Result<()> {
        let done = self
            .smb
            .invoke(target, method, arguments, Deadline::NEVER)?;
        match done.code {
            Returned::Code(0) => Ok(()),
            Returned::Null => {
                let null = Cause::Malformed("no return value".to_owned());
                Err(os::Error::new(method, target, null))
            }
            Returned::Code(code) => Err(os::Error::new(method, target, Win32(code))),
        }
    }

    fn mapping(&self, remote: &str) -> os::Result<Option<Instance>> {
        let query = Query::all(CLASS.name, &[REMOTE_PATH.name, STATUS.name])
            .with(REMOTE_PATH.name, Value::text(remote));
        Ok(self.smb.query(&query, Deadline::NEVER)?.pop())
    }

    fn root(&self) -> CaseResult<WinPath> {
        let root = self.share.path.parse();
        root.map_err(|error| Failure::Wrong(format!("{}: {error}", self.share.path)))
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        // A leftover makes the next case fail, and so shows.
        if let Ok(Some(mapping)) = self.mapping(&self.share.path) {
            let _ = self.remove(&mapping.path);
        }
    }
}
