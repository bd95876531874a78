//! Which requests are let in.
//!
//! | checked | against | else |
//! |---|---|---|
//! | method | GET, HEAD | 405 |
//! | `Host` | `localhost`, a loopback address, the address that is served: a page of another site that has its name point here is refused | 403 |
//! | token, if there is one: `?token=`, `Authorization: Bearer`, or the cookie that the page got for it | compared in constant time | 401 |
//!
//! No answer has a header that lets pages of other sites read it.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

/// What must be so of a request.
#[derive(Debug)]
pub(super) struct Door {
    /// As it was typed, without its port.
    host: String,
    address: SocketAddr,
    token: Option<String>,
}

impl Door {
    pub(super) fn new(host: &str, address: SocketAddr, token: Option<String>) -> Self {
        Self { host: without_brackets(host).to_ascii_lowercase(), address, token }
    }

    /// Why a request is refused.
    fn refuses(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<StatusCode> {
        if ![Method::GET, Method::HEAD].contains(method) {
            return Some(StatusCode::METHOD_NOT_ALLOWED);
        }
        // HTTP/1.1 has it once; a request with several means one thing to us and another to a proxy.
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let is_ours = host.is_some_and(|host| self.is_ours(host)) && hosts.next().is_none();
        if !is_ours {
            return Some(StatusCode::FORBIDDEN);
        }
        let token = self.token.as_ref()?;
        let is_right = |given: &str| bool::from(given.as_bytes().ct_eq(token.as_bytes()));
        let mut given = in_query(uri).into_iter().chain(in_headers(headers, &self.cookie()));
        (!given.any(is_right)).then_some(StatusCode::UNAUTHORIZED)
    }

    /// The name of the cookie: cookies of one host are seen by all its ports.
    fn cookie(&self) -> String {
        format!("kahn-{}", self.address.port())
    }

    fn is_ours(&self, host: &str) -> bool {
        let name = without_port(host);
        let name = without_brackets(name).to_ascii_lowercase();
        let address = name.parse::<IpAddr>().ok();
        name == "localhost"
            || name == self.host
            || address.is_some_and(|address| address.is_loopback() || address == self.address.ip())
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !is_open(name) => {
            name
        }
        _ => host,
    }
}

/// Whether this is the beginning of an address in brackets.
fn is_open(name: &str) -> bool {
    name.starts_with('[') && !name.ends_with(']')
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn in_query(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

fn in_headers<'a>(headers: &'a HeaderMap, cookie: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let prefix = format!("{cookie}=");
    let cookies = cookies.flat_map(|cookies| cookies.split(';'));
    let cookies = cookies.filter_map(move |one| one.trim().strip_prefix(&prefix));
    bearer.and_then(|value| value.strip_prefix("Bearer ")).into_iter().chain(cookies)
}

/// Lets a request in or refuses it, and says to browsers what the answer may do.
pub(super) async fn guard(door: Arc<Door>, request: Request, next: Next) -> Response {
    let refused = door.refuses(request.method(), request.uri(), request.headers());
    let by_query = in_query(request.uri()).is_some() && door.token.is_some();
    let mut response = match refused {
        Some(StatusCode::FORBIDDEN) => {
            (StatusCode::FORBIDDEN, "this host is not served: see --serve\n").into_response()
        }
        Some(StatusCode::UNAUTHORIZED) => {
            (StatusCode::UNAUTHORIZED, "the token is missing or wrong\n").into_response()
        }
        Some(status) => (status, [(header::ALLOW, "GET, HEAD")]).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if refused.is_none()
        && by_query
        && let Some(token) = &door.token
    {
        let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", door.cookie());
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.insert(header::SET_COOKIE, cookie);
        }
    }
    response
}
