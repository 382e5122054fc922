//! Optional: a span for each call, sent to an OpenTelemetry collector (OTLP, protobuf over HTTP).
//!
//! The exporter collects spans on a thread of its own and sends them in batches. That thread knows no asynchronous
//! runtime, but the HTTP client needs one, so requests are handed to ours.

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

use crate::failure::{Explain, Result};

/// How long one request to the collector may take.
const EXPORT_LIMIT: Duration = Duration::from_secs(5);

/// The exporter of spans.
pub struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Must be called within the runtime that will send the spans.
    pub fn start(endpoint: &str) -> Result<Self> {
        let failed = format!("cannot send traces to {endpoint}");
        // `rustls` wants its cryptography chosen once for the process; an error means that it has been.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client =
            reqwest::Client::builder().timeout(EXPORT_LIMIT).no_proxy().build().explain(&failed)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(OnRuntime { client, runtime: Handle::current() })
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(traces_url(endpoint))
            .with_timeout(EXPORT_LIMIT)
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

    /// Only the spans of calls: those of the HTTP client that sends them would never end.
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

    /// Sends what is left. A collector that does not answer delays the end, but does not prevent it.
    pub(crate) async fn shutdown(self) {
        let flush =
            tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(EXPORT_LIMIT));
        if let Ok(Err(error)) = flush.await {
            tracing::warn!(%error, "the last spans may not have reached the collector");
        }
    }
}

/// The endpoint names the collector; each signal has its path there. One that names the path already is left alone.
fn traces_url(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.ends_with("/v1/traces") {
        endpoint.to_owned()
    } else {
        format!("{endpoint}/v1/traces")
    }
}

#[derive(Debug)]
struct OnRuntime {
    client: reqwest::Client,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(
        &self,
        request: Request<Bytes>,
    ) -> std::result::Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        self.runtime.spawn(async move { client.send_bytes(request).await }).await?
    }
}
