use serde::Deserialize;
use wincsi::WinPath;
use wincsi::filesystem::Component;

use crate::machine::Machine;
use crate::record::VolumeHandle;

/// What kubelet wrote about a volume beside its staging path (`vol_data.json`; `volDataKey` of kubelet's
/// `pkg/volume/csi`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolData {
    driver_name: String,
    volume_handle: String,
}

impl VolData {
    /// The file beside a staging path, if it is there and reads.
    pub(crate) fn beside(staging: &WinPath, machine: &dyn Machine) -> Option<Self> {
        let name = Component::parse("vol_data.json").ok()?;
        let file = staging.parent()?.join(name);
        let text = machine.read(&file).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn names(&self, driver_name: &str, volume: &VolumeHandle) -> bool {
        self.driver_name == driver_name && self.volume_handle == volume.as_str()
    }

    /// The volume, if it is one of this driver.
    pub(crate) fn volume_of(&self, driver_name: &str) -> Option<VolumeHandle> {
        match self.driver_name == driver_name {
            true => VolumeHandle::parse(&self.volume_handle).ok(),
            false => None,
        }
    }
}
