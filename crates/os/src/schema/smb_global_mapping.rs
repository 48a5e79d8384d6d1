//! `MSFT_SmbGlobalMapping`: a share that every account of the machine may use.
//!
//! Microsoft has no page for the class. The generated definition gives its names and types, and
//! the pages of the cmdlets that are generated from it give the meanings.
//!
//! What has [`Build::SERVER_2019`] is in the definition of that build and missing from an earlier
//! one; what has [`Build::SERVER_2025`] is on the cmdlet's page for that build alone.

use super::cim::CimType::{Boolean, Object, String, Uint16, Uint32};
use super::codes::SUCCESS;
use super::model::{
    Build, Class, Method, NamedValue, Namespace, Parameter, Property, Returns, Source, number,
};

const NEW_CMDLET: Source = Source::Cmdlet(
    "https://learn.microsoft.com/en-us/powershell/module/smbshare/new-smbglobalmapping",
);
const REMOVE_CMDLET: Source = Source::Cmdlet(
    "https://learn.microsoft.com/en-us/powershell/module/smbshare/remove-smbglobalmapping",
);
const KEYS: Source = Source::Unverified(
    "the generated definition has the name and the type; that it is a key is recorded of a \
     Windows 11 (fixtures/windows-11-22000.wmi), and of no server",
);
const DEFINITION: Source = Source::Definition(
    "https://github.com/microsoft/wmi/blob/master/server2019/root/microsoft/windows/smb/MSFT_SmbGlobalMapping.go",
);
/// `New-SmbGlobalMapping` is static and takes what it is returned for an error code;
/// `Remove-SmbGlobalMapping` is called on instances.
const MODULE: Source = module_file!("SmbShare/SmbGlobalMapping.cdxml");
/// Gives `Status` the numbers that it has in `MSFT_SmbMapping`, whose page and module list them.
const MODULE_TYPES: Source = module_file!("SmbShare/Smb.types.ps1xml");
const TRANSPORT_NUMBERS: Source = Source::Unverified(
    "the cmdlet's page has the words; type and order are those of MSFT_SmbMapping.Create in the \
     generated definition of a later build",
);
const RETURNS: Returns = Returns {
    codes: &[SUCCESS],
    source: Source::Unverified(
        "no list of return codes; PowerShell shows failures as `Windows System Error` with a \
         Win32 code, such as 53 or 1219, so the call itself is taken to fail with an \
         MSFT_WmiError, and a returned code other than 0 to be a Win32 error",
    ),
};

/// How the mapping fares. Only [`OK`](status::OK) is usable at once.
pub mod status {
    use super::*;

    rows! { VALUES: NamedValue {
        OK = number(0, "OK");
        PAUSED = number(1, "Paused");
        DISCONNECTED = number(2, "Disconnected");
        NETWORK_ERROR = number(3, "NetworkError");
        CONNECTING = number(4, "Connecting");
        RECONNECTING = number(5, "Reconnecting");
        UNAVAILABLE = number(6, "Unavailable");
    }}
}

/// Values of [`create::TRANSPORT_TYPE`].
pub mod transport_type {
    use super::*;

    rows! { VALUES: NamedValue {
        NONE = number(0, "None");
        TCP = number(1, "TCP");
        QUIC = number(2, "QUIC");
    }}
}

rows! { PROPERTIES: Property {
    /// A drive letter with its colon; null or empty for a mapping without one.
    LOCAL_PATH = Property::new("LocalPath", String, KEYS).key();
    /// `\\server\share`.
    REMOTE_PATH = Property::new("RemotePath", String, KEYS).key();
    STATUS = Property::new("Status", Uint32, MODULE_TYPES).numbers(status::VALUES);
    REQUIRE_INTEGRITY = Property::new("RequireIntegrity", Boolean, DEFINITION);
    REQUIRE_PRIVACY = Property::new("RequirePrivacy", Boolean, DEFINITION);
    USE_WRITE_THROUGH = Property::new("UseWriteThrough", Boolean, DEFINITION);
}}

/// Parameters of [`CREATE`].
pub mod create {
    use super::*;

    rows! { PARAMETERS: Parameter {
        LOCAL_PATH = Parameter::input("LocalPath", String, DEFINITION);
        REMOTE_PATH = Parameter::input("RemotePath", String, DEFINITION).required();
        /// One text: the user's name with `\` and `:` escaped by `\`, then `:`, then the password
        /// as it is, as
        /// [PowerShell](https://github.com/PowerShell/PowerShell/blob/9303de597da55963a6e26a8fe164d0b256ca3d4d/src/Microsoft.PowerShell.Commands.Management/cimSupport/cmdletization/cim/cimConverter.cs#L166-L178)
        /// makes it. Left out, the connection is made as the machine: the cmdlet demands it, the
        /// class does not.
        CREDENTIAL = Parameter::input("Credential", String, DEFINITION).secret();
        /// Made again after a restart.
        PERSISTENT =
            Parameter::input("Persistent", Boolean, DEFINITION).since(Build::SERVER_2019);
        /// Signing.
        REQUIRE_INTEGRITY = Parameter::input("RequireIntegrity", Boolean, DEFINITION);
        /// Encryption.
        REQUIRE_PRIVACY = Parameter::input("RequirePrivacy", Boolean, DEFINITION);
        /// Accounts that may use the mapping.
        FULL_ACCESS = Parameter::input("FullAccess", String, DEFINITION).array();
        /// Accounts that may not.
        DENY_ACCESS = Parameter::input("DenyAccess", String, DEFINITION).array();
        /// Past every cache, to the server's disk.
        USE_WRITE_THROUGH =
            Parameter::input("UseWriteThrough", Boolean, DEFINITION).since(Build::SERVER_2019);
        TRANSPORT_TYPE = Parameter::input("TransportType", Uint32, TRANSPORT_NUMBERS)
            .numbers(transport_type::VALUES)
            .since(Build::SERVER_2025);
        SKIP_CERTIFICATE_CHECK = Parameter::input("SkipCertificateCheck", Boolean, NEW_CMDLET)
            .since(Build::SERVER_2025);
        COMPRESS_NETWORK_TRAFFIC = Parameter::input("CompressNetworkTraffic", Boolean, NEW_CMDLET)
            .since(Build::SERVER_2025);
        /// Kerberos or nothing.
        BLOCK_NTLM = Parameter::input("BlockNTLM", Boolean, NEW_CMDLET).since(Build::SERVER_2025);
        TCP_PORT = Parameter::input("TcpPort", Uint16, NEW_CMDLET).since(Build::SERVER_2025);
        QUIC_PORT = Parameter::input("QuicPort", Uint16, NEW_CMDLET).since(Build::SERVER_2025);
        RDMA_PORT = Parameter::input("RdmaPort", Uint16, NEW_CMDLET).since(Build::SERVER_2025);
        CREATED_MAPPING =
            Parameter::output("CreatedMapping", Object("MSFT_SmbGlobalMapping"), DEFINITION);
    }}
}

/// Parameters of [`REMOVE`].
pub mod remove {
    use super::*;

    rows! { PARAMETERS: Parameter {
        /// Without asking, and although files are open.
        FORCE = Parameter::input("Force", Boolean, DEFINITION);
    }}
}

rows! { METHODS: Method {
    CREATE = Method::instance("Create", create::PARAMETERS, &[], NEW_CMDLET)
        .on_class(MODULE)
        .returns(RETURNS);
    /// Static in the repository of a Windows 11.
    REMOVE = Method::instance("Remove", remove::PARAMETERS, &[], REMOVE_CMDLET)
        .returns(RETURNS);
}}

pub static CLASS: Class = Class {
    name: "MSFT_SmbGlobalMapping",
    namespace: Namespace::Smb,
    base: None,
    properties: PROPERTIES,
    methods: METHODS,
    source: NEW_CMDLET,
};
