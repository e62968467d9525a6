//! TLS for the listener, by rustls.

use super::HttpOptions;
use crate::options::Error;
use ferromcp_engine::LocalError;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What the options say of TLS; None where it is not wanted.
///
/// # Errors
/// [`Error::Engine`] naming the file, and what is wrong with it.
pub(super) fn acceptor(options: &HttpOptions) -> Result<Option<TlsAcceptor>, Error> {
    let wrong = |reason: String| Error::from(LocalError::Config(reason));
    let (cert, key) = match (&options.tls_cert_file, &options.tls_key_file) {
        (None, None) => return Ok(None),
        (Some(cert), Some(key)) => (cert, key),
        _ => return Err(wrong("http: tlsCertFile and tlsKeyFile belong together".into())),
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
    let chain = chain.map_err(|error| wrong(format!("http: tlsCertFile {cert:?}: {error}")))?;
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(format!("http: tlsKeyFile {key:?}: {error}")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("http: TLS: {error}")))?;
    let mut config = config
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| wrong(format!("http: tlsCertFile {cert:?} with tlsKeyFile {key:?}: {error}")))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}
