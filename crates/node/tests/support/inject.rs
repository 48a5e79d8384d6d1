//! Systems that say something else, or in which something else happens, at the worst moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use os::layer::forward::{ForwardBoot, ForwardDisks, ForwardProvider, ForwardVolumes};
use os::layer::{Layer, Op, Ran, Run};
use os::{
    Boot, Deadline, DiskNumber, Disks, DriveLayout, Extent, Instance, Os, Paging, Provider, Query,
    Result, VolumeId, Volumes, WinPath,
};
use wincsi_node::{Node, Options};

use super::NodeFixture;

/// An operation asks this after it looked at a disk, before it writes there.
pub(crate) const PAGING: &str = "Boot::paging";

/// The proof that a disk is blank begins so.
pub(crate) const PROOF: &str = "Disks::sector_size";

/// Operations over the rig's node, after `change` was made to what they see of it.
pub(crate) fn node(fixture: &NodeFixture, change: impl FnOnce(&mut Os)) -> Node {
    let mut os = fixture.os().clone();
    change(&mut os);
    Node::new(os, Options::default())
}

/// Puts a layer around the node by which `act` happens once: before the `nth` operation of this method of
/// the seam.
pub(crate) fn before(
    os: &mut Os,
    method: &'static str,
    nth: u32,
    act: impl Fn() + Send + Sync + 'static,
) {
    let is_it = move |op: &Op<'_>| op.method == method;
    happening(os, Moment::Before, is_it, nth, act);
}

/// Likewise, after the first query of this class, run of this method of a provider, or operation of this method of
/// the seam.
pub(crate) fn after(os: &mut Os, subject: &'static str, act: impl Fn() + Send + Sync + 'static) {
    let is_it = move |op: &Op<'_>| {
        let is_of_provider = ["query", "invoke"].contains(&op.name) && op.subject == subject;
        is_of_provider || op.method == subject
    };
    happening(os, Moment::After, is_it, 1, act);
}

fn happening(
    os: &mut Os,
    moment: Moment,
    is_it: impl Fn(&Op<'_>) -> bool + Send + Sync + 'static,
    nth: u32,
    act: impl Fn() + Send + Sync + 'static,
) {
    let begun = AtomicU32::new(0);
    let layer: Arc<dyn Layer> = Arc::new(Happening {
        moment,
        is_it,
        nth,
        act,
        begun,
    });
    *os = os.clone().layered(&layer);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

struct Happening<P, F> {
    moment: Moment,
    is_it: P,
    nth: u32,
    act: F,
    begun: AtomicU32,
}

impl<P, F> Layer for Happening<P, F>
where
    P: Fn(&Op<'_>) -> bool + Send + Sync,
    F: Fn() + Send + Sync,
{
    fn around<'run>(&self, op: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        let is_now = (self.is_it)(op) && self.begun.fetch_add(1, Ordering::SeqCst) + 1 == self.nth;
        if is_now && self.moment == Moment::Before {
            (self.act)();
        }
        let ran = run.run();
        if is_now && self.moment == Moment::After {
            (self.act)();
        }
        ran
    }
}

/// Passes the answers of one facility through `change`.
struct Changed<T: ?Sized, F> {
    of: Arc<T>,
    change: F,
}

/// Changes each row that queries of a provider return; associations have them as they are.
pub(crate) fn each_row(provider: &mut Arc<dyn Provider>, change: fn(&mut Instance)) {
    rows(provider, move |rows| rows.iter_mut().for_each(change));
}

/// Changes the rows that queries of a provider return; associations have them as they are.
pub(crate) fn rows(
    provider: &mut Arc<dyn Provider>,
    change: impl Fn(&mut Vec<Instance>) + Send + Sync + 'static,
) {
    let of = Arc::clone(provider);
    *provider = Arc::new(Changed { of, change });
}

impl<F: Fn(&mut Vec<Instance>) + Send + Sync> ForwardProvider for Changed<dyn Provider, F> {
    fn to(&self) -> &dyn Provider {
        &*self.of
    }

    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
        let mut found = self.of.query(query, deadline)?;
        (self.change)(&mut found);
        Ok(found)
    }
}

/// Changes the tables of disks, as the kernel has them.
pub(crate) fn layouts(
    disks: &mut Arc<dyn Disks>,
    change: impl Fn(&mut DriveLayout) + Send + Sync + 'static,
) {
    let of = Arc::clone(disks);
    *disks = Arc::new(Changed { of, change });
}

impl<F: Fn(&mut DriveLayout) + Send + Sync> ForwardDisks for Changed<dyn Disks, F> {
    fn to(&self) -> &dyn Disks {
        &*self.of
    }

    fn layout(&self, disk: DiskNumber) -> Result<DriveLayout> {
        let mut layout = self.of.layout(disk)?;
        (self.change)(&mut layout);
        Ok(layout)
    }
}

/// Changes the page files that Windows reports.
pub(crate) fn paging(
    boot: &mut Arc<dyn Boot>,
    change: impl Fn(&mut Paging) + Send + Sync + 'static,
) {
    let of = Arc::clone(boot);
    *boot = Arc::new(Changed { of, change });
}

impl<F: Fn(&mut Paging) + Send + Sync> ForwardBoot for Changed<dyn Boot, F> {
    fn to(&self) -> &dyn Boot {
        &*self.of
    }

    fn paging(&self) -> Result<Paging> {
        let mut paging = self.of.paging()?;
        (self.change)(&mut paging);
        Ok(paging)
    }
}

/// Volumes whose extents pass through `say`, given how often they were queried before.
pub(crate) struct Elsewhere<F> {
    volumes: Arc<dyn Volumes>,
    say: F,
    asked: AtomicU32,
}

impl<F> Elsewhere<F>
where
    F: Fn(u32, Result<Vec<Extent>>) -> Result<Vec<Extent>> + Send + Sync,
{
    pub(crate) fn of(volumes: Arc<dyn Volumes>, say: F) -> Self {
        let asked = AtomicU32::new(0);
        Self {
            volumes,
            say,
            asked,
        }
    }
}

impl<F> ForwardVolumes for Elsewhere<F>
where
    F: Fn(u32, Result<Vec<Extent>>) -> Result<Vec<Extent>> + Send + Sync,
{
    fn to(&self) -> &dyn Volumes {
        &*self.volumes
    }

    fn extents(&self, volume: VolumeId) -> Result<Vec<Extent>> {
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        (self.say)(before, self.volumes.extents(volume))
    }
}

/// Volumes whose paths begin as the mount manager would have it: with `named` where the simulator has `place`.
pub(crate) struct Named {
    pub(crate) volumes: Arc<dyn Volumes>,
    pub(crate) place: WinPath,
    pub(crate) named: WinPath,
}

impl ForwardVolumes for Named {
    fn to(&self) -> &dyn Volumes {
        &*self.volumes
    }

    fn access_paths(&self, volume: VolumeId) -> Result<Vec<WinPath>> {
        let paths = self.volumes.access_paths(volume)?;
        let named = |path: WinPath| match path.is_within(&self.place) {
            true => {
                let below = path.components().iter().skip(self.place.components().len());
                below
                    .cloned()
                    .fold(self.named.clone(), |path, name| path.join(name))
            }
            false => path,
        };
        Ok(paths.into_iter().map(named).collect())
    }
}
