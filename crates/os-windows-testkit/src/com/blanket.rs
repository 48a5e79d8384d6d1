//! The settings of `CoSetProxyBlanket`.

use windows::core::{IUnknown, Interface, Ref};

/// Makes a COM object record the protection requested of it, in the place of a proxy. It has to have a field `shared`.
/// Each interface of a proxy is protected by itself, so the pointer passed selects the interface:
/// <https://learn.microsoft.com/windows/win32/api/objidl/nn-objidl-iclientsecurity>.
macro_rules! protected {
    ($object:ident, $interface:ident) => {
        impl windows::Win32::System::Com::IClientSecurity_Impl for $object {
            fn QueryBlanket(
                &self,
                _: windows::core::Ref<'_, windows::core::IUnknown>,
                _: *mut u32,
                _: *mut u32,
                _: *mut *mut u16,
                _: *mut windows::Win32::System::Com::RPC_C_AUTHN_LEVEL,
                _: *mut windows::Win32::System::Com::RPC_C_IMP_LEVEL,
                _: *mut *mut std::ffi::c_void,
                _: *mut u32,
            ) -> windows::core::Result<()> {
                $crate::com::failure::not_served()
            }

            fn SetBlanket(
                &self,
                proxy: windows::core::Ref<'_, windows::core::IUnknown>,
                _: u32,
                _: u32,
                _: &windows::core::PCWSTR,
                authentication: windows::Win32::System::Com::RPC_C_AUTHN_LEVEL,
                impersonation: windows::Win32::System::Com::RPC_C_IMP_LEVEL,
                _: *const std::ffi::c_void,
                _: &windows::Win32::System::Com::EOLE_AUTHENTICATION_CAPABILITIES,
            ) -> windows::core::Result<()> {
                let own = windows::core::IUnknownImpl::as_interface::<$interface>(self);
                self.shared.protected($crate::Blanket {
                    of: $crate::com::blanket::named(&proxy, &*own, stringify!($interface)),
                    authentication: authentication.0,
                    impersonation: impersonation.0,
                });
                Ok(())
            }

            fn CopyProxy(
                &self,
                _: windows::core::Ref<'_, windows::core::IUnknown>,
            ) -> windows::core::Result<windows::core::IUnknown> {
                $crate::com::failure::not_served()
            }
        }
    };
}

pub(super) use protected;

/// The protected interface: the one of this name, or another of the object's.
pub(super) fn named<I: Interface>(
    proxy: &Ref<'_, IUnknown>,
    own: &I,
    name: &'static str,
) -> &'static str {
    let is_own = proxy
        .as_ref()
        .is_some_and(|proxy| proxy.as_raw() == own.as_raw());
    if is_own { name } else { "IUnknown" }
}
