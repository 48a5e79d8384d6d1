//! Every version of the filesystem group, called for its meaning.

use wire::filesystem::v2alpha1 as newest;

use crate::support::Proxy;

/// The calls of every version, under its own names.
macro_rules! life {
    ($proxy:expr, $version:ident, $link:ident $link_request:ident, $look:ident $look_request:ident $is_link:ident) => {{
        use wire::filesystem::$version::*;
        let proxy = $proxy;
        let top = concat!(r"C:\var\lib\kubelet\", stringify!($version));
        let at = |name: &str| format!(r"{top}\{name}");
        let exists = |path: &str| {
            let request = PathExistsRequest {
                path: path.into(),
                ..Default::default()
            };
            proxy.answer::<rpc::PathExists>(&request).exists
        };
        let is_link = |path: &str| {
            let request = $look_request { path: path.into() };
            proxy.answer::<rpc::$look>(&request).$is_link
        };
        let remove = |path: &str, force| RmdirRequest {
            path: path.into(),
            force,
            ..Default::default()
        };
        proxy.answer::<rpc::Mkdir>(&MkdirRequest {
            path: at(r"a\b"),
            ..Default::default()
        });
        assert!(exists(&at(r"a\b")) && !exists(&at("c")));
        let link = $link_request {
            source_path: at("a"),
            target_path: at("l"),
            ..Default::default()
        };
        proxy.answer::<rpc::$link>(&link);
        proxy.answer::<rpc::$link>(&link);
        assert!(is_link(&at("l")) && !is_link(&at("a")) && exists(&at(r"l\b")));
        proxy.answer::<rpc::Rmdir>(&remove(&at("l"), false));
        assert!(
            !exists(&at("l")) && exists(&at(r"a\b")),
            "a link goes alone"
        );
        let full = proxy.complaint::<rpc::Rmdir>(&remove(top, false));
        assert!(full.contains("The directory is not empty."), "{full}");
        proxy.answer::<rpc::Rmdir>(&remove(top, true));
        assert!(!exists(top));
    }};
}

#[test]
#[allow(clippy::needless_update, reason = "versions differ in their fields")]
fn directories_and_links_live_the_same_life_in_every_version() {
    let proxy = &Proxy::start();
    life!(proxy, v1alpha1, LinkPath LinkPathRequest, IsMountPoint IsMountPointRequest is_mount_point);
    life!(proxy, v1beta1, LinkPath LinkPathRequest, IsMountPoint IsMountPointRequest is_mount_point);
    life!(proxy, v1beta2, CreateSymlink CreateSymlinkRequest, IsSymlink IsSymlinkRequest is_symlink);
    life!(proxy, v1, CreateSymlink CreateSymlinkRequest, IsSymlink IsSymlinkRequest is_symlink);
    life!(proxy, v2alpha1, CreateSymlink CreateSymlinkRequest, IsSymlink IsSymlinkRequest is_symlink);
}

#[test]
fn the_newest_version_empties_a_directory_and_keeps_it() {
    let proxy = Proxy::start();
    let top = r"C:\var\lib\kubelet\top";
    let exists = |path: &str| {
        let path = path.to_owned();
        let request = newest::PathExistsRequest { path };
        proxy.answer::<newest::rpc::PathExists>(&request).exists
    };
    let path = format!(r"{top}\a\b");
    proxy.answer::<newest::rpc::Mkdir>(&newest::MkdirRequest { path });
    let path = top.to_owned();
    proxy.answer::<newest::rpc::RmdirContents>(&newest::RmdirContentsRequest { path });
    assert!(exists(top) && !exists(&format!(r"{top}\a")));
}
