//! The mapping of one share, under the lock of its server.

use os::schema::smb_global_mapping::{
    CLASS, CREATE, REMOTE_PATH, REMOVE, REQUIRE_PRIVACY, STATUS, create, remove, status,
};
use os::{Arguments, Deadline, Instance, Query, Target, Value};

use super::look::{self, Seen};
use super::visit::Visit;
use super::{Credentials, Mapped, MappingOptions, RemotePath, SmbError};
use crate::provider::{Callee, ProviderError, SecretArguments, sole};
use crate::{Node, Privacy, Unfinished};

/// A share, whose server is locked.
pub(super) struct Share<'a> {
    pub(super) node: &'a Node,
    pub(super) remote: &'a RemotePath,
    pub(super) deadline: Deadline,
    pub(super) visit: Visit<'a>,
}

impl Share<'_> {
    /// Maps the share, unless it is mapped and answers: then the mapping stays as it is, whatever
    /// credentials and options, as others work with it.
    ///
    /// What `Status` says does not decide alone: a mapping that is called disconnected comes back when
    /// somebody uses it, and one that is called good may be refused by its server today.
    ///
    /// Nor is a mapping removed because its server is away. csi-proxy does that where `Status` is still OK,
    /// and then cannot map again, as the server is away: every other pod on the share is left without one,
    /// also when the server is back. Whoever asks again by then finds the mapping at work.
    pub(super) fn ensure_mapped(
        &self,
        credentials: Option<&Credentials>,
        options: &MappingOptions,
    ) -> Result<Mapped, SmbError> {
        self.refuse_unknown(options)?;
        let wanted = options.or_of(self.node.options());
        if let Some(mapping) = self.find(&wanted)? {
            match self.look()? {
                Seen::Answers => {
                    self.refuse_other(&mapping, options)?;
                    return Ok(self.reuse(credentials, &wanted));
                }
                Seen::Denied(_) if self.is_let_in(credentials, &wanted)? => {
                    self.refuse_other(&mapping, options)?;
                    return Ok(self.reuse(credentials, &wanted));
                }
                Seen::Away(source) if !is_let_go(&mapping) => return Err(self.away(source)),
                Seen::Away(source) => return self.revive(source, credentials, &wanted),
                Seen::Unclear(source) => return Err(ProviderError::from(source).into()),
                Seen::Denied(why) => {
                    self.refuse_other_user(credentials)?;
                    self.remove_broken(&mapping, &why)?;
                }
                Seen::Broken(why) => self.remove_broken(&mapping, &why)?,
            }
        }
        self.check()?;
        self.create(credentials, &wanted)?;
        Ok(Mapped::Made)
    }

    /// Refuses what this build's class definition does not have. Who asks for nothing costs no question.
    fn refuse_unknown(&self, options: &MappingOptions) -> Result<(), SmbError> {
        if options.names().next().is_none() {
            return Ok(());
        }
        let smb = &self.node.os().smb;
        let known = smb.parameters(CLASS.name, CREATE.name, self.deadline);
        match options.unknown_to(&known.map_err(ProviderError::from)?) {
            None => Ok(()),
            Some(option) => Err(SmbError::UnknownOption {
                option,
                share: self.remote.share(),
            }),
        }
    }

    /// Refuses a mapping that lacks what is demanded of one.
    ///
    /// What this request demands the mapping has to tell of. Encryption that the node's mappings are to have is
    /// missing where the mapping says so: it is not known whether every build of Windows fills the property
    /// in, and where one does not, no share could be used by a second volume.
    fn refuse_other(&self, mapping: &Instance, options: &MappingOptions) -> Result<(), SmbError> {
        let mut unmet = options.unmet_by(mapping).map_err(ProviderError::from)?;
        if options.privacy.is_none() {
            unmet.extend(self.missing_privacy(mapping)?);
        }
        match unmet.is_empty() {
            true => Ok(()),
            false => Err(SmbError::OtherOptions {
                share: self.remote.share(),
                unmet,
            }),
        }
    }

    /// The option by which a mapping is encrypted, if the node refuses those without it.
    fn missing_privacy(&self, mapping: &Instance) -> Result<Option<&'static str>, SmbError> {
        let demanded = self.node.options().privacy;
        if demanded == Privacy::Unasked {
            return Ok(None);
        }
        let said = mapping.bool_or_null(REQUIRE_PRIVACY.name);
        let said = said.map_err(ProviderError::from)?;
        if said == Some(false) && demanded == Privacy::All {
            return Ok(Some(REQUIRE_PRIVACY.name));
        }
        if said != Some(true) {
            tracing::warn!(
                share = self.remote.share(),
                encrypted = said,
                "an SMB mapping is reused that does not say that it is encrypted"
            );
        }
        Ok(None)
    }

    /// Whether a mapping that is refused access to its share's root is of use: it was made with just these, or
    /// the folder that is asked for answers. Else its user's password may have been changed since.
    fn is_let_in(
        &self,
        credentials: Option<&Credentials>,
        wanted: &MappingOptions,
    ) -> Result<bool, SmbError> {
        let known = self.node.known_mappings();
        let known = known.compare(&self.remote.share(), credentials, wanted);
        Ok(known == Mapped::Reused || self.folder_answers()?)
    }

    /// Refuses to take a mapping from another user, who may have access to folders of its own: that it is denied
    /// this one says nothing of a changed password. Where nobody knows as whom it was mapped, it may.
    fn refuse_other_user(&self, credentials: Option<&Credentials>) -> Result<(), SmbError> {
        let share = self.remote.share();
        match self.node.known_mappings().is_of_other(&share, credentials) {
            true => Err(SmbError::OtherUser { share }),
            false => Ok(()),
        }
    }

    /// Makes another mapping beside one whose connection Windows has let go of, while its server does not answer
    /// over it: some stay dead though the server lives (azurefile-csi-driver#3416, csi-driver-smb#1219). As with
    /// csi-proxy the one that is there is not removed for that, and where it is in the way the call fails: if the
    /// server is away indeed, it is all that others have.
    fn revive(
        &self,
        why: os::Error,
        credentials: Option<&Credentials>,
        wanted: &MappingOptions,
    ) -> Result<Mapped, SmbError> {
        self.check()?;
        match self.create(credentials, wanted) {
            Ok(()) => Ok(Mapped::Made),
            Err(SmbError::Provider(error)) if look::says_nothing_new(&error) => Err(self.away(why)),
            Err(other) => Err(other),
        }
    }

    fn reuse(&self, credentials: Option<&Credentials>, wanted: &MappingOptions) -> Mapped {
        let share = self.remote.share();
        let known = self.node.known_mappings();
        let mapped = known.compare(&share, credentials, wanted);
        match mapped {
            Mapped::ReusedWithOther => tracing::warn!(
                share,
                "an SMB mapping is reused as it is, though other credentials or options came for it"
            ),
            Mapped::ReusedUnknown => tracing::info!(
                share,
                "an SMB mapping is reused as it is, whose credentials and options are not known"
            ),
            _ => tracing::debug!(share, "an SMB mapping is reused"),
        }
        mapped
    }

    pub(super) fn away(&self, source: os::Error) -> SmbError {
        SmbError::ServerAway {
            share: self.remote.share(),
            source,
        }
    }

    fn remove_broken(&self, mapping: &Instance, why: &os::Error) -> Result<(), SmbError> {
        let status = mapping.u32_or_null(STATUS.name).ok().flatten();
        tracing::warn!(
            share = self.remote.share(),
            status,
            why = %why.cause,
            "an SMB mapping does not answer and is made anew"
        );
        self.check()?;
        self.remove(mapping)
    }

    pub(super) fn unmap(&self) -> Result<(), SmbError> {
        let Some(mapping) = self.find(&MappingOptions::default())? else {
            return Err(SmbError::NotMapped {
                share: self.remote.share(),
            });
        };
        self.check()?;
        self.remove(&mapping)
    }

    /// With what it tells of these options. One that is gone is not known any more: whoever maps the share next
    /// may be another process.
    fn find(&self, options: &MappingOptions) -> Result<Option<Instance>, SmbError> {
        let share = self.remote.share();
        let mut select = vec![REMOTE_PATH.name, STATUS.name];
        select.extend(options.told());
        let query =
            Query::all(CLASS.name, &select).with(REMOTE_PATH.name, Value::text(share.clone()));
        let found = match self.node.os().smb.query(&query, self.deadline) {
            Err(error) if error.is_not_found() => Vec::new(),
            found => found.map_err(ProviderError::from)?,
        };
        match sole(&format_args!("SMB global mapping {share}"), found) {
            Err(ProviderError::NotFound { .. }) => {
                self.node.known_mappings().forget(&share);
                Ok(None)
            }
            found => Ok(found.map(Some)?),
        }
    }

    fn create(
        &self,
        credentials: Option<&Credentials>,
        options: &MappingOptions,
    ) -> Result<(), SmbError> {
        let share = self.remote.share();
        let mut arguments =
            Arguments::none().with(create::REMOTE_PATH.name, Value::text(share.clone()));
        for (row, value) in options.asked() {
            arguments = arguments.with(row.name, value);
        }
        let arguments = SecretArguments::new(arguments);
        let arguments = match credentials {
            Some(known) => arguments.with(create::CREDENTIAL.name, known.quoted()),
            None => arguments,
        };
        self.visit.forget_looks();
        let class = self.callee(Target::Class(CLASS.name));
        class.invoke_seen(
            (&CREATE, arguments.expose()),
            (self.node, self.deadline),
            || Ok::<_, SmbError>(self.find(&MappingOptions::default())?.is_some()),
        )?;
        self.node
            .known_mappings()
            .remember(&share, credentials, options);
        Ok(())
    }

    fn remove(&self, mapping: &Instance) -> Result<(), SmbError> {
        self.node.known_mappings().forget(&self.remote.share());
        self.visit.forget_looks();
        let arguments = Arguments::none().with(remove::FORCE.name, Value::Bool(true));
        let mapping = self.callee(Target::Instance(&mapping.path));
        mapping.invoke_seen((&REMOVE, &arguments), (self.node, self.deadline), || {
            Ok(self.find(&MappingOptions::default())?.is_none())
        })
    }

    fn callee<'a>(&'a self, target: Target<'a>) -> Callee<'a> {
        Callee {
            provider: &*self.node.os().smb,
            class: &CLASS,
            target,
            name: self.remote.share(),
        }
    }

    fn check(&self) -> Result<(), Unfinished> {
        self.node.check(self.deadline, "map share", self.remote)
    }
}

/// Whether Windows says that it has no connection and is not about to make one.
fn is_let_go(mapping: &Instance) -> bool {
    let said = mapping.u32_or_null(STATUS.name).ok().flatten();
    let gone = [
        status::DISCONNECTED,
        status::NETWORK_ERROR,
        status::UNAVAILABLE,
    ];
    said.is_some_and(|said| gone.iter().any(|status| status.value == said))
}
