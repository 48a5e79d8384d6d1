//! A share of a server, mapped for the whole node.

use node::Credentials;
use node::Mapping;
use node::MappingOptions;
use node::RemotePath;
use node::Way;
use node::api::Condition;
use os::WinPath;
use zeroize::Zeroizing;

use super::Play;
use super::below;
use super::declare;
use crate::Failure;
use crate::Share;
use crate::Stand;
use crate::failure::holds;
use crate::failure::refused;
use crate::failure::same;

declare!("smb";
    a_share_is_mapped_linked_read_and_unmapped,
    a_share_that_is_mapped_may_be_mapped_again,
    a_share_is_mapped_anew_after_it_was_unmapped,
    a_share_that_is_not_mapped_is_told_so,
    a_wrong_password_is_told_so,
    a_share_that_is_not_there_is_told_so,
);

/// The share of a stand, unmapped again when this is dropped.
struct Client<'a> {
    play: Play<'a>,
    share: Share,
    remote: RemotePath,
}

impl<'a> Client<'a> {
    fn on(stand: &'a dyn Stand) -> Result<Self, Failure> {
        let share = stand.shared_file();
        let share = share.ok_or(Failure::Unequipped("share to map"))?;
        Ok(Self {
            play: Play::on(stand),
            remote: RemotePath::parse(&share.share.path).map_err(Failure::odd)?,
            share,
        })
    }

    fn map(&self, link: Option<&WinPath>) -> node::api::Result<()> {
        self.map_as(&self.remote, &self.share.share.password, link)
    }

    fn map_as(
        &self,
        remote: &RemotePath,
        password: &str,
        link: Option<&WinPath>,
    ) -> node::api::Result<()> {
        let password = Zeroizing::new(password.to_owned());
        let credentials = Credentials::new(self.share.share.user.clone(), password);
        let way = link.map(Way::from);
        let mapping = Mapping {
            remote,
            credentials: credentials.as_ref(),
            link: way.as_ref(),
            options: MappingOptions::default(),
        };
        self.play.node.smb().map(&mapping, self.play.deadline())
    }

    fn unmap(&self) -> node::api::Result<()> {
        let smb = self.play.node.smb();
        smb.unmap(&self.remote, self.play.deadline())
    }

    fn reads(&self, folder: &WinPath) -> Result<(), Failure> {
        let content = self
            .play
            .stand
            .read_file(&below(folder, self.share.file)?)?;
        same("content", &content, &self.share.content.to_vec())
    }
}

impl Drop for Client<'_> {
    /// What is left over makes the next case fail, which says enough.
    fn drop(&mut self) {
        let _ = self.unmap();
    }
}

fn a_share_is_mapped_linked_read_and_unmapped(stand: &dyn Stand) -> Result<(), Failure> {
    let client = Client::on(stand)?;
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
    refused("unmap", client.unmap(), Condition::NotMapped)
}

fn a_share_that_is_mapped_may_be_mapped_again(stand: &dyn Stand) -> Result<(), Failure> {
    let client = Client::on(stand)?;
    let link = client.play.at("share")?;
    client.map(Some(&link))?;
    client.map(Some(&link))?;
    client.reads(&link)
}

fn a_share_is_mapped_anew_after_it_was_unmapped(stand: &dyn Stand) -> Result<(), Failure> {
    let client = Client::on(stand)?;
    client.map(None)?;
    client.unmap()?;
    client.map(None)?;
    client.reads(client.remote.path())
}

fn a_share_that_is_not_mapped_is_told_so(stand: &dyn Stand) -> Result<(), Failure> {
    let client = Client::on(stand)?;
    refused("unmap", client.unmap(), Condition::NotMapped)
}

fn a_wrong_password_is_told_so(stand: &dyn Stand) -> Result<(), Failure> {
    let client = Client::on(stand)?;
    let mapped = client.map_as(&client.remote, "not the password", None);
    refused("map", mapped, Condition::LogonFailure)?;
    refused("unmap", client.unmap(), Condition::NotMapped)
}

fn a_share_that_is_not_there_is_told_so(stand: &dyn Stand) -> Result<(), Failure> {
    let client = Client::on(stand)?;
    let other = format!("{}-not-there", client.share.share.path);
    let other = RemotePath::parse(&other).map_err(Failure::odd)?;
    let mapped = client.map_as(&other, &client.share.share.password, None);
    refused("map", mapped, Condition::ServerNotFound)
}
