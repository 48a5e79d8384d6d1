//! What `CoSetProxyBlanket` asks a proxy for.

/// Makes a COM object take note of the protection that is asked of it, in the place of a proxy. It has to
/// have a field `shared`.
macro_rules! protected {
    ($object:ident, $name:literal) => {
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
                _: windows::core::Ref<'_, windows::core::IUnknown>,
                _: u32,
                _: u32,
                _: &windows::core::PCWSTR,
                authentication: windows::Win32::System::Com::RPC_C_AUTHN_LEVEL,
                impersonation: windows::Win32::System::Com::RPC_C_IMP_LEVEL,
                _: *const std::ffi::c_void,
                _: &windows::Win32::System::Com::EOLE_AUTHENTICATION_CAPABILITIES,
            ) -> windows::core::Result<()> {
                self.shared.protected($crate::Blanket {
                    of: $name,
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
