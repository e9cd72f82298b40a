//! Servers of other clouds, in processes of their own, with objects that go with them.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use copal_store::site::{Site, SiteAddress};
use tempfile::TempDir;

use super::process::{asked, plain_request, serve, started};
use super::s3::tools;

/// Which server.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Azurite, Microsoft's own stand-in for Azure Blob Storage.
    Azure,
    /// fake-gcs-server, which stands for Google Cloud Storage and honours `ifGenerationMatch`.
    Google,
    /// lighttpd with WebDAV, a user and a password, and several processes that race.
    WebDav,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Emulator {
    cloud: Cloud,
    process: Child,
    address: SocketAddr,
    _place: TempDir,
}

impl Emulator {
    /// Starts one with an empty bucket.
    pub fn start(cloud: Cloud) -> Emulator {
        let place = tempfile::tempdir().expect("a temporary directory");
        let served = serve(|address| launch(cloud, &place, address));
        let (process, address) = served.unwrap_or_else(|| panic!("{cloud:?} does not start"));
        let emulator = Emulator { cloud, process, address, _place: place };
        emulator.make_bucket();
        emulator
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a prefix, perhaps through something else at an address.
    pub fn url(&self, at: SocketAddr, prefix: &str) -> String {
        match self.cloud {
            Cloud::Azure => format!("azblob://{BUCKET}/{prefix}"),
            Cloud::Google => format!("gcs://{BUCKET}/{prefix}"),
            Cloud::WebDav => format!("webdav://{at}/{BUCKET}/{prefix}"),
        }
    }

    /// The environment in which a command reaches it, perhaps through something else at an address.
    pub fn environment(&self, at: SocketAddr) -> Vec<(&'static str, String)> {
        match self.cloud {
            Cloud::Azure => vec![("AZURE_STORAGE_CONNECTION_STRING", connection_string(at))],
            Cloud::Google => vec![("STORAGE_EMULATOR_HOST", format!("http://{at}"))],
            Cloud::WebDav => {
                vec![("COPAL_WEBDAV_USER", USER.to_owned()), ("COPAL_WEBDAV_PASSWORD", PASSWORD.to_owned())]
            }
        }
    }

    /// A new store in a prefix.
    pub fn store(&self, prefix: &str) -> Arc<dyn Site> {
        let url = self.url(self.address, prefix);
        let (scheme, rest) = url.split_once("://").expect("an address has a scheme");
        let address = SiteAddress::parse(scheme, rest).expect("a scheme of ours").expect("a complete address");
        let variables = self.environment(self.address);
        let variable = |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
        address.open(&variable).expect("a site")
    }

    fn make_bucket(&self) {
        let made = match self.cloud {
            Cloud::WebDav => true,
            Cloud::Azure => {
                let arguments =
                    [self.address.port().to_string(), ACCOUNT.to_owned(), KEY.to_owned(), BUCKET.to_owned()];
                Command::new("node")
                    .args(["-e", MAKE_CONTAINER])
                    .args(arguments)
                    .status()
                    .is_ok_and(|status| status.success())
            }
            Cloud::Google => {
                let body = format!("{{\"name\":\"{BUCKET}\"}}");
                let head = format!("POST /storage/v1/b?project=p HTTP/1.1\r\nHost: {}\r\n", self.address);
                let length = body.len();
                let request = format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
                is_answered(self.address, &request, "HTTP/1.1 200")
            }
        };
        assert!(made, "{:?} makes a bucket", self.cloud);
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // A server with several processes ends them itself if it is asked to end.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

fn launch(cloud: Cloud, place: &TempDir, address: SocketAddr) -> Option<Child> {
    let port = address.port().to_string();
    let mut command = match cloud {
        Cloud::WebDav => {
            fs::create_dir_all(place.path().join("root")).expect("a directory");
            fs::write(place.path().join("users"), format!("{USER}:{PASSWORD}\n")).expect("a file");
            let here = place.path().display();
            // Else each worker keeps files open for a second, and gives out what was deleted and made anew meanwhile; and a
            // file answers for all names below its own, which no repository asks for.
            let config = format!(
                "server.document-root = \"{here}/root\"\nserver.port = {port}\nserver.bind = \"127.0.0.1\"\n\
                 server.modules = (\"mod_auth\", \"mod_authn_file\", \"mod_webdav\")\nserver.max-worker = 4\n\
                 server.stat-cache-engine = \"disable\"\nstatic-file.disable-pathinfo = \"enable\"\n\
                 server.upload-dirs = (\"{here}\")\nwebdav.activate = \"enable\"\nauth.backend = \"plain\"\n\
                 auth.backend.plain.userfile = \"{here}/users\"\n\
                 auth.require = (\"/\" => (\"method\" => \"basic\", \"realm\" => \"r\", \"require\" => \"valid-user\"))\n"
            );
            fs::write(place.path().join("config"), config).expect("a file");
            let mut command = Command::new("/usr/sbin/lighttpd");
            command.args(["-D", "-f", "config"]);
            command
        }
        Cloud::Azure => {
            let mut command = Command::new("node");
            command.arg(tools().join("azurite/node_modules/azurite/dist/src/blob/main.js"));
            command.args(["--blobPort", &port, "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]);
            command
        }
        Cloud::Google => {
            let mut command = Command::new(tools().join("fake-gcs-server"));
            let url = format!("http://{address}");
            command.args(["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", &port]);
            command.args(["-external-url", &url]);
            command
        }
    };
    let output = File::create(place.path().join("output")).expect("a file for what it says");
    command
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stderr(output.try_clone().expect("the file is open"))
        .stdout(output);
    // lighttpd ends its whole group with itself.
    command.process_group(0);
    started(&mut command, || is_answered(address, &plain_request(address), "HTTP/1.1"))
}

fn is_answered(address: SocketAddr, request: &str, with: &str) -> bool {
    asked(address, request).is_some_and(|answer| answer.starts_with(with.as_bytes()))
}

fn connection_string(at: SocketAddr) -> String {
    format!("DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint=http://{at}/{ACCOUNT};")
}

const BUCKET: &str = "bucket";
const USER: &str = "keeper";
const PASSWORD: &str = "a secret of the kit's servers";
/// What every Azurite has.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// Signs and sends the one request that no store of ours makes.
const MAKE_CONTAINER: &str = r"
const [port, account, key, bucket] = process.argv.slice(1), date = new Date().toUTCString(), version = '2021-08-06';
const text = ['PUT', ...Array(11).fill(''), `x-ms-date:${date}`, `x-ms-version:${version}`,
    `/${account}/${account}/${bucket}`, 'restype:container'].join('\n');
const signature = require('crypto').createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
const headers = { 'x-ms-date': date, 'x-ms-version': version, 'content-length': 0,
    authorization: `SharedKey ${account}:${signature}` };
require('http').request({ host: '127.0.0.1', port, method: 'PUT', path: `/${account}/${bucket}?restype=container`, headers },
    answer => process.exit(answer.statusCode === 201 ? 0 : 1)).end();
";
