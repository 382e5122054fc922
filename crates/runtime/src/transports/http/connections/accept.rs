//! Accepts connections. Neither a full table nor a lack of descriptors ends the server or keeps a thread busy.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{ConnectionTable, ConnectionThreads, serve};
use crate::metrics::RefusalReason;
use crate::transports::http::HttpApp;
use crate::transports::http::routes::HttpRoutes;

/// Longest pause after a failure to accept, such as a lack of descriptors.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Time after a failure to accept for which fewer connections are kept, so that files can be opened.
const CAUTION_TIME: Duration = Duration::from_secs(10);
/// The answer to a connection that cannot be served. It is sent without reading the request.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Accepts and serves connections until `stop` is cancelled.
pub(crate) async fn accept_connections(
    listener: TcpListener,
    threads: &ConnectionThreads,
    table: &Arc<ConnectionTable>,
    routes: &Arc<HttpRoutes>,
    stop: &CancellationToken,
) {
    let app = &routes.app;
    let mut is_failing = false;
    let mut caution: Option<Caution> = None;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                is_failing = false;
                caution = caution.filter(|caution| caution.until > Instant::now());
                let limit = app.limits().max_connections;
                let limit = caution.as_ref().map_or(limit, |caution| caution.limit.min(limit));
                table.wait_for_grace(limit).await;
                match table.register(limit) {
                    Some(guard) => {
                        let (routes, stop) = (Arc::clone(routes), stop.clone());
                        threads.spawn(stream, move |stream| {
                            serve::serve_connection(routes, stream, guard, stop)
                        });
                    }
                    None => refuse_stream(&stream, table, app),
                }
                table.wait_for_room(limit).await;
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) if !is_lack_of_resources(&error) => {
                tracing::debug!(%error, "failed to accept a connection");
                // The error may persist, and must not keep a thread busy.
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => {
                if !is_failing {
                    tracing::error!(%error, "failed to accept a connection; closing idle ones");
                }
                is_failing = true;
                table.metrics.record_accept_failure();
                table.wait_for_grace(0).await;
                let limit = table.reduce(RETRY_PAUSE).await;
                caution = Some(Caution { limit, until: Instant::now() + CAUTION_TIME });
            }
        }
    }
}

/// A lower limit of connections after a failure to accept.
struct Caution {
    limit: usize,
    until: Instant,
}

/// Refuses a connection because every other one has a request in flight.
fn refuse_stream(stream: &TcpStream, table: &ConnectionTable, app: &HttpApp) {
    table.metrics.record_refusal(RefusalReason::Connections);
    if !app.tls.is_enabled() {
        // The client may not read it; the connection ends either way.
        let _ = stream.try_write(BUSY);
    }
}

/// Returns true if the error concerns only the connection that was about to be accepted.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// Returns true if the system lacks descriptors or memory, so that closing connections helps.
fn is_lack_of_resources(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| lacks.iter().any(|lack| lack.raw_os_error() == code))
}
