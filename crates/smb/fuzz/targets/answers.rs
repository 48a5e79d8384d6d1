#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wincsi_smb::decode_everything(data));
