//! The mapping of one share, under the lock of its server.

use std::sync::Arc;
use std::time::Duration;

use os::Arguments;
use os::Deadline;
use os::Instance;
use os::Query;
use os::Target;
use os::Value;
use os::Win32;
use os::schema::smb_global_mapping::CLASS;
use os::schema::smb_global_mapping::CREATE;
use os::schema::smb_global_mapping::REMOTE_PATH;
use os::schema::smb_global_mapping::REMOVE;
use os::schema::smb_global_mapping::STATUS;
use os::schema::smb_global_mapping::create;
use os::schema::smb_global_mapping::remove;

use super::Credentials;
use super::MappingOptions;
use super::RemotePath;
use super::SmbError;
use super::known::Compared;
use crate::Node;
use crate::Unfinished;
use crate::bounded::race;
use crate::locks::Key;
use crate::provider::Callee;
use crate::provider::ProviderError;
use crate::provider::SecretArguments;
use crate::provider::sole;

/// How long a mapped share may take to answer. Windows itself gives a dead server up to a minute.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The look at a share, by which its lock and thread are named.
const LOOK: &str = "look at share";

/// A share, whose server is locked.
pub(super) struct Share<'a> {
    pub(super) node: &'a Node,
    pub(super) remote: &'a RemotePath,
    pub(super) deadline: Deadline,
}

impl Share<'_> {
    /// Maps the share, unless it is mapped and answers: then the mapping stays as it is, whatever
    /// credentials and options, as others work with it.
    ///
    /// What `Status` says does not decide: a mapping that is called disconnected comes back when
    /// somebody uses it, and one that is called good may be refused by its server today.
    pub(super) fn ensure_mapped(
        &self,
        credentials: Option<&Credentials>,
        options: &MappingOptions,
    ) -> Result<(), SmbError> {
        self.refuse_unknown(options)?;
        if let Some(mapping) = self.find(options)? {
            if self.answers()? {
                self.refuse_other(&mapping, options)?;
                self.log_reuse(credentials, options);
                return Ok(());
            }
            let status = mapping.u32_or_null(STATUS.name).ok().flatten();
            tracing::warn!(
                share = self.remote.share(),
                status,
                "an SMB mapping does not answer and is made anew"
            );
            self.check()?;
            self.remove(&mapping)?;
        }
        self.check()?;
        self.create(credentials, options)
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
    fn refuse_other(&self, mapping: &Instance, options: &MappingOptions) -> Result<(), SmbError> {
        let unmet = options.unmet_by(mapping).map_err(ProviderError::from)?;
        match unmet.is_empty() {
            true => Ok(()),
            false => Err(SmbError::OtherOptions {
                share: self.remote.share(),
                unmet,
            }),
        }
    }

    fn log_reuse(&self, credentials: Option<&Credentials>, options: &MappingOptions) {
        let share = self.remote.share();
        let known = self.node.known_mappings();
        match known.compare(&share, credentials, options) {
            Compared::Equal => tracing::debug!(share, "an SMB mapping is reused"),
            Compared::Different => tracing::warn!(
                share,
                "an SMB mapping is reused as it is, though other credentials or options came for it"
            ),
            Compared::Unknown => tracing::info!(
                share,
                "an SMB mapping is reused as it is, whose credentials and options are not known"
            ),
        }
    }

    pub(super) fn unmap(&self) -> Result<(), SmbError> {
        let Some(mapping) = self.find(&MappingOptions::default())? else {
            return Err(SmbError::NotMapped {
                share: self.remote.share(),
            });
        };
        self.check()?;
        Ok(self.remove(&mapping)?)
    }

    /// With what it tells of these options.
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
            Err(ProviderError::NotFound { .. }) => Ok(None),
            found => Ok(found.map(Some)?),
        }
    }

    /// Whether the server answers through the mapping; a refusal of access is an answer. A look at a
    /// dead share cannot be cut short, so it gets a thread that may outlive the call; it keeps a lock
    /// until it has ended, so that calls that are repeated do not pile up threads.
    fn answers(&self) -> Result<bool, SmbError> {
        let clock = &*self.node.os().clock;
        let limit = self.deadline.min(Deadline::within(clock, ANSWER_WITHIN));
        let key = Key::SmbProbe(self.remote.server());
        let looking = self.node.locks().take(LOOK, vec![key], limit)?;
        let files = Arc::clone(&self.node.os().files);
        let root = self.remote.root();
        let look = move || {
            let entry = files.entry(&root);
            drop(looking);
            entry
        };
        match race(clock, LOOK, limit, look) {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(error)) => Ok(error.win32() == Some(Win32::ACCESS_DENIED)),
            // Other pods may have files open there: what is slow is not removed under them.
            Err(Unfinished::Deadline { .. }) => {
                let share = self.remote.share();
                Err(Unfinished::deadline(LOOK, &share).into())
            }
            Err(unfinished) => Err(unfinished.into()),
        }
    }

    fn create(
        &self,
        credentials: Option<&Credentials>,
        options: &MappingOptions,
    ) -> Result<(), SmbError> {
        let privacy = self.node.options().require_privacy;
        let share = self.remote.share();
        let mut arguments = Arguments::none()
            .with(create::REMOTE_PATH.name, Value::text(share.clone()))
            .with(create::REQUIRE_PRIVACY.name, Value::Bool(privacy));
        for (row, value) in options.asked() {
            arguments = arguments.with(row.name, value);
        }
        let arguments = SecretArguments::new(arguments);
        let arguments = match credentials {
            Some(known) => arguments.with(create::CREDENTIAL.name, known.quoted()),
            None => arguments,
        };
        let class = self.callee(Target::Class(CLASS.name));
        class.invoke(&CREATE, arguments.expose())?;
        self.node
            .known_mappings()
            .remember(&share, credentials, options);
        Ok(())
    }

    fn remove(&self, mapping: &Instance) -> Result<(), ProviderError> {
        self.node.known_mappings().forget(&self.remote.share());
        let arguments = Arguments::none().with(remove::FORCE.name, Value::Bool(true));
        let mapping = self.callee(Target::Instance(&mapping.path));
        mapping.invoke(&REMOVE, &arguments)
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
