//! csi-driver-smb has the node for a while, with the volumes that it finds.

use wincsi_driver::record::Lifetime;

use super::World;
use super::steps::{Mode, PODS, SPECS, Secret, Step};
use crate::fixture::{DRIVER, Fixture, Volume, path};
use crate::upstream::{Answer, ByProxy, HostProcess, Upstream, describe};

impl World {
    /// Its counts begin with those that an operator makes, of what this driver staged. Those that went stale meanwhile are
    /// not played.
    pub(super) fn roll_back(&mut self, mode: Mode) {
        self.fixture.stop_driver();
        self.upstream = Some(mode);
        self.served.clear();
        self.restart_upstream();
        let Self {
            fixture,
            proxy,
            password,
            ..
        } = self;
        if matches!(mode, Mode::Container) {
            let proxy = proxy.get_or_insert_with(|| ByProxy::on(fixture));
            for spec in SPECS {
                proxy.count(fixture, &spec.volume(Secret::Right, password));
            }
        }
    }

    pub(super) fn come_forward(&mut self) {
        if self.upstream.take().is_some() {
            self.note_what_is_left();
            self.fixture.restart();
        }
    }

    pub(super) fn restart_upstream(&mut self) {
        if let Some(proxy) = &mut self.proxy {
            proxy.restart();
        }
    }

    /// Kubelet calls csi-driver-smb, as far as it would at this point.
    pub(super) fn call_upstream(&mut self, mode: Mode, step: Step) {
        let Self {
            fixture,
            proxy,
            password,
            ..
        } = self;
        let upstream: &mut dyn Upstream = match mode {
            Mode::Container => proxy.get_or_insert_with(|| ByProxy::on(fixture)),
            Mode::HostProcess => &mut HostProcess,
        };
        let volume = |index: usize, secret| SPECS[index].volume(secret, password);
        // One that fails is repeated, or not.
        let _ = match step {
            Step::Stage(index, secret) => stage(upstream, fixture, &volume(index, secret)),
            Step::Publish(index, pod, _) => {
                let volume = volume(index, Secret::Right);
                match fixture.link_target(&volume.staging()) {
                    Some(_) => upstream.publish(fixture, &volume, PODS[pod]),
                    None => Ok(()),
                }
            }
            Step::Unpublish(index, pod) => {
                upstream.unpublish(fixture, &volume(index, Secret::Right), PODS[pod])
            }
            Step::Unstage(index) => {
                let volume = volume(index, Secret::Right);
                let is_published = PODS
                    .iter()
                    .any(|pod| fixture.has_entry(&volume.target(pod)));
                match is_published || volume.lifetime == Lifetime::Inline {
                    true => Ok(()),
                    false => upstream.unstage(fixture, &volume),
                }
            }
            _ => Ok(()),
        };
    }
}

fn stage(upstream: &mut dyn Upstream, fixture: &Fixture, volume: &Volume<'_>) -> Answer {
    if volume.lifetime == Lifetime::Persistent {
        return upstream.stage(fixture, volume);
    }
    let target = path(&volume.target(PODS[0]));
    let folder = target.parent().unwrap();
    fixture.make_directory(&folder.to_string());
    describe(fixture, &folder, DRIVER, volume.handle);
    upstream.stage_at(fixture, volume, &target)
}
