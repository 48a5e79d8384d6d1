use std::time::Duration;

use os::Facility;
use serde::{Deserialize, Serialize};

use crate::gate::{Effect, Faults, Rule};

/// How long operations of a node take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latency {
    /// As long as the simulator works on them.
    #[default]
    Own,
    /// Adds durations that people measured on real nodes: calls of csi-proxy on WMI and of SMB cmdlets, each put
    /// on the operation that does the call's work. Other operations take no longer. They are rules of
    /// [`Faults`], which [`Faults::clear`] removes.
    Recorded,
}

/// Operations, in which facility, and the microseconds that each takes.
///
/// Sources: <https://github.com/kubernetes-csi/csi-proxy/pull/360> (storage, volumes),
/// <https://github.com/kubernetes-csi/csi-proxy/issues/206> and
/// <https://github.com/kubernetes-sigs/azurefile-csi-driver/issues/1925> (SMB).
const RECORDED: [(&str, Facility, u64); 5] = [
    ("MSFT_Volume.Format", Facility::Storage, 2_900_000),
    ("IWbemServices.ExecQuery", Facility::Storage, 95_500),
    (
        "GetVolumeNameForVolumeMountPointW",
        Facility::Volumes,
        9_000,
    ),
    ("MSFT_SmbGlobalMapping.Create", Facility::Smb, 767_000),
    ("MSFT_SmbGlobalMapping.Remove", Facility::Smb, 239_000),
];

impl Latency {
    /// The gate's rules for it.
    pub(crate) fn faults(self) -> Faults {
        let faults = Faults::default();
        let table: &[_] = match self {
            Self::Own => &[],
            Self::Recorded => &RECORDED,
        };
        for (operation, facility, microseconds) in table {
            let delay = Effect::Delay(Duration::from_micros(*microseconds));
            faults.add(Rule::on(operation, delay).in_facility(*facility));
        }
        faults
    }
}
