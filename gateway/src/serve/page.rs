//! Page: serves the files of a web page next to the gateway. Headers forbid the page to load from, or send to, other
//! servers.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use copal_format::id::ObjectHash;

/// A page, read when the server starts; later changes of its files have no effect.
pub(super) struct Page {
    /// By URL path, such as `/assets/index-Cq2f.js`.
    files: BTreeMap<String, File>,
    policy: HeaderValue,
}

struct File {
    bytes: Bytes,
    /// The file compressed with brotli, if the page has it.
    brotli: Option<Bytes>,
    kind: &'static str,
    tag: HeaderValue,
}

impl Page {
    /// Reads the page in a directory. `store` is the origin of the bucket if the gateway presigns its addresses: the
    /// page may connect to it too.
    pub(super) fn read(directory: &Path, store: Option<&str>) -> io::Result<Self> {
        let mut found = BTreeMap::new();
        gather(directory, "", &mut found)?;
        if !found.contains_key("/index.html") {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no index.html in it"));
        }
        let mut compressed: BTreeMap<String, Bytes> = BTreeMap::new();
        found.retain(|path, bytes| match path.strip_suffix(".br") {
            Some(of) => compressed.insert(of.to_owned(), bytes.clone()).is_some_and(|_| false),
            None => true,
        });
        let file = |path: &str, bytes: Bytes, brotli| {
            let tag = format!("\"{}\"", ObjectHash::of(&bytes));
            let tag = HeaderValue::from_str(&tag).expect("digits in quotes are a value");
            File { bytes, brotli, kind: kind(path), tag }
        };
        let files = found.into_iter().map(|(path, bytes)| {
            let brotli = compressed.remove(&path);
            let file = file(&path, bytes, brotli);
            (path, file)
        });
        let policy = policy(store).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the bucket's address"))?;
        Ok(Self { files: files.collect(), policy })
    }

    /// Serves the page at every path without a route.
    pub(super) fn beside(self, router: Router) -> Router {
        let page = Arc::new(self);
        let files = Router::new().fallback(answer).with_state(page);
        router.fallback_service(files)
    }

    fn respond(&self, request: &Request) -> Response {
        let mut headers = self.headers();
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return (StatusCode::METHOD_NOT_ALLOWED, headers).into_response();
        }
        let path = match request.uri().path() {
            "/" => "/index.html",
            "/share" => "/share.html",
            path => path,
        };
        let Some(file) = self.files.get(path) else {
            return (StatusCode::NOT_FOUND, headers, "there is nothing at this address").into_response();
        };
        // The bundler puts a hash of the content into the names of these files.
        let caching = if path.starts_with("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
        headers.insert(header::ETAG, file.tag.clone());
        if request.headers().get(header::IF_NONE_MATCH) == Some(&file.tag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
        let bytes = match &file.brotli {
            Some(brotli) => {
                headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
                if takes_brotli(request.headers()) {
                    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
                    brotli
                } else {
                    &file.bytes
                }
            }
            None => &file.bytes,
        };
        (headers, bytes.clone()).into_response()
    }

    fn headers(&self) -> HeaderMap {
        let mut headers: HeaderMap =
            HEADERS.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        headers
    }
}

async fn answer(State(page): State<Arc<Page>>, request: Request) -> Response {
    page.respond(&request)
}

/// Scripts, images and connections only from this server (and the bucket); no string becomes a script.
fn policy(store: Option<&str>) -> Result<HeaderValue, axum::http::header::InvalidHeaderValue> {
    let store = store.map(|origin| format!(" {origin}")).unwrap_or_default();
    HeaderValue::from_str(&format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob:; media-src \
         'self'; connect-src 'self'{store}; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action \
         'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types copal"
    ))
}

fn gather(directory: &Path, below: &str, found: &mut BTreeMap<String, Bytes>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{below}/{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            gather(&entry.path(), &path, found)?;
        } else if kind.is_file() {
            if entry.metadata()?.len() > FILE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{path} is too large for a page")));
            }
            found.insert(path, Bytes::from(fs::read(entry.path())?));
        }
    }
    Ok(())
}

/// A browser runs scripts and WebAssembly only with the right media types.
fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("webmanifest") => "application/manifest+json",
        Some("json") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn takes_brotli(headers: &HeaderMap) -> bool {
    let offered = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    offered.split(',').any(|coding| coding.trim() == "br")
}

/// Headers of every answer, besides those of the gateway's.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), hid=()",
    ),
];
/// Most bytes of one file, because files stay in memory.
const FILE_BYTES: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn page() -> (tempfile::TempDir, Page) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("assets")).unwrap();
        for (name, content) in [("index.html", "page"), ("assets/a-1.wasm", "module"), ("assets/a-1.wasm.br", "small")]
        {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let page = Page::read(directory.path(), Some("https://bucket.example")).unwrap();
        (directory, page)
    }

    fn get(page: &Page, path: &str, headers: &[(HeaderName, &str)]) -> Response {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        page.respond(&request.body(Body::empty()).unwrap())
    }

    fn text(response: &Response, name: HeaderName) -> &str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn every_answer_forbids_what_a_page_does_not_need() {
        let (_directory, page) = page();
        for path in ["/", "/assets/a-1.wasm", "/nothing"] {
            let response = get(&page, path, &[]);
            let policy = text(&response, header::CONTENT_SECURITY_POLICY);
            assert!(policy.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"), "{policy}");
            assert!(policy.contains("connect-src 'self' https://bucket.example;"), "{policy}");
            assert!(policy.contains("img-src 'self' blob:; media-src 'self';"), "{policy}");
            assert!(
                !policy.contains("frame-src") && !policy.contains("object-src"),
                "nothing but the default: {policy}"
            );
            assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
        }
    }

    #[test]
    fn what_is_named_by_its_content_is_kept_and_the_rest_is_asked_for_anew() {
        let (_directory, page) = page();
        let index = get(&page, "/", &[]);
        assert_eq!(text(&index, header::CACHE_CONTROL), "no-cache");
        assert_eq!(text(&index, header::CONTENT_TYPE), "text/html; charset=utf-8");
        let tag = text(&index, header::ETAG);
        assert_eq!(get(&page, "/index.html", &[(header::IF_NONE_MATCH, tag)]).status(), StatusCode::NOT_MODIFIED);
        let asset = get(&page, "/assets/a-1.wasm", &[]);
        assert!(text(&asset, header::CACHE_CONTROL).ends_with("immutable"));
        assert_eq!(text(&asset, header::CONTENT_TYPE), "application/wasm");
    }

    #[test]
    fn brotli_is_sent_to_whoever_takes_it() {
        let (_directory, page) = page();
        let asked = get(&page, "/assets/a-1.wasm", &[(header::ACCEPT_ENCODING, "gzip, br")]);
        assert_eq!(text(&asked, header::CONTENT_ENCODING), "br");
        assert_eq!(text(&get(&page, "/assets/a-1.wasm", &[]), header::CONTENT_ENCODING), "");
        assert_eq!(get(&page, "/assets/a-1.wasm.br", &[]).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn nothing_but_the_page_is_served_and_nothing_is_taken() {
        let (directory, page) = page();
        for path in ["/../index.html", "/assets", "/assets/", "//index.html", "/%2e%2e/index.html"] {
            assert_eq!(get(&page, path, &[]).status(), StatusCode::NOT_FOUND, "{path}");
        }
        let request = Request::builder().method("POST").uri("/").body(Body::empty()).unwrap();
        assert_eq!(page.respond(&request).status(), StatusCode::METHOD_NOT_ALLOWED);
        fs::remove_file(directory.path().join("index.html")).unwrap();
        assert!(Page::read(directory.path(), None).is_err());
    }
}
