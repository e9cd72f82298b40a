//! Image: the programs for Linux as one OCI image for every processor, from nothing: no shell, no user but a number.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::contents::Contents;
use super::manifests::sha256;
use super::packages::utc;
use super::{Release, Target, python};
use crate::command::{output, succeed};
use crate::files::{copy, failed, fresh, make, size, write};

/// Packs the image: a layout of the OCI in a tar, as `skopeo copy oci-archive:FILE` and `podman load` read it.
pub(super) fn pack(
    release: &Release,
    programs: &[(&Target, PathBuf)],
    contents: &Contents,
    work: &Path,
) -> Result<(), String> {
    let layout = Layout { folder: work.join("image") };
    fresh(&layout.folder.join("blobs/sha256"))?;
    let mut manifests = Vec::new();
    for (target, program) in programs {
        if let Some(processor) = target.linux {
            let manifest =
                layout.manifest(release, processor, (program, contents), &work.join(format!("layer-{processor}")))?;
            manifests
                .push(format!("{{{manifest},\"platform\":{{\"architecture\":\"{processor}\",\"os\":\"linux\"}}}}"));
        }
    }
    let all = layout.add(INDEX, &index(&manifests.join(",")))?;
    // The name that podman gives what it loads.
    let named =
        format!("{{{all},\"annotations\":{{\"org.opencontainers.image.ref.name\":\"copal:{}\"}}}}", release.version);
    write(&layout.folder.join("index.json"), index(&named))?;
    write(&layout.folder.join("oci-layout"), b"{\"imageLayoutVersion\":\"1.0.0\"}")?;
    let mut tar = release.tar();
    succeed(tar.args(["--mode=u=rwX,go=rX", "-cf"]).arg(release.file("oci.tar")).arg("-C").arg(&layout.folder).args([
        "blobs",
        "index.json",
        "oci-layout",
    ]))
}

fn index(manifests: &str) -> String {
    format!("{{\"schemaVersion\":2,\"mediaType\":\"{INDEX}\",\"manifests\":[{manifests}]}}")
}

struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// Adds a processor's image; gives what describes it.
    fn manifest(
        &self,
        release: &Release,
        processor: &str,
        files: (&Path, &Contents),
        work: &Path,
    ) -> Result<String, String> {
        let tar = layer(release, files, work)?;
        let content = sha256(&tar)?;
        succeed(Command::new("gzip").args(["-n6", "--force"]).arg(&tar))?;
        let packed = tar.with_extension("tar.gz");
        let layer = self.describe(LAYER, &packed)?;
        self.keep(&packed)?;
        let mut labels = String::new();
        for (name, value) in
            [("title", "copal"), ("version", &release.version), ("licenses", "(Apache-2.0 OR MIT) AND MPL-2.0")]
        {
            write!(labels, "\"org.opencontainers.image.{name}\":\"{value}\",").expect("memory takes every byte");
        }
        let (labels, created) = (labels.trim_end_matches(','), utc(&release.time)?);
        let configuration = format!(
            "{{\"created\":\"{created}\",\"architecture\":\"{processor}\",\"os\":\"linux\",\"config\":{{\"User\":\"{USER}:{USER}\",\
             \"Env\":[\"PATH=/usr/bin\",\"HOME={HOME}\",\"SSL_CERT_FILE=/{CERTIFICATES}\"],\"Entrypoint\":[\"/usr/bin/copal\"],\
             \"WorkingDir\":\"{HOME}\",\"Labels\":{{{labels}}}}},\
             \"rootfs\":{{\"type\":\"layers\",\"diff_ids\":[\"sha256:{content}\"]}}}}"
        );
        let configuration = self.add(CONFIGURATION, &configuration)?;
        self.add(
            MANIFEST,
            &format!(
                "{{\"schemaVersion\":2,\"mediaType\":\"{MANIFEST}\",\"config\":{{{configuration}}},\"layers\":[{{{layer}}}]}}"
            ),
        )
    }

    /// Adds a text; gives what describes it.
    fn add(&self, kind: &str, text: &str) -> Result<String, String> {
        let new = self.folder.join("new");
        write(&new, text)?;
        let described = self.describe(kind, &new)?;
        self.keep(&new)?;
        Ok(described)
    }

    fn describe(&self, kind: &str, file: &Path) -> Result<String, String> {
        let size = size(file)?;
        Ok(format!("\"mediaType\":\"{kind}\",\"digest\":\"sha256:{}\",\"size\":{size}", sha256(file)?))
    }

    /// Moves a file to where its digest names it.
    fn keep(&self, file: &Path) -> Result<(), String> {
        let blob = self.folder.join("blobs/sha256").join(sha256(file)?);
        std::fs::rename(file, blob).map_err(failed(file))
    }
}

/// Makes the only layer: the program, the certificates of those who sign for servers, licences, a home and a place for temporary files.
fn layer(release: &Release, (program, contents): (&Path, &Contents), folder: &Path) -> Result<PathBuf, String> {
    fresh(folder)?;
    let (files, own) = (folder.join("files"), folder.join("own"));
    copy(program, &files.join("usr/bin/copal"))?;
    let bundle = output(Command::new(python()?).args(["-c", "import certifi; print(certifi.contents(), end='')"]))?;
    write(&files.join(CERTIFICATES), bundle)?;
    for (licence, name) in contents.of("licences")? {
        copy(&licence, &files.join("usr/share/doc/copal").join(name))?;
    }
    for place in [&HOME[1..], "tmp"] {
        make(&own.join(place))?;
    }
    let tar = folder.with_extension("tar");
    succeed(release.tar().args(["--mode=u=rwX,go=rX", "-cf"]).arg(&tar).arg("-C").arg(&files).args(["etc", "usr"]))?;
    let mut more = release.tar();
    more.args([format!("--owner={USER}"), format!("--group={USER}")]).args(["--mode=0700", "-rf"]).arg(&tar);
    succeed(more.arg("-C").arg(&own).arg(&HOME[1..]))?;
    // Whoever it runs as writes there.
    let mut open = release.tar();
    succeed(open.args(["--mode=1777", "-rf"]).arg(&tar).arg("-C").arg(&own).arg("tmp"))?;
    Ok(tar)
}

/// Nobody's number, as images without a distribution have it.
const USER: &str = "65532";
const HOME: &str = "/home/copal";
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIGURATION: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
