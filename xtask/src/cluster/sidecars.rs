//! The controllers beside a CSI driver: provisioner, attacher, resizer.

use std::process::Command;

use anyhow::Result;

use super::plane::Plane;
use super::programs::Programs;
use super::running::RunningCluster;
use super::sockets::Sockets;

pub(super) fn start(
    running: &mut RunningCluster,
    programs: &Programs,
    plane: &Plane,
    sockets: &Sockets,
) -> Result<()> {
    let all = [
        ("csi-provisioner", &programs.provisioner),
        ("csi-attacher", &programs.attacher),
        ("csi-resizer", &programs.resizer),
    ];
    for (name, program) in all {
        let mut sidecar = Command::new(program);
        sidecar.arg(format!("--csi-address={}", sockets.controller.display()));
        sidecar.arg(format!("--kubeconfig={}", plane.kubeconfig.display()));
        running.start(name, &mut sidecar)?;
    }
    Ok(())
}
