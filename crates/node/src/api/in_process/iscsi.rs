use std::collections::BTreeSet;

use os::{Deadline, DiskNumber};

use super::run;
use crate::api::{Iscsi, Result};
use crate::{
    Authentication, ChapSecret, Connected, LoginOptions, Node, Portal, SessionInfo, TargetName,
};

impl Iscsi for Node {
    fn add_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let owned = portal.clone();
        run(self, "add portal", portal, deadline, move |node| {
            node.operations().iscsi().add_portal(&owned, deadline)
        })
    }

    fn refresh(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let owned = portal.clone();
        run(self, "refresh portal", portal, deadline, move |node| {
            node.operations().iscsi().refresh(&owned, deadline)
        })
    }

    fn discover(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>> {
        let owned = portal.clone();
        run(self, "discover", portal, deadline, move |node| {
            node.operations().iscsi().discover(&owned, deadline)
        })
    }

    fn remove_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let owned = portal.clone();
        run(self, "remove portal", portal, deadline, move |node| {
            node.operations().iscsi().remove_portal(&owned, deadline)
        })
    }

    fn portals(&self, deadline: Deadline) -> Result<Vec<(String, u32)>> {
        run(self, "list", "portals", deadline, move |node| {
            node.operations().iscsi().portals(deadline)
        })
    }

    fn connect(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<()> {
        let options = LoginOptions::default();
        let connected = self.connect_with(portal, target, authentication, &options, deadline);
        connected.map(drop)
    }

    fn connect_with(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        options: &LoginOptions,
        deadline: Deadline,
    ) -> Result<Connected> {
        let (portal, name) = (portal.clone(), target.clone());
        let (authentication, options) = (authentication.duplicate(), options.clone());
        run(self, "connect", target, deadline, move |node| {
            let iscsi = node.operations().iscsi();
            iscsi.connect_with(&portal, &name, &authentication, &options, deadline)
        })
    }

    fn sessions(&self, deadline: Deadline) -> Result<Vec<SessionInfo>> {
        run(self, "list", "sessions", deadline, move |node| {
            node.operations().iscsi().sessions(deadline)
        })
    }

    fn disconnect(&self, portal: &Portal, target: &TargetName, deadline: Deadline) -> Result<()> {
        let (portal, name) = (portal.clone(), target.clone());
        run(self, "disconnect", target, deadline, move |node| {
            node.operations()
                .iscsi()
                .disconnect(&portal, &name, deadline)
        })
    }

    fn disks(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>> {
        let (portal, name) = (portal.clone(), target.clone());
        run(self, "list the disks of", target, deadline, move |node| {
            node.operations().iscsi().disks(&portal, &name, deadline)
        })
    }

    fn set_mutual_chap_secret(&self, secret: &ChapSecret, deadline: Deadline) -> Result<()> {
        let secret = secret.duplicate();
        run(
            self,
            "set",
            "the mutual CHAP secret",
            deadline,
            move |node| {
                node.operations()
                    .iscsi()
                    .set_mutual_chap_secret(&secret, deadline)
            },
        )
    }
}
