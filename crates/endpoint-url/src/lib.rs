//! Validation of the base URL of a model endpoint, shared by `embed` and `host`.
//!
//! Start at [`parse_base_url`]. This crate sends no requests and does not know the paths below the base URL.

use url::Url;

/// The reason why a base URL is invalid. Messages do not quote the URL, because it may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    #[error("expected a URL such as https://api.openai.com/v1")]
    NotAUrl,
    #[error("must start with http:// or https://")]
    UnsupportedScheme,
    #[error("must not contain a username or password; set the API key instead")]
    ContainsCredentials,
    #[error("must not contain a query or fragment")]
    ContainsQueryOrFragment,
}

/// Returns the base URL without surrounding white space; errors unless it is an HTTP URL of only host, port and path.
pub fn parse_base_url(base_url: &str) -> Result<Url, BaseUrlError> {
    let url = Url::parse(base_url.trim()).map_err(|_| BaseUrlError::NotAUrl)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(BaseUrlError::UnsupportedScheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BaseUrlError::ContainsCredentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(BaseUrlError::ContainsQueryOrFragment);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_http_urls_with_host_port_and_path() {
        for (base_url, expected) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            (" http://127.0.0.1:11434/v1/\n", "http://127.0.0.1:11434/v1/"),
            ("http://[::1]:80", "http://[::1]/"),
        ] {
            let url = parse_base_url(base_url).map(String::from);
            assert_eq!(url.as_deref(), Ok(expected), "{base_url}");
        }
    }

    #[test]
    fn rejects_other_urls_with_reason() {
        for (base_url, expected) in [
            ("", BaseUrlError::NotAUrl),
            ("api.openai.com/v1", BaseUrlError::NotAUrl),
            ("http://", BaseUrlError::NotAUrl),
            ("ftp://host/v1", BaseUrlError::UnsupportedScheme),
            ("localhost:11434/v1", BaseUrlError::UnsupportedScheme),
            ("https://me@host/v1", BaseUrlError::ContainsCredentials),
            ("https://me:hunter2@host/v1", BaseUrlError::ContainsCredentials),
            ("https://:hunter2@host/v1", BaseUrlError::ContainsCredentials),
            ("https://host/v1?key=hunter2", BaseUrlError::ContainsQueryOrFragment),
            ("https://host/v1#hunter2", BaseUrlError::ContainsQueryOrFragment),
        ] {
            assert_eq!(parse_base_url(base_url), Err(expected), "{base_url}");
        }
    }
}
