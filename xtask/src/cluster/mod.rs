//! `cargo xtask cluster`: a real Kubernetes drives a CSI driver on a simulated node.
//!
//! Real are the API server with its database, the scheduler, the controllers, the controllers beside a driver, Helm, and
//! kubelet's plugin watcher, volume manager, CSI plugin and prober. Simulated is the driver's node. Containers never run,
//! but those of what Helm installs: they are processes. docs/cluster.md describes it for readers.
//!
//! Kubelet's root is a folder on the simulated node's drive C, so kubelet meets the driver's files there. The harness
//! places this folder on this machine: on Linux kubelet's program translates paths in its requests to the driver, under
//! Wine the folder is in Windows's place.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Args;

use crate::env::{self, Go, Need};
use crate::host::Host;
use crate::wine::Prefix;

mod api;
mod clone;
mod failures;
mod gap;
mod install;
mod kubelet;
mod life;
mod luns;
mod machine;
mod node;
mod objects;
mod plane;
mod programs;
mod restarts;
mod running;
mod shares;
mod sick;
mod smbplugin;
mod snapshot;
mod sockets;
mod wine;

use self::install::Installation;
use self::life::Life;
use self::node::Node;
use self::plane::Plane;
use self::programs::Programs;
use self::running::RunningCluster;

/// Start a Kubernetes, play a volume's life on a CSI driver, and take it down
#[derive(Args)]
pub(crate) struct Cluster {
    /// Leave it up with the pods running, and say how to reach it, until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Use kubelet's and the driver's Windows programs, under Wine
    #[arg(long)]
    wine: bool,
    /// Answer for the driver when kubelet publishes, without a word to it, which has to be found out
    #[arg(long, conflicts_with = "wine")]
    broken_publish: bool,
}

impl Cluster {
    pub(crate) fn run(self) -> Result<ExitCode> {
        env::provide(&[
            Need::Cluster,
            Need::Go,
            Need::Helm,
            Need::Samba,
            Need::Static,
        ])?;
        if !self.wine {
            return self.run_on(Host::Linux);
        }
        env::provide(Host::WINE_NEEDS)?;
        self.run_on(Host::Wine(&Prefix::create()?))
    }

    fn run_on(&self, host: Host<'_>) -> Result<ExitCode> {
        let programs = Programs::build(host, &Go::provide()?)?;
        let (mut running, steps) = (RunningCluster::new()?, Steps(Instant::now()));
        let plane = Plane::start(&mut running, &programs, &steps)?;
        snapshot::install(&mut running, &programs, &plane, &steps)?;
        objects::check_manifests(&plane.api, &steps)?;
        let node = Node::start(&mut running, &programs, &plane, host, self.broken_publish)?;
        let mut life = Life {
            running: &mut running,
            plane: &plane,
            node: &node,
            steps: &steps,
        };
        let pods = life.begin()?;
        if self.keep {
            println!("\n{}", invitation(&plane, &node));
            running.wait_for_interrupt()?;
        } else {
            life.restart(&pods)?;
            life.end(&pods)?;
            node.leave(life.running, &plane)?;
            let nodes = machine::nodes(life.running, &programs, &plane, host)?;
            let node = &nodes[0];
            Installation::of(Life { node, ..life }, nodes.get(1))?.play()?;
        }
        let ended = running.end()?;
        steps.done(
            "all down",
            &format!("{ended} programs were running, and have ended"),
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// The cluster's output: a line for each step.
struct Steps(Instant);

impl Steps {
    /// Prints that a step is done, and its proof.
    fn done(&self, step: &str, shown_by: &str) {
        let seconds = self.0.elapsed().as_secs_f32();
        println!("{seconds:>6.1} s  {step:<17}  {shown_by}");
    }
}

fn invitation(plane: &Plane, node: &Node<'_>) -> String {
    let (api, config) = (&plane.api, plane.kubeconfig.display());
    format!(
        "The pods run. Reach the cluster with\n  \
         kubectl --kubeconfig={config} get pods,pvc,pv,volumeattachments\n  \
         curl --config {} {}/api/v1/namespaces/default/pods\n\
         What the programs say is in {}, the node in {}. Ctrl-C ends all.",
        api.config.display(),
        api.url,
        plane.logs.display(),
        node.folder.display(),
    )
}
