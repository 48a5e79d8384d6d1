//! A share of a server, mapped for the whole node.

use std::num::NonZeroU16;

use node::api::Condition;
use node::{Credentials, MapRequest, MappingOptions, RemotePath, ResolvedPath, Transport};
use os::schema::smb_global_mapping;
use os::{Deadline, Instance, Query, Value, WinPath};
use zeroize::Zeroizing;

use super::{Play, below, declare};
use crate::failure::{holds, refused_as, same};
use crate::{CaseResult, Failure, NodeFixture, SharedFile};

declare!("smb";
    a_share_is_mapped_linked_read_and_unmapped,
    a_share_that_is_mapped_may_be_mapped_again,
    a_share_is_mapped_anew_after_it_was_unmapped,
    a_share_that_is_not_mapped_is_told_so,
    a_wrong_password_is_told_so,
    a_share_that_is_not_there_is_told_so,
    a_share_is_mapped_signed_and_encrypted,
    an_option_that_this_build_lacks_is_refused_by_its_name,
);

/// The share of a fixture, unmapped again when this is dropped.
struct Client<'a> {
    play: Play<'a>,
    share: SharedFile,
    remote: RemotePath,
}

impl<'a> Client<'a> {
    fn on(fixture: &'a dyn NodeFixture) -> CaseResult<Self> {
        let share = fixture.shared_file();
        let share = share.ok_or(Failure::Unequipped("share to map"))?;
        Ok(Self {
            play: Play::on(fixture),
            remote: RemotePath::parse(&share.share.path).map_err(Failure::unexpected)?,
            share,
        })
    }

    fn map(&self, link: Option<&WinPath>) -> node::api::Result<()> {
        let link_path = link.map(ResolvedPath::from);
        self.map_to(
            &self.remote,
            &self.share.share.password,
            link_path.as_ref(),
            none(),
        )
    }

    fn map_with(&self, options: MappingOptions) -> node::api::Result<()> {
        self.map_to(&self.remote, &self.share.share.password, None, options)
    }

    fn map_as(&self, remote: &RemotePath, password: &str) -> node::api::Result<()> {
        self.map_to(remote, password, None, none())
    }

    fn map_to(
        &self,
        remote: &RemotePath,
        password: &str,
        link: Option<&ResolvedPath>,
        options: MappingOptions,
    ) -> node::api::Result<()> {
        let password = Zeroizing::new(password.to_owned());
        let credentials = Credentials::new(self.share.share.user.clone(), password);
        let mapping = MapRequest::of(remote)
            .with_credentials(credentials.as_ref())
            .with_link(link)
            .with_options(options);
        let mapped = self.play.node.smb().map(&mapping, self.play.deadline());
        mapped.map(drop)
    }

    /// The provider's objects of this share's mapping.
    fn rows(&self) -> CaseResult<Vec<Instance>> {
        let select = [
            smb_global_mapping::REQUIRE_INTEGRITY.name,
            smb_global_mapping::REQUIRE_PRIVACY.name,
        ];
        let path = Value::text(self.share.share.path.as_str());
        let query = Query::all(smb_global_mapping::CLASS.name, &select)
            .with(smb_global_mapping::REMOTE_PATH.name, path);
        let smb = &self.play.fixture.os().smb;
        Ok(smb.query(&query, Deadline::NEVER)?)
    }

    fn unmap(&self) -> node::api::Result<()> {
        let smb = self.play.node.smb();
        smb.unmap(&self.remote, self.play.deadline())
    }

    fn reads(&self, folder: &WinPath) -> CaseResult {
        let content = self
            .play
            .fixture
            .read_file(&below(folder, self.share.file)?)?;
        same("content", &content, &self.share.content.to_vec())
    }
}

impl Drop for Client<'_> {
    /// A leftover makes the next case fail, and so shows.
    fn drop(&mut self) {
        let _ = self.unmap();
    }
}

fn a_share_is_mapped_linked_read_and_unmapped(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    let play = &client.play;
    let link = play.at("share")?;
    client.map(Some(&link))?;
    client.reads(&link)?;
    let filesystem = play.node.filesystem();
    holds(
        "it is a link",
        filesystem.is_symlink(&link, play.deadline())?,
    )?;
    filesystem.remove_entry(&link, play.deadline())?;
    client.reads(client.remote.path())?;
    client.unmap()?;
    refused_as("unmap", client.unmap(), Condition::NotMapped)
}

fn a_share_that_is_mapped_may_be_mapped_again(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    let link = client.play.at("share")?;
    client.map(Some(&link))?;
    client.map(Some(&link))?;
    client.reads(&link)
}

fn a_share_is_mapped_anew_after_it_was_unmapped(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    client.map(None)?;
    client.unmap()?;
    client.map(None)?;
    client.reads(client.remote.path())
}

fn a_share_that_is_not_mapped_is_told_so(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    refused_as("unmap", client.unmap(), Condition::NotMapped)
}

fn a_wrong_password_is_told_so(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    let mapped = client.map_as(&client.remote, "not the password");
    refused_as("map", mapped, Condition::LogonFailure)?;
    refused_as("unmap", client.unmap(), Condition::NotMapped)
}

fn a_share_that_is_not_there_is_told_so(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    let other = format!("{}-not-there", client.share.share.path);
    let other = RemotePath::parse(&other).map_err(Failure::unexpected)?;
    let mapped = client.map_as(&other, &client.share.share.password);
    refused_as("map", mapped, Condition::ServerNotFound)
}

fn a_share_is_mapped_signed_and_encrypted(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    client.map_with(none().with_integrity(true).with_privacy(true))?;
    client.reads(client.remote.path())?;
    let rows = client.rows()?;
    let [row] = rows.as_slice() else {
        return Err(Failure::unexpected(format!("no single mapping: {rows:?}")));
    };
    for name in [
        smb_global_mapping::REQUIRE_INTEGRITY.name,
        smb_global_mapping::REQUIRE_PRIVACY.name,
    ] {
        let reported = row.bool_or_null(name).map_err(Failure::unexpected)?;
        same(name, &reported, &Some(true))?;
    }
    Ok(())
}

/// The case logs a build's options; the effect of an option on a build that has it is not tried.
fn an_option_that_this_build_lacks_is_refused_by_its_name(fixture: &dyn NodeFixture) -> CaseResult {
    let client = Client::on(fixture)?;
    let (class, method) = (&smb_global_mapping::CLASS, &smb_global_mapping::CREATE);
    let smb = &fixture.os().smb;
    let known = smb.parameters(class.name, method.name, Deadline::NEVER)?;
    fixture.note(&format!("{}.{}: {known:?}", class.name, method.name));
    for options in newer() {
        let asked: Vec<_> = options.names().collect();
        let has = |name: &&str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !asked.iter().all(has) {
            let mapped = client.map_with(options);
            refused_as(asked[0], mapped, Condition::UnknownOption)?;
            refused_as("unmap", client.unmap(), Condition::NotMapped)?;
        }
    }
    Ok(())
}

fn none() -> MappingOptions {
    MappingOptions::default()
}

/// One option each, of those missing in some builds.
fn newer() -> [MappingOptions; 5] {
    let mut other_port = none();
    other_port.tcp_port = NonZeroU16::new(1445);
    [
        none().with_block_ntlm(true),
        none().with_compression(true),
        other_port,
        none().with_transport(Transport::Tcp),
        none().with_write_through(true),
    ]
}
