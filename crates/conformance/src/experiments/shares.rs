//! Global mappings: made twice, refused, and lost.

use std::time::Duration;

use os::schema::smb_global_mapping::{
    CLASS, CREATE, REMOTE_PATH, REMOVE, STATUS, create, remove, status,
};
use os::{
    Arguments, Cause, Deadline, Entry, Hresult, Instance, ObjectPath, Provider, Query, Target,
    Value, Win32, WinPath,
};

use super::{Answer, Sight, Sights, deadline, outcome_text};
use crate::{CaseResult, Failure, NodeFixture, SharedFile};

const PAUSE: Duration = Duration::from_millis(500);

/// How long a mapping may take to notice that its server is away or back.
const NOTICE: Duration = Duration::from_secs(60);

/// Windows's answer for a mapped share, since Server 2019 (Azure/aks-engine#327).
const GENERIC_FAILURE: Hresult = Hresult(0x8004_1001);

pub(super) fn map_twice(fixture: &dyn NodeFixture) -> Sights {
    let client = Client::of(fixture)?;
    client.create(&client.share.share.user).required()?;
    let again = client.create(&client.share.share.user);
    let rows = client.rows()?.len();
    let other = client.create(&format!("{}-other", client.share.share.user));
    let after = client.rows()?.len();
    let is_as_assumed = matches!(&again.0, Err(error) if error.cause == Cause::Hresult(GENERIC_FAILURE))
        && rows == 1;
    let seen =
        format!("Create again {again}, {rows} mappings; as another user {other}, {after} mappings");
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// An object's path has its keys.
pub(super) fn mapping_keys(fixture: &dyn NodeFixture) -> Sights {
    let client = Client::of(fixture)?;
    client.create(&client.share.share.user).required()?;
    let [row] = client
        .rows()?
        .try_into()
        .map_err(|_| Failure::unexpected("not one mapping"))?;
    let keys = keys(&row.path);
    let is_as_assumed = keys == ["LocalPath", "RemotePath"];
    let seen = format!("keys {keys:?} of {}; {:?}", row.path, row.properties);
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// The names before the equals signs of a path, in the order of the alphabet.
fn keys(path: &ObjectPath) -> Vec<&str> {
    let text = path.0.split_once(":MSFT_").map_or("", |(_, text)| text);
    let mut before: Vec<_> = text.split("=\"").collect();
    // Behind the last equals sign there is a value alone.
    before.pop();
    let names = before
        .into_iter()
        .filter_map(|part| part.rsplit(['.', ',']).next());
    let mut keys: Vec<_> = names.collect();
    keys.sort_unstable();
    keys
}

pub(super) fn refused_mappings(fixture: &dyn NodeFixture) -> Sights {
    let client = Client::of(fixture)?;
    let SharedFile { share, .. } = &client.share;
    let absent = format!("{}-not-there", share.path);
    let absent = client.create_as(&absent, &share.user, &share.password);
    let password = client.create_as(&share.path, &share.user, "not the password");
    let is_as_assumed = fails_by(&absent, &[Win32::BAD_NET_NAME])
        && fails_by(&password, &[Win32::INVALID_PASSWORD, Win32::LOGON_FAILURE]);
    let seen = format!("an unknown share: {absent}; a wrong password: {password}");
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

fn fails_by(answer: &Answer, codes: &[Win32]) -> bool {
    let code = answer.0.as_ref().err().and_then(os::Error::win32);
    code.is_some_and(|code| codes.contains(&code))
}

/// The server of the machine's own share is stopped and started again.
pub(super) fn lost_share(fixture: &dyn NodeFixture) -> Sights {
    let client = Client::of(fixture)?;
    client.create(&client.share.share.user).required()?;
    let away = match Away::taken(fixture) {
        Ok(away) => away,
        Err(error) => return Ok(vec![Sight::not_possible(error)]),
    };
    let look = outcome_text(&client.look());
    let noticed = client.status_that(|status| status != status::OK.value)?;
    let beside = client.create(&client.share.share.user);
    let rows = client.rows()?.len();
    drop(away);
    let back = outcome_text(&client.look());
    let idle = client.status_that(|status| status == status::OK.value)?;
    client.remove_all()?;
    let renewed = client.create(&client.share.share.user);
    let (now, left) = (client.status()?, client.rows()?.len());
    let is_as_assumed = noticed != Some(status::OK.value)
        && renewed.is_success()
        && (now, left) == (Some(status::OK.value), 1)
        && client.look().is_ok();
    let seen = format!(
        "away: look {look}, status {noticed:?}, Create {beside}, {rows} mappings; \
         back: look {back}, status {idle:?}; Remove and Create {renewed}, status {now:?}, {left} mappings"
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// The share's server is away as long as this lives.
struct Away<'a>(&'a dyn NodeFixture);

impl<'a> Away<'a> {
    fn taken(fixture: &'a dyn NodeFixture) -> os::Result<Self> {
        let away = Self(fixture);
        fixture.take_share_away()?;
        Ok(away)
    }
}

impl Drop for Away<'_> {
    /// A server that does not come back makes every later case of shares fail, and so shows.
    fn drop(&mut self) {
        let _ = self.0.bring_share_back();
    }
}

/// The share of a fixture, by the provider's methods. Its mappings go when this is dropped.
struct Client<'a> {
    fixture: &'a dyn NodeFixture,
    smb: &'a dyn Provider,
    share: SharedFile,
}

impl<'a> Client<'a> {
    fn of(fixture: &'a dyn NodeFixture) -> CaseResult<Self> {
        let share = fixture.shared_file();
        Ok(Self {
            fixture,
            smb: &*fixture.os().smb,
            share: share.ok_or(Failure::Unequipped("share to map"))?,
        })
    }

    fn create(&self, user: &str) -> Answer {
        let share = &self.share.share;
        self.create_as(&share.path, user, &share.password)
    }

    fn create_as(&self, path: &str, user: &str, password: &str) -> Answer {
        let user = user.replace('\\', r"\\").replace(':', r"\:");
        let credential = Value::text(format!("{user}:{password}"));
        let arguments = Arguments::none()
            .with(create::REMOTE_PATH.name, Value::text(path))
            .with(create::CREDENTIAL.name, credential)
            .with(create::REQUIRE_PRIVACY.name, Value::Bool(true))
            .with(create::PERSISTENT.name, Value::Bool(false));
        let class = Target::Class(CLASS.name);
        Answer::of(self.fixture, self.smb, class, &CREATE, &arguments)
    }

    fn rows(&self) -> CaseResult<Vec<Instance>> {
        let select: Vec<_> = CLASS.all_properties().map(|row| row.name).collect();
        let path = Value::text(self.share.share.path.as_str());
        let query = Query::all(CLASS.name, &select).with(REMOTE_PATH.name, path);
        Ok(self.smb.query(&query, deadline(self.fixture))?)
    }

    /// The status of all rows, if equal.
    fn status(&self) -> CaseResult<Option<u32>> {
        let rows = self.rows()?;
        let mut all = rows.iter().map(|row| row.u32_or_null(STATUS.name));
        let first = all.next().transpose()?.flatten();
        Ok(first)
    }

    /// The status once the condition holds; the last one if it never does.
    fn status_that(&self, is_so: impl Fn(u32) -> bool) -> CaseResult<Option<u32>> {
        let clock = &self.fixture.os().clock;
        let deadline = Deadline::within(&**clock, NOTICE);
        loop {
            let status = self.status()?;
            if status.is_some_and(&is_so) || deadline.left(&**clock).is_none() {
                return Ok(status);
            }
            clock.sleep(PAUSE);
        }
    }

    fn look(&self) -> os::Result<Entry> {
        let path: Result<WinPath, _> = self.share.share.path.parse();
        let path = path.map_err(|_| os::Error::new("parse", "the share", Win32::INVALID_NAME))?;
        self.fixture.os().files.entry(&path)
    }

    fn remove_all(&self) -> CaseResult {
        let force = Arguments::none().with(remove::FORCE.name, Value::Bool(true));
        for row in self.rows()? {
            let target = Target::Instance(&row.path);
            Answer::of(self.fixture, self.smb, target, &REMOVE, &force).required()?;
        }
        Ok(())
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        let _ = self.remove_all();
    }
}

#[cfg(test)]
mod tests {
    use os::ObjectPath;

    use super::keys;

    #[test]
    fn the_keys_of_a_path_are_its_names() {
        let path = |text: &str| ObjectPath(format!(r"\\NODE\Root\Microsoft\Windows\Smb:{text}"));
        let both = path(r#"MSFT_SmbGlobalMapping.LocalPath="",RemotePath="\\\\h.example\\s,x""#);
        assert_eq!(keys(&both), ["LocalPath", "RemotePath"]);
        let one = path(r#"MSFT_SmbGlobalMapping.RemotePath="\\\\h\\s""#);
        assert_eq!(keys(&one), ["RemotePath"]);
        assert!(keys(&path("MSFT_SmbGlobalMapping")).is_empty());
    }
}
