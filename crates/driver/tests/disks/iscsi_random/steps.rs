//! Two arrays, and all that may happen to their LUNs.

use wincsi::iscsi::Portal;
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::{Bus, DiskSpec, IdentifierKind};

use crate::support::KUBELET;

pub(super) const ARRAYS: [&str; 2] = ["first", "second"];
/// Two of each array.
pub(super) const TARGETS: usize = 4;
/// Two ways to each array.
pub(super) const PORTALS: usize = 4;
pub(super) const LUNS: usize = 8;
/// One for each LUN, and a second one for the first.
pub(super) const VOLUMES: usize = 9;
/// The target that asks for CHAP.
pub(super) const WITH_CHAP: usize = 3;
pub(super) const SECRETS: [&str; 2] = ["0123456789ab", "ba9876543210"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// By this secret.
    Stage(usize, usize),
    Publish(usize),
    Unpublish(usize),
    Unstage(usize),
    /// Each volume goes.
    UnstageAll,
    Reconcile,
    Restart,
    Reboot,
    /// A portal answers no more, or again.
    Portal(usize, bool),
    /// Another image is behind a LUN's number from now on.
    Exchange(usize),
    /// Strangers log in, perhaps for good.
    LogIn(usize, bool),
    LogOut(usize),
    AddPortal(usize),
    RemovePortal(usize),
    TimePasses,
}

pub(super) fn draw(below: &mut impl FnMut(usize) -> usize) -> Step {
    let (of, target, portal) = (below(VOLUMES), below(TARGETS), below(PORTALS));
    match below(48) {
        0..=14 => Step::Stage(of, usize::from(below(4) == 0)),
        15..=19 => Step::Publish(of),
        20..=23 => Step::Unpublish(of),
        24..=30 => Step::Unstage(of),
        31 | 32 => Step::UnstageAll,
        33 => Step::Reconcile,
        34 => Step::Restart,
        35 => Step::Reboot,
        36 => Step::Portal(portal, false),
        37 | 38 => Step::Portal(portal, true),
        39 => Step::Exchange(of % LUNS),
        40..=42 => Step::LogIn(target, below(3) == 0),
        43 | 44 => Step::LogOut(below(4)),
        45 => Step::AddPortal(portal),
        46 => Step::RemovePortal(portal),
        _ => Step::TimePasses,
    }
}

pub(super) fn array_spec(
    array: usize,
    images: [char; LUNS],
    answers: [bool; PORTALS],
) -> ServerSpec {
    let portals = [array * 2, array * 2 + 1].into_iter();
    let mut server = ServerSpec {
        addresses: portals.filter(|at| answers[*at]).map(address).collect(),
        ..ServerSpec::default()
    };
    for target in [array * 2, array * 2 + 1] {
        let mut spec = TargetSpec::named(&iqn(target));
        for lun in [target * 2, target * 2 + 1] {
            let image = format!("{lun}{}", images[lun]);
            let identifier = format!("60014050000000{image}");
            let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, &identifier);
            spec = spec.with_disk(&image, disk);
        }
        let is_asking = target == WITH_CHAP;
        let asking = |spec: TargetSpec| spec.asking("node", SECRETS[0]);
        server
            .target
            .push(if is_asking { asking(spec) } else { spec });
    }
    server
}

pub(super) fn target_of(volume: usize) -> usize {
    volume % LUNS / 2
}

pub(super) fn target_named(iqn: &str) -> usize {
    iqn[iqn.len() - 1..].parse().unwrap()
}

pub(super) fn iqn(target: usize) -> String {
    format!("iqn.2026-01.com.example:{target}")
}

pub(super) fn address(portal: usize) -> String {
    format!("10.0.0.{}", portal + 1)
}

pub(super) fn portal(at: usize) -> Portal {
    Portal::parse(&address(at), 0).unwrap()
}

/// The staging path, and that of a pod.
pub(super) fn places(volume: usize) -> [String; 2] {
    [
        format!(r"{KUBELET}\plugins\kubernetes.io\csi\i\{volume}\globalmount"),
        format!(r"{KUBELET}\pods\{volume}\volumes\kubernetes.io~csi\pv\mount"),
    ]
}
