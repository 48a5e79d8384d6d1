//! The lives of a volume: the kubelet's calls in its order, with events between them.

use std::path::PathBuf;

use super::fixture::NodeFixture;
use super::steps::{Answer, Lifeline, Vars};

/// One driver, as the kubelet calls it for one volume and one pod.
pub(crate) trait Driver {
    fn paths(&self) -> &Paths;
    fn lifeline(&self) -> &Lifeline;

    /// Does what is asked; the values after it, or `None` if the driver has nothing of the kind.
    fn ask(&self, what: Ask) -> Answer<Option<Vars>>;

    /// Where the files of a staged volume lie outside of the node.
    fn content(&self) -> PathBuf;

    fn must(&self, what: Ask) -> Answer<()> {
        self.ask(what)
            .map(|values| assert!(values.is_some(), "a driver without {what:?}"))
    }
}

/// The kubelet's calls of a driver, and what the tests do beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Stage,
    Publish,
    Unpublish,
    Unstage,
    /// `total` and `used` bytes, if the driver calls csi-proxy for them.
    Stats,
    /// After the disk grew to 4 GiB.
    Expand,
    /// To make the disk below the volume 4 GiB long.
    Grow,
    /// To check what the driver leaves behind once the volume is unstaged, beside its files.
    Unstaged,
}

/// The kubelet's two paths for a volume.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    /// As the kubelet sends it, in one of its forms.
    pub(crate) raw_staging: String,
    /// Likewise.
    pub(crate) raw_target: String,
    /// As drivers convert it: backslashes, and `c:` if there is no drive.
    pub(crate) staging: String,
    /// Likewise.
    pub(crate) target: String,
}

/// The kubelets' forms of paths.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// `\var\lib\kubelet\...`
    Backslashes,
    /// `c:\var\lib\kubelet\...`
    Drive,
    /// `/var/lib/kubelet/...`
    Slashes,
}

/// An event between two calls of the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    DriverRestarts,
    ProxyRestarts,
}

/// The kubelet's steps for a volume after its node rebooted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterReboot {
    /// The pod is still to run.
    StageAgain,
    /// The pod was deleted meanwhile.
    Unstage,
}

impl Paths {
    pub(crate) fn new(driver: &str, volume: &str, form: Form) -> Self {
        let staging = format!("plugins/kubernetes.io/csi/{driver}/{volume}/globalmount");
        let target = format!("pods/0001-{volume}/volumes/kubernetes.io~csi/{volume}/mount");
        let raw = |below: String| match form {
            Form::Backslashes => format!(r"\var\lib\kubelet\{}", below.replace('/', r"\")),
            Form::Drive => format!(r"c:\var\lib\kubelet\{}", below.replace('/', r"\")),
            Form::Slashes => format!("/var/lib/kubelet/{below}"),
        };
        let (raw_staging, raw_target) = (raw(staging), raw(target));
        Self {
            staging: normalised(&raw_staging),
            target: normalised(&raw_target),
            raw_staging,
            raw_target,
        }
    }
}

/// A path, converted as by the drivers' helper.
fn normalised(raw: &str) -> String {
    let path = raw.replace('/', r"\");
    if path.starts_with('\\') {
        return format!("c:{path}");
    }
    path
}

/// The whole life, each call made twice as the kubelet may, and then once more from the beginning:
/// the volume's files are still there.
pub(crate) fn whole<D: Driver>(fixture: &NodeFixture, driver: &D) -> Answer<()> {
    stage_twice(fixture, driver)?;
    publish_twice(fixture, driver)?;
    let paths = driver.paths();
    fixture.pod_writes(&paths.target, "first");
    check_file(fixture, driver, "first");
    stats_and_growth(driver)?;
    driver.must(Ask::Publish)?;
    check_file(fixture, driver, "first");
    take_down_twice(fixture, driver)?;
    stage_twice(fixture, driver)?;
    publish_twice(fixture, driver)?;
    check_file(fixture, driver, "first");
    take_down_twice(fixture, driver)
}

/// Something restarts after each call. `start` is the driver's start.
pub(crate) fn interrupted<'a, D: Driver>(
    fixture: &'a NodeFixture,
    start: impl Fn(&'a NodeFixture) -> D,
    between: Between,
) -> Answer<()> {
    let mut driver = start(fixture);
    let restart = |driver: &mut D| match between {
        Between::DriverRestarts => *driver = start(fixture),
        Between::ProxyRestarts => fixture.restart_proxy(),
    };
    kubelet_stages(fixture, &driver)?;
    restart(&mut driver);
    kubelet_stages(fixture, &driver)?;
    restart(&mut driver);
    kubelet_publishes(fixture, &driver)?;
    fixture.pod_writes(&driver.paths().target, "written");
    restart(&mut driver);
    driver.must(Ask::Publish)?;
    check_file(fixture, &driver, "written");
    restart(&mut driver);
    stats_and_growth(&driver)?;
    restart(&mut driver);
    driver.must(Ask::Unpublish)?;
    restart(&mut driver);
    driver.must(Ask::Unstage)?;
    restart(&mut driver);
    check_down(fixture, &driver);
    driver.must(Ask::Unstage)?;
    check_down(fixture, &driver);
    Ok(())
}

/// The node restarts while a pod uses the volume.
pub(crate) fn rebooted<'a, D: Driver>(
    fixture: &'a NodeFixture,
    start: impl Fn(&'a NodeFixture) -> D,
    after: AfterReboot,
) -> Answer<()> {
    let driver = start(fixture);
    kubelet_stages(fixture, &driver)?;
    kubelet_publishes(fixture, &driver)?;
    fixture.pod_writes(&driver.paths().target, "before");
    let content = driver.content().join("before");
    fixture.reboot();
    let driver = start(fixture);
    if after == AfterReboot::StageAgain {
        kubelet_stages(fixture, &driver)?;
        kubelet_publishes(fixture, &driver)?;
        check_file(fixture, &driver, "before");
        stats_and_growth(&driver)?;
    }
    take_down_twice(fixture, &driver)?;
    assert!(content.exists(), "{}", content.display());
    Ok(())
}

/// The driver is killed at each of its calls in turn, after the call and before its answer. The kubelet repeats its
/// request to the next driver process; a half unstaged volume it requests once more.
pub(crate) fn killed<'a, D: Driver>(
    fixture: &'a NodeFixture,
    start: impl Fn(&'a NodeFixture) -> D,
) -> Answer<()> {
    until_it_survives(&|| start(fixture), |driver| kubelet_stages(fixture, driver))?;
    until_it_survives(&|| start(fixture), |driver| {
        kubelet_publishes(fixture, driver)
    })?;
    let driver = start(fixture);
    fixture.pod_writes(&driver.paths().target, "kept");
    until_it_survives(&|| start(fixture), |driver| driver.must(Ask::Unpublish))?;
    for number in 1.. {
        let driver = start(fixture);
        driver.lifeline().ends_with_call(number);
        let answer = driver.must(Ask::Unstage);
        if !driver.lifeline().is_over() {
            answer?;
            break;
        }
        let driver = start(fixture);
        kubelet_stages(fixture, &driver)?;
        kubelet_publishes(fixture, &driver)?;
        check_file(fixture, &driver, "kept");
        driver.must(Ask::Unpublish)?;
    }
    check_down(fixture, &driver);
    Ok(())
}

/// Calls drivers with ever longer lives, until one gets through.
fn until_it_survives<D: Driver>(
    start: &dyn Fn() -> D,
    ask: impl Fn(&D) -> Answer<()>,
) -> Answer<()> {
    for number in 1.. {
        let driver = start();
        driver.lifeline().ends_with_call(number);
        let answer = ask(&driver);
        if !driver.lifeline().is_over() {
            return answer;
        }
        assert!(answer.is_err(), "a driver that was killed answered");
    }
    unreachable!("a driver makes fewer calls than there are numbers")
}

fn kubelet_stages(fixture: &NodeFixture, driver: &impl Driver) -> Answer<()> {
    let paths = driver.paths();
    fixture.make_directories(&paths.staging);
    driver.must(Ask::Stage)?;
    assert!(fixture.is_there(&paths.staging), "{paths:?}");
    Ok(())
}

fn stage_twice(fixture: &NodeFixture, driver: &impl Driver) -> Answer<()> {
    kubelet_stages(fixture, driver)?;
    let content = driver.content();
    kubelet_stages(fixture, driver)?;
    assert_eq!(driver.content(), content, "the same volume again");
    Ok(())
}

/// The kubelet makes the target's folder before it requests the volume there.
fn kubelet_publishes(fixture: &NodeFixture, driver: &impl Driver) -> Answer<()> {
    let Paths {
        target, staging, ..
    } = driver.paths();
    fixture.make_directories(target);
    driver.must(Ask::Publish)?;
    let source = fixture.read_link(target).expect("the target is a link");
    let (source, staging) = (source.to_lowercase(), staging.to_lowercase());
    assert_eq!(
        source.trim_end_matches('\\'),
        staging,
        "where {target} leads"
    );
    Ok(())
}

fn publish_twice(fixture: &NodeFixture, driver: &impl Driver) -> Answer<()> {
    kubelet_publishes(fixture, driver)?;
    kubelet_publishes(fixture, driver)
}

/// The pod sees its file, and it lies on the volume.
fn check_file(fixture: &NodeFixture, driver: &impl Driver, name: &str) {
    let seen = fixture.pod_reads(&driver.paths().target, name);
    assert_eq!(seen.as_deref(), Ok(name), "{:?}", driver.paths());
    let content = driver.content().join(name);
    let stored = std::fs::read_to_string(&content).ok();
    assert_eq!(stored.as_deref(), Some(name), "{}", content.display());
}

fn stats_and_growth(driver: &impl Driver) -> Answer<()> {
    let number = |values: &Vars, name: &str| values[name].parse::<u64>().expect(name);
    let Some(before) = driver.ask(Ask::Stats)? else {
        return Ok(());
    };
    let (total, used) = (number(&before, "total"), number(&before, "used"));
    assert!(total > 900 << 20 && used < total, "{used} of {total}");
    driver.ask(Ask::Grow)?;
    if driver.ask(Ask::Expand)?.is_some() {
        let after = driver.ask(Ask::Stats)?.expect("it had some");
        let after = number(&after, "total");
        assert!(after > 3900 << 20, "{total} became {after}");
        // Nothing is left to grow.
        driver.must(Ask::Expand)?;
    }
    Ok(())
}

fn take_down_twice(fixture: &NodeFixture, driver: &impl Driver) -> Answer<()> {
    driver.must(Ask::Unpublish)?;
    driver.must(Ask::Unpublish)?;
    assert!(
        !fixture.is_there(&driver.paths().target),
        "{:?}",
        driver.paths()
    );
    driver.must(Ask::Unstage)?;
    check_down(fixture, driver);
    driver.must(Ask::Unstage)?;
    check_down(fixture, driver);
    Ok(())
}

fn check_down(fixture: &NodeFixture, driver: &impl Driver) {
    let paths = driver.paths();
    assert!(!fixture.is_there(&paths.target), "{paths:?}");
    assert!(!fixture.is_there(&paths.staging), "{paths:?}");
    driver.must(Ask::Unstaged).unwrap();
    fixture.check_bystanders();
}

/// The tests of a driver in one of its modes, `lives_of!(v1, stage(), |stage, form| ...)`: on this node, with a driver
/// started so. Each has its paths in another form.
macro_rules! lives_of {
    ($mode:ident, $node:expr, |$fixture:ident, $form:ident| $start:expr) => {
        mod $mode {
            use super::*;
            use crate::lives;

            #[test]
            fn whole_life() -> Answer<()> {
                let ($fixture, $form) = (&$node, Form::Backslashes);
                lives::whole($fixture, &$start)
            }

            /// On Windows each would take half a minute, and show no more of pipes than
            /// `whole_life`.
            #[cfg(not(windows))]
            mod upset {
                use super::*;
                use crate::lives::{AfterReboot, Between};

                #[test]
                fn the_driver_restarts_between_calls() -> Answer<()> {
                    let $form = Form::Drive;
                    lives::interrupted(&$node, |$fixture| $start, Between::DriverRestarts)
                }

                #[test]
                fn a_volumes_life_survives_proxy_restarts() -> Answer<()> {
                    let $form = Form::Slashes;
                    lives::interrupted(&$node, |$fixture| $start, Between::ProxyRestarts)
                }

                #[test]
                fn the_driver_is_killed_at_each_call() -> Answer<()> {
                    let $form = Form::Drive;
                    lives::killed(&$node, |$fixture| $start)
                }

                #[test]
                fn the_node_reboots_and_the_volume_is_staged_again() -> Answer<()> {
                    let $form = Form::Backslashes;
                    lives::rebooted(&$node, |$fixture| $start, AfterReboot::StageAgain)
                }

                #[test]
                fn the_node_reboots_and_the_volume_is_unstaged() -> Answer<()> {
                    let $form = Form::Slashes;
                    lives::rebooted(&$node, |$fixture| $start, AfterReboot::Unstage)
                }
            }
        }
    };
}
pub(crate) use lives_of;
