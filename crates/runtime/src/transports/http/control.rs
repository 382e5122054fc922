//! Changes the settings of a running server.

use std::sync::Arc;

use super::{HttpApp, HttpError, HttpOptions};

/// Changes the settings of a running server.
#[derive(Clone)]
pub struct HttpControl {
    app: Arc<HttpApp>,
}

impl HttpControl {
    pub(super) fn new(app: Arc<HttpApp>) -> Self {
        Self { app }
    }

    /// Replaces the settings, and loads the certificate again. An error changes nothing.
    ///
    /// Requests in flight are finished. Sessions of principals that no longer have a token are ended. The address, the
    /// size of bodies, and the idle time and queues of sessions are those of the start.
    pub fn replace_options(&self, mut options: HttpOptions) -> Result<(), HttpError> {
        let before = self.app.options();
        options.address = before.address;
        options.max_body_bytes = before.max_body_bytes;
        options.check_tokens()?;
        if options.tls.is_some() || before.tls.is_some() {
            let replaced = self.app.tls.replace(options.tls.as_ref());
            self.app.pipeline.metrics().server().record_tls_reload(replaced.is_ok());
            replaced?;
        }
        let tokens = options.tokens.clone();
        self.app.sessions.set_limits(Arc::clone(&options.limits));
        *self.app.options.write() = Arc::new(options);
        let sessions = Arc::clone(&self.app.sessions);
        tokio::spawn(async move { sessions.end_sessions_without_token(&tokens).await });
        Ok(())
    }
}
