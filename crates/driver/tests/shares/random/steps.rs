//! The volumes of a node, and all that may happen there.

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use wincsi::sim::smb::ServerHealth;
use wincsi_driver::record::Lifetime;

use crate::fixture::{KUBELET, USER, Volume};

pub(super) const OTHER_USER: &str = r"FILES\others";
pub(super) const PODS: [&str; 2] = ["pod-1", "pod-2"];
pub(super) const SERVERS: [&str; 2] = ["files", "nas"];

/// What a server may refuse to its users, whatever their password: the root of a share, as csi-driver-smb's users have it
/// who may use their own folder alone, or a folder.
pub(super) const FOLDERS: [(&str, &str); 3] = [
    ("files", r"\\files\data\"),
    ("nas", r"\\nas\data\"),
    ("files", r"\\files\data\b"),
];

const ILL: [ServerHealth; 5] = [
    ServerHealth::Down,
    ServerHealth::Dropping,
    ServerHealth::Failing,
    ServerHealth::Paused,
    ServerHealth::Unavailable,
];

/// Which others map, and as whom.
pub(super) const OTHERS: [(&str, &str); 2] = [(r"\\files\more", USER), (r"\\nas\data", OTHER_USER)];

pub(super) struct Spec {
    pub(super) handle: &'static str,
    pub(super) remote: &'static str,
    user: &'static str,
    pub(super) lifetime: Lifetime,
}

pub(super) const SPECS: [Spec; 8] = [
    persistent("root", r"\\files\data", USER),
    persistent("a", r"\\files\data\a", USER),
    persistent("b", r"\\FILES\Data\b", USER),
    persistent("more", r"\\files\more", USER),
    persistent("nas", r"\\nas\data", USER),
    persistent("second user", r"\\files\data\a", OTHER_USER),
    inline("inline", r"\\files\data\a", USER),
    inline("inline of another", r"\\nas\data", OTHER_USER),
];

const fn persistent(handle: &'static str, remote: &'static str, user: &'static str) -> Spec {
    Spec {
        handle,
        remote,
        user,
        lifetime: Lifetime::Persistent,
    }
}

const fn inline(handle: &'static str, remote: &'static str, user: &'static str) -> Spec {
    Spec {
        lifetime: Lifetime::Inline,
        ..persistent(handle, remote, user)
    }
}

impl Spec {
    pub(super) fn volume<'a>(&self, secret: Secret, password: &'a str) -> Volume<'a> {
        Volume {
            handle: self.handle,
            remote: self.remote,
            server: None,
            kubelet: KUBELET,
            user: self.user,
            password: match secret {
                Secret::Wrong => "wrong",
                _ => password,
            },
            lifetime: self.lifetime,
        }
    }

    pub(super) fn share(&self) -> String {
        let names: Vec<_> = self.remote.split('\\').take(4).collect();
        names.join("\\").to_lowercase()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Stage(usize, Secret),
    Publish(usize, usize, Secret),
    Unpublish(usize, usize),
    Unstage(usize),
    Stats(usize, usize),
    Restart,
    Reboot,
    SetServer(usize, ServerHealth),
    /// A server refuses a folder from now on, or allows it.
    Refuse(usize),
    Allow(usize),
    ChangePassword,
    OthersMap(usize),
    OthersUnmap(usize),
    /// Windows lets a mapping of ours go.
    LetGo(usize),
    /// csi-driver-smb has the node's volumes from now on.
    Rollback(Mode),
    /// This driver has them again.
    Forward,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Secret {
    Right,
    Wrong,
    None,
}

/// The two ways of csi-driver-smb.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    Container,
    HostProcess,
}

pub(super) struct Random(TestRng);

impl Random {
    /// What it draws for a node is the same in every run.
    pub(super) fn of(node: usize) -> Self {
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&u64::try_from(node).unwrap().to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.next_u32()).unwrap() % limit
    }

    pub(super) fn one_of(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(super) fn step(&mut self) -> Step {
        let (volume, pod) = (self.below(SPECS.len()), self.below(PODS.len()));
        match self.below(45) {
            0..=11 => Step::Stage(volume, self.secret()),
            12..=18 => Step::Publish(volume, pod, self.secret()),
            19..=22 => Step::Unpublish(volume, pod),
            23..=28 => Step::Unstage(volume),
            29..=30 => Step::Stats(volume, pod),
            31 => Step::Restart,
            32 => Step::Reboot,
            33 => Step::SetServer(self.below(SERVERS.len()), ILL[self.below(ILL.len())]),
            34 | 35 => Step::SetServer(self.below(SERVERS.len()), ServerHealth::Up),
            36 => Step::ChangePassword,
            37 => Step::OthersMap(self.below(OTHERS.len())),
            38 => Step::OthersUnmap(self.below(OTHERS.len())),
            39 => Step::LetGo(volume),
            40 | 41 => Step::Refuse(self.below(FOLDERS.len())),
            42 | 43 => Step::Allow(self.below(FOLDERS.len())),
            _ => Step::Rollback(match self.below(2) {
                0 => Mode::Container,
                _ => Mode::HostProcess,
            }),
        }
    }

    fn secret(&mut self) -> Secret {
        match self.below(8) {
            0 => Secret::Wrong,
            1 => Secret::None,
            _ => Secret::Right,
        }
    }
}
