//! `/metrics`, `/healthz` and `/readyz` over HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use thalweg_broker::RunningBroker;
use tokio::net::TcpListener;

/// Connections served at a time; more wait.
const CONNECTIONS_MAX: usize = 16;

/// What is known of the broker.
#[derive(Clone, Default)]
pub(crate) struct Observer {
    broker: Arc<Mutex<Option<Weak<RunningBroker>>>>,
}

/// Listens at `address`, on the families that a listener of the broker has.
pub(crate) fn listen(address: &str) -> Result<TcpListener, String> {
    thalweg_broker::listen(address).map_err(|error| format!("{address}: {error}"))
}

impl Observer {
    /// The broker is ready.
    pub(crate) fn ready(&self, broker: &Arc<RunningBroker>) {
        *self.broker.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::downgrade(broker));
    }

    /// The broker is not ready any more.
    pub(crate) fn stopping(&self) {
        *self.broker.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn broker(&self) -> Option<Arc<RunningBroker>> {
        self.broker.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Weak::upgrade)
    }

    /// Serves in the background.
    pub(crate) fn serve(&self, listener: TcpListener) -> std::io::Result<SocketAddr> {
        let address = listener.local_addr()?;
        let observer = self.clone();
        let slots = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
        tokio::spawn(async move {
            loop {
                let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
                let stream = match listener.accept().await {
                    Ok((stream, _)) => stream,
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                };
                let observer = observer.clone();
                tokio::spawn(async move {
                    let answer = service_fn(|request: Request<Incoming>| {
                        let response = observer.answer(request.method(), request.uri().path());
                        async move { Ok::<_, Infallible>(response) }
                    });
                    let connection = hyper::server::conn::http1::Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(Duration::from_secs(10))
                        .max_buf_size(16 << 10)
                        .keep_alive(false)
                        .serve_connection(TokioIo::new(stream), answer);
                    let ended = tokio::time::timeout(Duration::from_secs(30), connection).await;
                    if let Ok(Err(error)) = ended {
                        tracing::debug!(%error, "metrics connection");
                    }
                    drop(slot);
                });
            }
        });
        Ok(address)
    }

    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let text = |status: StatusCode, kind: &'static str, body: String| {
            let mut response = Response::new(Full::new(Bytes::from(body)));
            *response.status_mut() = status;
            response
                .headers_mut()
                .insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
            response
        };
        const PLAIN: &str = "text/plain; charset=utf-8";
        if method != Method::GET && method != Method::HEAD {
            return text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET is served here\n".into());
        }
        match path {
            "/healthz" => text(StatusCode::OK, PLAIN, "ok\n".into()),
            "/readyz" => match self.broker() {
                Some(_) => text(StatusCode::OK, PLAIN, "ready\n".into()),
                None => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "not ready\n".into()),
            },
            "/metrics" => match self.broker() {
                Some(broker) => text(
                    StatusCode::OK,
                    "text/plain; version=0.0.4; charset=utf-8",
                    broker.metrics_text(),
                ),
                None => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "not ready\n".into()),
            },
            _ => text(
                StatusCode::NOT_FOUND,
                PLAIN,
                "there are /metrics, /healthz and /readyz\n".into(),
            ),
        }
    }
}
