//! Serves one connection: HTTP/1 or HTTP/2, with or without TLS, within its time limits.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::watched_stream::WatchedStream;
use super::{ConnectionGuard, OpenConnection, RequestInFlight};
use crate::metrics::CloseReason;
use crate::transports::http::admission::admit_request;
use crate::transports::http::limits::HttpLimits;
use crate::transports::http::routes::HttpRoutes;

/// Maximum size of the headers of a request, and of the buffer in which they arrive.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Serves a connection until it ends, is told to end or exceeds a time limit.
pub(super) async fn serve_connection(
    routes: Arc<HttpRoutes>,
    stream: TcpStream,
    guard: ConnectionGuard,
    stop: tokio_util::sync::CancellationToken,
) {
    let connection = Arc::clone(&guard.connection);
    let app = Arc::clone(&routes.app);
    let work = run_protocol(routes, stream, &connection, stop);
    let mut work = pin!(work);
    loop {
        let limits = app.limits();
        let now = Instant::now();
        // A later phase may have an earlier deadline, so it is looked at again after the shortest limit.
        let latest = now + limits.header_timeout.min(limits.write_timeout).min(limits.idle_timeout);
        let deadline = connection.next_deadline(&limits);
        if let Some((_, reason)) = deadline.filter(|(at, _)| *at <= now) {
            connection.set_close_reason(reason);
            return;
        }
        let wake = deadline.map_or(latest, |(at, _)| at.min(latest));
        tokio::select! {
            () = &mut work => return,
            () = connection.end.cancelled() => return,
            () = tokio::time::sleep_until(wake) => {}
        }
    }
}

async fn run_protocol(
    routes: Arc<HttpRoutes>,
    stream: TcpStream,
    connection: &Arc<OpenConnection>,
    stop: tokio_util::sync::CancellationToken,
) {
    // Responses are sent immediately. With Nagle's algorithm, a call whose response begins with a separate event
    // (2025-11-25) took 45 ms instead of 1 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "failed to set TCP_NODELAY");
    }
    let Some(acceptor) = routes.app.tls.acceptor() else {
        return run_http(routes, stream, connection, stop).await;
    };
    match acceptor.accept(stream).await {
        Ok(stream) => run_http(routes, stream, connection, stop).await,
        Err(error) => {
            tracing::debug!(%error, "TLS handshake failed");
            connection.set_close_reason(CloseReason::Error);
        }
    }
}

async fn run_http<S>(
    routes: Arc<HttpRoutes>,
    stream: S,
    connection: &Arc<OpenConnection>,
    stop: tokio_util::sync::CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let builder = protocol_builder(&routes.app.limits());
    let service = ConnectionService { routes, connection: Arc::clone(connection) };
    let io = WatchedStream { stream, connection: Arc::clone(connection) };
    let mut http = pin!(builder.serve_connection(TokioIo::new(io), service));
    let mut stopped = pin!(stop.cancelled());
    let mut is_closing = false;
    loop {
        tokio::select! {
            served = http.as_mut() => {
                if let Err(error) = served {
                    tracing::trace!(%error, "connection ended with an error");
                    connection.set_close_reason(CloseReason::Error);
                }
                return;
            }
            () = &mut stopped, if !is_closing => {
                is_closing = true;
                http.as_mut().graceful_shutdown();
            }
        }
    }
}

fn protocol_builder(limits: &HttpLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // The time limit of headers is that of `OpenConnection`: the one of this library also ends idle connections.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder.http1().max_buf_size(MAX_HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.max_streams)
        .max_header_list_size(MAX_HEADER_BYTES as u32)
        // A client that vanished, or that opens a stream and never reads, is noticed by its missing answer.
        .keep_alive_interval(limits.idle_timeout / 2)
        .keep_alive_timeout(limits.write_timeout);
    builder
}

/// Admission and the routes, for the requests of one connection.
struct ConnectionService {
    routes: Arc<HttpRoutes>,
    connection: Arc<OpenConnection>,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<InFlightBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let Some(in_flight) = self.connection.begin_request(request.version() == Version::HTTP_2)
        else {
            return Box::pin(std::future::ready(Ok(refuse_request(request.version()))));
        };
        let (routes, connection) = (Arc::clone(&self.routes), Arc::clone(&self.connection));
        Box::pin(async move {
            let response = admit_request(&routes, &connection, request.map(Body::new)).await;
            Ok(response.map(|body| InFlightBody { body, _in_flight: Some(in_flight) }))
        })
    }
}

/// A response body whose request is in flight until it has been sent.
struct InFlightBody {
    body: Body,
    _in_flight: Option<RequestInFlight>,
}

/// Returns the answer to a request on a connection that is being closed. It is sent if there is time.
fn refuse_request(version: Version) -> Response<InFlightBody> {
    let mut response = Response::new(InFlightBody { body: Body::empty(), _in_flight: None });
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    if version != Version::HTTP_2 {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

impl HttpBody for InFlightBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
