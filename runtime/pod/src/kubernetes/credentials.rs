//! The address of the API server, and weir's credentials: a kubeconfig, or the service account of a pod.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use http::HeaderMap;
use kube::Config;
use kube::config::{AuthInfo, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use weir_files::Paths;
use weir_files::file_trust::{self, Untrusted};

use super::tls::Identity;
use super::user;

pub(super) const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

/// Where Kubernetes mounts a service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Where credentials come from.
pub(super) struct Source {
    paths: Paths,
    kind: Kind,
}

enum Kind {
    Kubeconfig(PathBuf),
    /// The pod's environment and its service account.
    ServiceAccount(Service),
}

/// The address of the API server in a pod's environment.
#[derive(Default)]
pub(super) struct Service {
    host: Option<String>,
    port: Option<String>,
}

/// The API server, and weir's credentials.
pub(super) struct Credentials {
    pub config: Config,
    /// The headers of each request.
    pub headers: HeaderMap,
    pub identity: Option<Identity>,
    /// All of it as text, to compare.
    text: String,
}

impl Credentials {
    pub(super) fn are_those(&self, other: &Self) -> bool {
        self.text == other.text
    }

    fn new(config: Config, paths: &Paths) -> Result<Self, String> {
        let user = serde_json::to_value(&config.auth_info).map_err(|error| error.to_string())?;
        let identity = user::identity(&config.auth_info, |file| read(Path::new(file), paths))?;
        Ok(Self {
            headers: user::headers(&config.auth_info)?,
            text: format!("{} {:?} {user}", config.cluster_url, config.root_cert),
            identity,
            config,
        })
    }
}

impl Source {
    /// Reads only the environment.
    pub(super) fn new(kubeconfig: Option<&Path>, paths: &Paths) -> Self {
        let service = || Service {
            host: std::env::var(HOST).ok(),
            port: std::env::var(PORT).ok(),
        };
        Self {
            kind: match kubeconfig {
                Some(path) => Kind::Kubeconfig(paths.resolve(path)),
                None => Kind::ServiceAccount(service()),
            },
            paths: paths.clone(),
        }
    }

    /// Reads the credentials. Errors: the source, and its mistake.
    pub(super) fn read(&self) -> Result<Credentials, String> {
        let paths = &self.paths;
        let config = match &self.kind {
            Kind::Kubeconfig(file) => by_kubeconfig(file, paths),
            Kind::ServiceAccount(service) => by_service_account(service, paths),
        };
        let credentials = config.and_then(|config| Credentials::new(config, paths));
        credentials.map_err(|wrong| format!("{self}: {wrong}"))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Kubeconfig(file) => write!(f, "the kubeconfig {}", file.display()),
            Kind::ServiceAccount(_) => f.write_str("the pod's service account"),
        }
    }
}

fn by_kubeconfig(file: &Path, paths: &Paths) -> Result<Config, String> {
    let text = read(file, paths)?;
    let mut kubeconfig = Kubeconfig::from_yaml(&text).map_err(|error| error.to_string())?;
    let files = Files {
        directory: file.parent().unwrap_or(Path::new("/")),
        paths,
    };
    let clusters = kubeconfig.clusters.iter_mut();
    for cluster in clusters.filter_map(|named| named.cluster.as_mut()) {
        files.resolve("certificate-authority", &mut cluster.certificate_authority)?;
    }
    let users = kubeconfig.auth_infos.iter_mut();
    for user in users.filter_map(|named| named.auth_info.as_mut()) {
        files.resolve("tokenFile", &mut user.token_file)?;
        files.resolve("client-certificate", &mut user.client_certificate)?;
        files.resolve("client-key", &mut user.client_key)?;
    }
    let has_proxy = has_proxy(&kubeconfig);
    let mut config = Config::try_from(kubeconfig).map_err(|error| error.to_string())?;
    if has_proxy {
        return Err(
            "proxy-url is not supported: weir connects to the API server directly".to_owned(),
        );
    }
    // That of the environment is the container runtime's, for its images.
    config.proxy_url = None;
    refuse_programs(&config.auth_info)?;
    read_token(&mut config.auth_info, paths)?;
    Ok(config)
}

/// Reads a file with credentials. Errors: it cannot be read, or others could have written it.
fn read(path: &Path, paths: &Paths) -> Result<String, String> {
    io::read_to_string(open(path, paths)?).map_err(|error| error.to_string())
}

fn open(path: &Path, paths: &Paths) -> Result<File, String> {
    file_trust::open(path, paths.root()).map_err(|untrusted| match untrusted {
        Untrusted::Unreadable(error) => error.to_string(),
        Untrusted::Exposed(exposed) => {
            format!("it is not trusted: {exposed}; {}", exposed.remedy())
        }
    })
}

/// Whether the current cluster has a proxy.
fn has_proxy(kubeconfig: &Kubeconfig) -> bool {
    let current = kubeconfig.current_context.as_deref().unwrap_or_default();
    let context = (kubeconfig.contexts.iter()).find(|named| named.name == current);
    let context = context.and_then(|named| named.context.as_ref());
    let cluster = context.map_or("", |context| &context.cluster);
    let cluster = (kubeconfig.clusters.iter()).find(|named| named.name == cluster);
    let cluster = cluster.and_then(|named| named.cluster.as_ref());
    let proxy = cluster.and_then(|cluster| cluster.proxy_url.as_deref());
    proxy.is_some_and(|url| !url.is_empty())
}

/// The files that a kubeconfig names. Relative paths are relative to it.
struct Files<'a> {
    directory: &'a Path,
    paths: &'a Paths,
}

impl Files<'_> {
    /// Makes a path absolute, and checks who could have written the file. It is read later, when it can no longer change.
    fn resolve(&self, key: &str, file: &mut Option<String>) -> Result<(), String> {
        let Some(path) = file.as_deref().map(Path::new) else {
            return Ok(());
        };
        let resolved = if path.is_absolute() {
            self.paths.resolve(path)
        } else {
            self.directory.join(path)
        };
        open(&resolved, self.paths).map_err(|e| format!("{key} {}: {e}", resolved.display()))?;
        *file = Some(resolved.to_string_lossy().into_owned());
        Ok(())
    }
}

/// A program that a kubeconfig names is not run with weir's privileges.
fn refuse_programs(user: &AuthInfo) -> Result<(), String> {
    let key = match user {
        AuthInfo { exec: Some(_), .. } => "exec",
        AuthInfo {
            auth_provider: Some(_),
            ..
        } => "auth-provider",
        _ => return Ok(()),
    };
    Err(format!(
        "users: user: {key} is not supported; give a token, a tokenFile, or client-certificate and client-key"
    ))
}

/// A token in a file takes precedence over one in the kubeconfig, as in other clients. The file may end in a line break.
fn read_token(user: &mut AuthInfo, paths: &Paths) -> Result<(), String> {
    let Some(file) = user.token_file.take() else {
        return Ok(());
    };
    let token =
        read(Path::new(&file), paths).map_err(|error| format!("tokenFile {file}: {error}"))?;
    user.token = Some(token.trim().to_owned().into());
    Ok(())
}

fn by_service_account(service: &Service, paths: &Paths) -> Result<Config, String> {
    let url = service.url()?;
    let directory = paths.resolve(Path::new(SERVICE_ACCOUNT));
    let authority = directory.join("ca.crt");
    let root_cert = certificates(&authority, paths);
    let root_cert = root_cert.map_err(|error| format!("{}: {error}", authority.display()))?;
    let mut config = Config::new(url);
    config.root_cert = Some(root_cert);
    config.auth_info.token_file = Some(directory.join("token").to_string_lossy().into_owned());
    read_token(&mut config.auth_info, paths)?;
    Ok(config)
}

impl Service {
    fn url(&self) -> Result<http::Uri, String> {
        let (Some(host), Some(port)) = (&self.host, &self.port) else {
            return Err(format!(
                "{HOST} and {PORT} are not set, as they are in a pod; elsewhere the configuration needs `kubeconfig`"
            ));
        };
        let host = match host.parse() {
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => host.clone(),
        };
        let url = format!("https://{host}:{port}");
        url.parse().map_err(|error| format!("{url}: {error}"))
    }
}

fn certificates(file: &Path, paths: &Paths) -> Result<Vec<Vec<u8>>, String> {
    let pem = read(file, paths)?;
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes());
    let certificates = certificates.map(|found| found.map(|der| der.to_vec()));
    let certificates: Result<_, _> = certificates.collect();
    certificates.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_s_api_server_is_in_its_environment() {
        let url = |host: &str| {
            let service = Service {
                host: Some(host.to_owned()),
                port: Some("443".to_owned()),
            };
            service.url().map(|url| url.to_string())
        };
        assert_eq!(url("10.96.0.1"), Ok("https://10.96.0.1:443/".to_owned()));
        assert_eq!(url("fd00::1"), Ok("https://[fd00::1]:443/".to_owned()));
        assert_eq!(
            url("api.example"),
            Ok("https://api.example:443/".to_owned())
        );
        assert!(url("a b").is_err());
        let told = Service::default().url().unwrap_err();
        assert!(
            told.contains(HOST) && told.contains("`kubeconfig`"),
            "{told}"
        );
    }

    #[test]
    fn the_authority_of_a_service_account_must_be_there() {
        let service = Service {
            host: Some("10.96.0.1".to_owned()),
            port: Some("443".to_owned()),
        };
        let source = Source {
            kind: Kind::ServiceAccount(service),
            paths: Paths::below("/nonexistent"),
        };
        let told = source.read().map(|_| ()).unwrap_err();
        assert!(told.contains("serviceaccount/ca.crt"), "{told}");
    }
}
