//! Optional export of one span per call to an OpenTelemetry collector (OTLP, protobuf over HTTP).
//!
//! The exporter batches spans on its own thread, outside any async runtime. The HTTP client needs one, so requests
//! are spawned on the runtime that started the export.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use crate::failure::{FailureExt, Result};

/// Maximum time of one request to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// The span exporter.
pub struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Starts the exporter. Must be called within the runtime that will send the spans.
    pub fn start(endpoint: &str) -> Result<Self> {
        let failed = format!("failed to set up the trace export to {endpoint}");
        // `rustls` needs a process-wide crypto provider; an error means that one is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(EXPORT_TIMEOUT)
            .no_proxy()
            .build()
            .explain(&failed)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(RuntimeHttpClient { client, runtime: Handle::current() })
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(traces_url(endpoint))
            .with_timeout(EXPORT_TIMEOUT)
            .build()
            .explain(&failed)?;
        let resource = Resource::builder()
            .with_service_name("vouch")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        Ok(Self { provider })
    }

    /// Returns a layer that exports the spans of calls only; exporting spans of the HTTP client would recurse.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let spans = Targets::new().with_target("runtime", LevelFilter::INFO);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("vouch"))
            .with_threads(false)
            .with_location(false)
            .with_filter(spans)
    }

    /// Sends the remaining spans. An unresponsive collector delays the shutdown by at most [`EXPORT_TIMEOUT`].
    pub(crate) async fn shutdown(self) {
        let flush = tokio::task::spawn_blocking(move || {
            self.provider.shutdown_with_timeout(EXPORT_TIMEOUT)
        });
        if let Ok(Err(error)) = flush.await {
            tracing::warn!(%error, "failed to flush spans to the collector");
        }
    }
}

/// Returns the traces URL of a collector: appends `/v1/traces` unless the endpoint already ends with it.
fn traces_url(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.ends_with("/v1/traces") {
        endpoint.to_owned()
    } else {
        format!("{endpoint}/v1/traces")
    }
}

#[derive(Debug)]
struct RuntimeHttpClient {
    client: reqwest::Client,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for RuntimeHttpClient {
    async fn send_bytes(
        &self,
        request: Request<Bytes>,
    ) -> std::result::Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        self.runtime.spawn(async move { client.send_bytes(request).await }).await?
    }
}
