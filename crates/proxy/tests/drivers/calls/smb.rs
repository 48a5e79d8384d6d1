use super::{Answer, Api, Pipes, ask};

impl Pipes {
    pub(crate) fn new_smb_global_mapping(
        &self,
        remote_path: &str,
        local_path: &str,
        [username, password]: [&str; 2],
    ) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                smb::v1::NewSmbGlobalMapping(NewSmbGlobalMappingRequest {
                    remote_path,
                    local_path,
                    username,
                    password,
                })
            )),
            Api::Fallback(_) => drop(ask!(
                self,
                smb::v1beta1::NewSmbGlobalMapping(NewSmbGlobalMappingRequest {
                    remote_path,
                    local_path,
                    username,
                    password,
                })
            )),
        }
        Ok(())
    }

    pub(crate) fn remove_smb_global_mapping(&self, remote_path: &str) -> Answer<()> {
        match self.api {
            Api::V1 => drop(ask!(
                self,
                smb::v1::RemoveSmbGlobalMapping(RemoveSmbGlobalMappingRequest { remote_path })
            )),
            Api::Fallback(_) => drop(ask!(
                self,
                smb::v1beta1::RemoveSmbGlobalMapping(RemoveSmbGlobalMappingRequest { remote_path })
            )),
        }
        Ok(())
    }
}
