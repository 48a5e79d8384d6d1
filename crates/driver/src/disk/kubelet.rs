use wincsi::WinPath;
use wincsi::filesystem::Component;

/// Where kubelet keeps this driver's volumes.
#[derive(Clone, Debug)]
pub struct Kubelet {
    /// The driver's name, as kubelet knows it.
    pub driver_name: String,
    /// Kubelet's folder; `None` if it is no path of the node, and then nothing there is listed.
    pub folder: Option<WinPath>,
}

impl Kubelet {
    /// The folder with a folder for each staged volume of this driver.
    pub(super) fn staging_folder(&self) -> Option<WinPath> {
        self.below(&["plugins", "kubernetes.io", "csi", &self.driver_name])
    }

    /// The folder with a folder for each pod.
    pub(super) fn pods_folder(&self) -> Option<WinPath> {
        self.below(&["pods"])
    }

    fn below(&self, names: &[&str]) -> Option<WinPath> {
        let folder = self.folder.clone()?;
        names.iter().try_fold(folder, |path, name| {
            Some(path.join(Component::parse(name).ok()?))
        })
    }
}
