//! Threads that serve connections, each with a runtime of its own.
//!
//! The SDK spawns three tasks for a request. On a runtime with several threads, each of them wakes another thread, which
//! finds nothing to do or takes the task and wakes the first one again: half of the processor time of a short call. On a
//! thread of its own, a request stays where its connection is.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

use crate::blocking;

/// The threads that serve connections. Dropping it ends them, and what they still serve.
pub(crate) struct ConnectionThreads {
    threads: Vec<ConnectionThread>,
    end: CancellationToken,
}

struct ConnectionThread {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

impl ConnectionThreads {
    /// Starts as many threads as the current runtime has. If it has only the current one, connections are served there.
    pub(crate) fn start() -> Self {
        let current = Handle::current();
        let count = match current.runtime_flavor() {
            RuntimeFlavor::CurrentThread => 0,
            _ => current.metrics().num_workers(),
        };
        Self::start_some(count, thread::Builder::new)
    }

    /// Starts `count` threads, or as many as the system allows.
    fn start_some(count: usize, builder: impl Fn() -> thread::Builder) -> Self {
        let mut started = Self { threads: Vec::new(), end: CancellationToken::new() };
        for _ in 0..count {
            match start_thread(builder(), started.end.clone()) {
                Ok(thread) => started.threads.push(thread),
                Err(error) => {
                    let threads = started.threads.len();
                    tracing::warn!(%error, threads, "failed to start a thread; connections share fewer");
                    break;
                }
            }
        }
        started
    }

    /// Serves a connection on the thread with the fewest connections.
    pub(super) fn spawn<S, F>(&self, stream: TcpStream, serve: S)
    where
        S: FnOnce(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let thread =
            self.threads.iter().min_by_key(|thread| thread.connections.load(Ordering::Relaxed));
        let Some(thread) = thread else {
            tokio::spawn(serve(stream));
            return;
        };
        let load = ThreadLoad::new(&thread.connections);
        // The stream is known to this runtime, and has to be registered with the other one.
        let stream = stream.into_std();
        thread.runtime.spawn(async move {
            match stream.and_then(TcpStream::from_std) {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::error!(%error, "failed to register a connection"),
            }
            drop(load);
        });
    }
}

impl Drop for ConnectionThreads {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// Starts a thread that runs tasks until `end` is cancelled. Their blocking code runs on the pool of the current runtime.
fn start_thread(builder: thread::Builder, end: CancellationToken) -> io::Result<ConnectionThread> {
    let pool = Handle::current();
    let (sender, started) = mpsc::channel();
    // The runtime is created on its thread: if that cannot be started, it would be dropped here, which panics.
    let serve = move || {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(sender.send(Err(error))),
        };
        blocking::use_pool(pool);
        // The receiver waits for it.
        let _ = sender.send(Ok(runtime.handle().clone()));
        runtime.block_on(end.cancelled());
        // A tool that is still running must not keep the thread.
        runtime.shutdown_background();
    };
    builder.name("vouch-http".into()).spawn(serve)?;
    let runtime = started.recv().map_err(io::Error::other)??;
    Ok(ConnectionThread { runtime, connections: Arc::default() })
}

/// One connection of a thread, until dropped.
struct ThreadLoad(Arc<AtomicUsize>);

impl ThreadLoad {
    fn new(connections: &Arc<AtomicUsize>) -> Self {
        connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(connections))
    }
}

impl Drop for ThreadLoad {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
    async fn spreads_connections_and_ends_them_when_dropped() {
        let threads = ConnectionThreads::start();
        assert_eq!(threads.threads.len(), 3);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, mut served_on) = mpsc::unbounded_channel();
        let mut serve = async || {
            let client = TcpStream::connect(address).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let sender = sender.clone();
            threads.spawn(stream, async move |stream: TcpStream| {
                sender.send(thread::current().id()).unwrap();
                let _ = stream.readable().await;
            });
            (client, served_on.recv().await.unwrap())
        };
        let mut open = Vec::new();
        for _ in 0..6 {
            open.push(serve().await);
        }
        for (_, thread) in &open {
            assert_eq!(open.iter().filter(|(_, other)| other == thread).count(), 2);
        }
        // A thread whose connections have ended gets the next one.
        let free = open[0].1;
        open.retain(|(_, thread)| *thread != free);
        while threads.threads.iter().all(|it| it.connections.load(Ordering::Relaxed) == 2) {
            tokio::task::yield_now().await;
        }
        assert_eq!(serve().await.1, free);
        drop(threads);
        drop(sender);
        assert_eq!(served_on.recv().await, None);
    }

    /// The stack is larger than the address space.
    fn impossible_thread() -> thread::Builder {
        thread::Builder::new().stack_size(1 << 60)
    }

    #[tokio::test]
    async fn serves_on_the_current_thread_if_there_is_no_other() {
        for threads in
            [ConnectionThreads::start(), ConnectionThreads::start_some(2, impossible_thread)]
        {
            assert!(threads.threads.is_empty());
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let (sender, served_on) = tokio::sync::oneshot::channel();
            threads.spawn(stream, async move |_| sender.send(thread::current().id()).unwrap());
            assert_eq!(served_on.await.unwrap(), thread::current().id());
        }
    }

    /// Otherwise the maximum number of blocking threads would grow with the number of these threads.
    #[test]
    fn blocking_code_runs_on_the_pool_of_the_server() {
        let mut builder = Builder::new_multi_thread();
        let server = builder.worker_threads(2).thread_name("server").enable_all().build().unwrap();
        let name = server.block_on(async {
            let threads = ConnectionThreads::start();
            let name = || thread::current().name().map(str::to_owned);
            let work = threads.threads[0].runtime.spawn(blocking::spawn_blocking(name));
            work.await.unwrap().unwrap()
        });
        assert_eq!(name.as_deref(), Some("server"));
    }
}
