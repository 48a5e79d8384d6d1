use std::path::Path;
use std::time::Duration;

use os::schema::Build;
use os::{StartType, WinPath};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::CreateError;
use crate::conditions::StorageConditions;
use crate::latency::Latency;
use crate::profile::Profile;
use crate::spanned::SpannedSpec;

/// A node as somebody set it up: the content of `node.toml`. It does not change while the node runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct NodeSpec {
    /// The computer's name.
    pub name: String,
    /// The maker, as the firmware gives it.
    pub manufacturer: String,
    /// The model, as the firmware gives it.
    pub product: String,
    /// The serial number, as the firmware gives it.
    pub serial: String,
    /// The machine's UUID, as the firmware gives it.
    pub uuid: Uuid,
    /// The build of Windows: an older one lacks the newer parameters of methods. 20348 is Windows Server
    /// 2022, 26100 is 2025.
    pub build: u32,
    /// The machine that it answers like. [`NodeSpec::profile`] sets what goes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// How long operations take.
    pub latency: Latency,
    /// How many bytes the disk has that the node runs from; read when the node is made.
    pub system_disk_bytes: u64,
    /// A volume on dynamic disks that it comes with; read when the node is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spanned: Option<SpannedSpec>,
    /// The action for a disk that is seen for the first time.
    pub san_policy: SanPolicy,
    /// Whether `MSFT_Disk.Initialize` brings an offline disk online and makes it writable. On Hyper-V it did: a disk
    /// that was offline and read-only was online behind `Initialize-Disk`.
    pub initialize_brings_online: bool,
    /// The page files in use.
    pub page_files: Vec<String>,
    /// Whether Windows leaves it open that there are more page files than these: its list of them has an entry
    /// that cannot be read.
    pub page_files_unknown: bool,
    /// Where a crash dump would go; in the file an empty text stands for nowhere.
    #[serde(with = "empty_is_none")]
    pub crash_dump: Option<String>,
    /// Whether the `afunix` driver runs.
    pub afunix: bool,
    /// How many milliseconds a volume takes to appear once its partition is there and online.
    pub volume_delay_ms: u64,
    /// How many milliseconds a service takes to start or stop.
    pub service_delay_ms: u64,
    /// How the storage behaves where records differ.
    pub storage: StorageConditions,
    /// The services.
    pub service: Vec<ServiceSpec>,
    /// Programs that run, beside those of services.
    pub process: Vec<ProcessSpec>,
}

/// `NewDiskPolicy`: what happens to a disk that is seen for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SanPolicy {
    /// Every disk stays offline and read-only.
    OfflineAll,
    /// Disks on a bus that other machines may share stay offline and read-only: Windows Server's way.
    #[default]
    OfflineShared,
    /// Every disk comes up, as on the images of most clouds.
    OnlineAll,
}

/// A service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServiceSpec {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// When it starts.
    #[serde(default)]
    pub start: Start,
    /// How its process is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The services that must run for it to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Whether it stops again instead of running: its process ends, or its driver does not load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dies_at_start: bool,
}

/// A program that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProcessSpec {
    /// Its file name.
    pub name: String,
    /// How it was started; `None` if Windows lets nobody read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// When a service starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// With the node.
    Automatic,
    /// By the boot loader.
    Boot,
    /// Never.
    Disabled,
    /// On demand.
    #[default]
    Manual,
    /// During kernel initialisation.
    System,
}

impl NodeSpec {
    /// A node of this name, set up as Windows Server is.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Makes the node answer as this machine does: its boot disk, its firmware's texts, its policy for new
    /// disks.
    #[must_use]
    pub fn profile(self, profile: Profile) -> Self {
        let mut spec = Self {
            profile: Some(profile),
            ..self
        };
        profile.furnish(&mut spec);
        spec
    }

    /// With this policy for new disks.
    #[must_use]
    pub fn san_policy(self, san_policy: SanPolicy) -> Self {
        Self { san_policy, ..self }
    }

    /// With this build of Windows.
    #[must_use]
    pub fn build(self, build: Build) -> Self {
        let Build(build) = build;
        Self { build, ..self }
    }

    /// With a spanned volume.
    #[must_use]
    pub fn spanned(self, spanned: SpannedSpec) -> Self {
        let spanned = Some(spanned);
        Self { spanned, ..self }
    }

    /// With volumes that take so long to appear.
    #[must_use]
    pub fn volume_delay(self, delay: Duration) -> Self {
        let volume_delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        Self {
            volume_delay_ms,
            ..self
        }
    }

    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, CreateError> {
        let spec: Self =
            toml::from_str(text).map_err(|error| CreateError::malformed(path, error))?;
        for path_of_node in spec.page_files.iter().chain(&spec.crash_dump) {
            path_of_node
                .parse::<WinPath>()
                .map_err(|error| CreateError::malformed(path, error))?;
        }
        if spec.spanned.is_some_and(|it| !it.is_possible()) {
            let reason = "a spanned volume has a letter, and not C";
            return Err(CreateError::malformed(path, reason));
        }
        Ok(spec)
    }
}

impl Default for NodeSpec {
    fn default() -> Self {
        Self {
            name: "WIN-SIM".to_owned(),
            manufacturer: "wincsi".to_owned(),
            product: "Simulated Node".to_owned(),
            serial: "0000-0001-6511-2026".to_owned(),
            uuid: Uuid::from_u128(0x4c4c_4544_0000_2010_8020_8052_4655_4d00),
            build: Build::SERVER_2022.0,
            profile: None,
            latency: Latency::default(),
            system_disk_bytes: 32 << 30,
            spanned: None,
            san_policy: SanPolicy::default(),
            initialize_brings_online: true,
            page_files: vec![r"C:\pagefile.sys".to_owned()],
            page_files_unknown: false,
            crash_dump: Some(r"C:\Windows\MEMORY.DMP".to_owned()),
            afunix: true,
            volume_delay_ms: 150,
            service_delay_ms: 100,
            storage: StorageConditions::default(),
            service: usual_services(),
            // Whose command line nobody reads.
            process: vec![ProcessSpec {
                name: "System".to_owned(),
                command: None,
            }],
        }
    }
}

impl Start {
    pub(crate) fn start_type(self) -> StartType {
        match self {
            Self::Automatic => StartType::Automatic,
            Self::Boot => StartType::Boot,
            Self::Disabled => StartType::Disabled,
            Self::Manual => StartType::Manual,
            Self::System => StartType::System,
        }
    }

    pub(crate) fn is_at_boot(self) -> bool {
        matches!(self, Self::Automatic | Self::Boot | Self::System)
    }
}

mod empty_is_none {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        path: &Option<String>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(path.as_deref().unwrap_or_default())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<String>, D::Error> {
        let path = String::deserialize(from)?;
        Ok(Some(path).filter(|path| !path.is_empty()))
    }
}

fn usual_services() -> Vec<ServiceSpec> {
    let service = |name: &str, display_name: &str, start, depends_on: &[&str]| ServiceSpec {
        name: name.to_owned(),
        display_name: display_name.to_owned(),
        start,
        command: None,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        dies_at_start: false,
    };
    vec![
        service(
            "RpcSs",
            "Remote Procedure Call (RPC)",
            Start::Automatic,
            &[],
        ),
        service(
            "Winmgmt",
            "Windows Management Instrumentation",
            Start::Automatic,
            &["RpcSs"],
        ),
        service("LanmanWorkstation", "Workstation", Start::Automatic, &[]),
        service(
            "MSiSCSI",
            "Microsoft iSCSI Initiator Service",
            Start::Manual,
            &[],
        ),
        service("defragsvc", "Optimize drives", Start::Manual, &["RpcSs"]),
        service("vds", "Virtual Disk", Start::Manual, &["RpcSs"]),
    ]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::NodeSpec;

    #[test]
    fn an_empty_file_is_a_usual_node_and_a_misspelt_word_is_none() {
        let path = Path::new("node.toml");
        assert_eq!(NodeSpec::parse(path, "").unwrap(), NodeSpec::default());
        assert!(NodeSpec::parse(path, "san-polcy = \"online-all\"").is_err());
        assert!(NodeSpec::parse(path, "page-files = ['pagefile.sys']").is_err());
    }

    #[test]
    fn a_node_survives_its_file() {
        let spec = NodeSpec {
            crash_dump: None,
            ..NodeSpec::named("node-7")
        };
        let text = toml::to_string(&spec).unwrap();
        assert_eq!(
            NodeSpec::parse(Path::new("node.toml"), &text).unwrap(),
            spec
        );
    }
}
