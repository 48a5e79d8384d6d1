//! The calls for one share's object of `MSFT_SmbGlobalMapping`.

use os::schema::smb_global_mapping::{
    CLASS, CREATE, LOCAL_PATH, REMOTE_PATH, REMOVE, STATUS, create, remove, status,
};
use os::{Arguments, Instance, Query, Value};

use super::mapping::Share;
use super::renewal::Turn;
use super::{MappingOptions, list, look};
use crate::provider::{ProviderError, SecretArguments, WmiObject};

/// What happens to files that are open below the share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// They are closed.
    Forced,
    /// Open files keep the mapping, as documented for the method's sibling
    /// (<https://learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbmapping-remove>).
    IfUnused,
}

impl Share<'_> {
    /// The share's mapping, with the properties of these options. If there are several, as other tools make
    /// with drive letters, one that is OK is used and the others stay. If there is none, the history of the
    /// share is dropped: another process may map the share next.
    pub(super) fn find(&self, options: &MappingOptions) -> Result<Option<Instance>, ProviderError> {
        Ok(self.rows(options)?.into_iter().min_by_key(preference))
    }

    pub(super) fn rows(&self, options: &MappingOptions) -> Result<Vec<Instance>, ProviderError> {
        let share = self.remote.share();
        let mut select = vec![LOCAL_PATH.name, REMOTE_PATH.name, STATUS.name];
        select.extend(options.reported_properties());
        let query =
            Query::all(CLASS.name, &select).with(REMOTE_PATH.name, Value::text(share.clone()));
        let found = list::rows(self.node, &query, self.deadline)?;
        if found.is_empty() {
            self.node.state.smb.known.forget(&share);
        }
        Ok(found)
    }

    /// Makes the mapping, under the lock of the server. Calls that wait for it get the error if the server
    /// is away.
    pub(super) fn create(&self, turn: &Turn<'_>) -> Result<(), ProviderError> {
        let share = self.remote.share();
        let mut arguments =
            Arguments::none().with(create::REMOTE_PATH.name, Value::text(share.clone()));
        for (row, value) in self.options.asked() {
            arguments = arguments.with(row.name, value);
        }
        let arguments = SecretArguments::new(arguments);
        let arguments = match self.request.credentials {
            Some(known) => arguments.with(create::CREDENTIAL.name, known.quoted()),
            None => arguments,
        };
        self.visit.forget();
        let class = WmiObject::class(&*self.node.os().smb, &CLASS, &share);
        // A mapping that is not OK is the old one, beside which this one is made.
        let is_there = || {
            let row = self.find(&MappingOptions::default())?;
            Ok(row.is_some_and(|row| !is_not_ok(&row)))
        };
        let waiting = (self.node, self.deadline);
        let made: Result<_, ProviderError> =
            class.invoke_and_verify((&CREATE, arguments.expose()), waiting, is_there);
        if let Err(error) = &made
            && look::is_server_unreachable(error)
        {
            turn.found_away(error);
        }
        made?;
        let known = &self.node.state.smb.known;
        known.remember(&share, self.request.credentials, &self.options);
        Ok(())
    }

    pub(super) fn remove(&self, mapping: &Instance, removal: Removal) -> Result<(), ProviderError> {
        self.visit.forget();
        let force = Value::Bool(removal == Removal::Forced);
        let arguments = Arguments::none().with(remove::FORCE.name, force);
        let (smb, share) = (&*self.node.os().smb, self.remote.share());
        let wmi_object = WmiObject::instance(smb, &CLASS, &mapping.path, &share);
        let waiting = (self.node, self.deadline);
        wmi_object.invoke_and_verify((&REMOVE, &arguments), waiting, || {
            let rows = self.rows(&MappingOptions::default())?;
            Ok::<_, ProviderError>(rows.iter().all(|row| row.path != mapping.path))
        })?;
        // Not before: a mapping that stays is still its user's.
        self.node.state.smb.known.forget(&share);
        Ok(())
    }

    /// The same error, with this share's name.
    pub(super) fn named(&self, error: ProviderError) -> ProviderError {
        let object = self.remote.share();
        match error {
            ProviderError::Os(error) => ProviderError::Os(os::Error {
                object: format!("{}.{} of {object}", CLASS.name, CREATE.name),
                ..error
            }),
            ProviderError::Refused {
                class,
                method,
                code,
                detail,
                system_text,
                ..
            } => ProviderError::Refused {
                class,
                method,
                object,
                code,
                detail,
                system_text,
            },
            other => other,
        }
    }
}

/// `Status`, if Windows reports it.
pub(super) fn status_of(mapping: &Instance) -> Option<u32> {
    mapping.u32_or_null(STATUS.name).ok().flatten()
}

/// Whether Windows reports a status other than OK.
pub(super) fn is_not_ok(mapping: &Instance) -> bool {
    status_of(mapping).is_some_and(|status| status != status::OK.value)
}

/// The least is the one to use: first an OK one, then one without a drive letter, as ours are.
pub(super) fn preference(mapping: &Instance) -> (bool, bool, String) {
    let is_ok = status_of(mapping) == Some(status::OK.value);
    (!is_ok, has_letter(mapping), mapping.path.to_string())
}

pub(super) fn has_letter(mapping: &Instance) -> bool {
    let letter = mapping.text_or_null(LOCAL_PATH.name).ok().flatten();
    letter.is_some_and(|letter| !letter.is_empty())
}
