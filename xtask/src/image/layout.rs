//! An OCI image layout (<https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md>).

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The tag in the layout.
pub(super) const TAG: &str = env!("CARGO_PKG_VERSION");

/// The mark of a layout's folder.
const MARK: &str = "oci-layout";

/// An image for amd64.
pub(super) struct Image {
    pub(super) os: &'static str,
    /// How its programs are started.
    pub(super) config: Value,
    /// Tar archives.
    pub(super) layers: Vec<Vec<u8>>,
}

/// Writes the layout of an image, replacing an existing one.
pub(super) fn write(folder: &Path, image: &Image) -> Result<()> {
    let layers = &image.layers;
    let layout = Layout::begin(folder)?;
    let unpacked: Vec<_> = layers.iter().map(|layer| digest(layer)).collect();
    let packed = layers.iter().map(|layer| {
        let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
        layout.blob(kind, &gzip(layer)?)
    });
    let packed: Vec<_> = packed.collect::<Result<_>>()?;
    let config = layout.json(
        "application/vnd.oci.image.config.v1+json",
        &config(image, &unpacked),
    )?;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let mut manifest = layout.json(kind, &manifest(&config, &packed))?;
    manifest["platform"] = json!({"os": image.os, "architecture": ARCHITECTURE});
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": TAG});
    layout.file("index.json", &text(&index(&manifest))?)?;
    layout.file(MARK, br#"{"imageLayoutVersion":"1.0.0"}"#)
}

const ARCHITECTURE: &str = "amd64";

/// Without `os.version`, so hosts of every build accept it: nothing in it belongs to a build.
fn config(image: &Image, layers: &[String]) -> Value {
    let made_by = json!({"created_by": "cargo xtask image"});
    json!({
        "os": image.os,
        "architecture": ARCHITECTURE,
        "config": image.config,
        "rootfs": {"type": "layers", "diff_ids": layers},
        "history": vec![made_by; layers.len()],
    })
}

fn manifest(config: &Value, layers: &[Value]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": layers,
    })
}

fn index(manifest: &Value) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    })
}

struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// Removes the blobs of an existing layout, and nothing else.
    fn begin(folder: &Path) -> Result<Self> {
        let blobs = folder.join("blobs");
        if folder.join(MARK).exists() && blobs.exists() {
            fs::remove_dir_all(&blobs).with_context(|| format!("empty {}", blobs.display()))?;
        }
        let blobs = blobs.join("sha256");
        fs::create_dir_all(&blobs).with_context(|| format!("create {}", blobs.display()))?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    fn file(&self, name: &str, content: &[u8]) -> Result<()> {
        let file = self.folder.join(name);
        fs::write(&file, content).with_context(|| format!("write {}", file.display()))
    }

    /// Writes a blob, and returns its descriptor.
    fn blob(&self, media_type: &str, content: &[u8]) -> Result<Value> {
        let digest = digest(content);
        self.file(&format!("blobs/{}", digest.replace(':', "/")), content)?;
        let size = content.len();
        Ok(json!({"mediaType": media_type, "digest": digest, "size": size}))
    }

    fn json(&self, media_type: &str, content: &Value) -> Result<Value> {
        self.blob(media_type, &text(content)?)
    }
}

fn text(value: &Value) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(value)?)
}

fn digest(content: &[u8]) -> String {
    let bytes = Sha256::digest(content);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Without a time and a name.
fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
    packed.write_all(content)?;
    Ok(packed.finish()?)
}
