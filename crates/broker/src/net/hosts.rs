//! What host names stand for: addresses to listen on, addresses to connect to, and this machine's own name.
//!
//! A listener has one address, the one that Kafka takes: Java puts a name's IPv4 addresses first. Its other addresses
//! are not bound, because they need not be this machine's. Kafka's wildcard is one socket for IPv4 and IPv6, whether
//! the host is empty, `0.0.0.0` or `::`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};

/// Connections of [`listen`] that wait to be accepted.
const BACKLOG: u32 = 128;

/// An address of both families, and no address to connect to.
pub(crate) fn is_wildcard(host: &str) -> bool {
    host.trim().is_empty() || host.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified())
}

/// The addresses of a name in Java's order: IPv4 first, otherwise as the system says.
fn in_kafkas_order(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses
}

/// Where a listener with this host listens.
fn listen_address(host: &str, port: u16) -> io::Result<SocketAddr> {
    if is_wildcard(host) {
        return Ok((Ipv6Addr::UNSPECIFIED, port).into());
    }
    let found = in_kafkas_order((host, port).to_socket_addrs()?.collect());
    found.first().copied().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// A socket that is bound for a listener with this host. `prepare` sets its options before that.
pub(crate) fn bind(
    host: &str,
    port: u16,
    prepare: impl Fn(&TcpSocket) -> io::Result<()>,
) -> io::Result<TcpSocket> {
    let bind = |address: SocketAddr| {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if address.is_ipv6() && address.ip().is_unspecified() {
            // Whatever net.ipv6.bindv6only says.
            rustix::net::sockopt::set_ipv6_v6only(&socket, false)?;
        }
        socket.set_reuseaddr(true)?;
        prepare(&socket)?;
        socket.bind(address)?;
        Ok(socket)
    };
    match bind(listen_address(host, port)?) {
        // The system has no IPv6.
        Err(error) if is_wildcard(host) && lacks_family(&error) => {
            bind((Ipv4Addr::UNSPECIFIED, port).into())
        }
        bound => bound,
    }
}

/// Listens at `HOST:PORT` as a listener with that host does: for other servers of the broker's process. Needs a tokio
/// runtime.
pub fn listen(address: &str) -> io::Result<TcpListener> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidInput, "not of the form HOST:PORT");
    let (host, port) = address.rsplit_once(':').ok_or_else(malformed)?;
    let port = port.parse().map_err(|_| malformed())?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bind(host, port, |_| Ok(()))?.listen(BACKLOG)
}

fn lacks_family(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL | Errno::PROTONOSUPPORT))
}

/// The address of a peer as its own family writes it: a socket of both families calls IPv4 peers `::ffff:a.b.c.d`.
pub(crate) fn canonical_peer(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

/// Connects to the first address of a name that answers. Each address gets a share of the time, so that a silent one
/// leaves some for the others.
pub(crate) async fn connect(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let until = Instant::now() + within;
    let found = timeout(within, tokio::net::lookup_host((host, port))).await??.collect();
    connect_one_of(&in_kafkas_order(found), until).await
}

async fn connect_one_of(addresses: &[SocketAddr], until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (at, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
        let share = until.saturating_duration_since(Instant::now()) / left;
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// This machine's name for other machines, as Java's `InetAddress.getLocalHost().getCanonicalHostName()` finds it: the
/// name of the first address of the host name if that name leads back to the address, the address otherwise.
///
/// Without an address of the host name Kafka does not start; here the host name is taken.
pub(crate) fn canonical_name() -> String {
    let name = rustix::system::uname().nodename().to_str().unwrap_or("localhost").to_owned();
    canonical_name_of(name, &addresses_of, &|ip| dns_lookup::lookup_addr(&ip).ok())
}

fn addresses_of(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    in_kafkas_order(found).into_iter().map(|address| address.ip()).collect()
}

fn canonical_name_of(
    name: String,
    addresses_of: &dyn Fn(&str) -> Vec<IpAddr>,
    name_of: &dyn Fn(IpAddr) -> Option<String>,
) -> String {
    let Some(address) = addresses_of(&name).first().copied() else { return name };
    match name_of(address) {
        Some(found) if addresses_of(&found).contains(&address) => found,
        _ => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::Hooks;
    use crate::testing::Node;

    #[test]
    fn a_name_of_both_families_is_bound_on_ipv4() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let found = ["[::1]:9092", "127.0.0.1:9092", "[fe80::1]:9092", "10.0.0.1:9092"];
        let ordered = in_kafkas_order(found.iter().map(|text| address(text)).collect());
        let expected = ["127.0.0.1:9092", "10.0.0.1:9092", "[::1]:9092", "[fe80::1]:9092"];
        assert_eq!(ordered, expected.map(address));
        // Where the system names both, this is the one.
        assert_eq!(listen_address("localhost", 9092).unwrap(), address("127.0.0.1:9092"));
    }

    /// Whether this machine has IPv6 on its loopback interface.
    fn has_ipv6() -> bool {
        std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
    }

    #[tokio::test]
    async fn a_wildcard_is_reached_over_both_families() {
        for host in ["", "0.0.0.0", "::", " "] {
            let socket = bind(host, 0, |_| Ok(())).unwrap();
            let port = socket.local_addr().unwrap().port();
            let listening = socket.listen(5).unwrap();
            let mut loopbacks: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into()];
            loopbacks.extend(has_ipv6().then_some(IpAddr::from(Ipv6Addr::LOCALHOST)));
            for ip in loopbacks {
                let (connected, accepted) =
                    tokio::join!(TcpStream::connect((ip, port)), listening.accept());
                connected.unwrap();
                assert_eq!(canonical_peer(accepted.unwrap().1).ip(), ip, "{host:?}");
            }
        }
    }

    /// A limit of an IPv4 address holds for peers that come over the socket of both families.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_peer_of_a_wildcard_listener_has_its_own_address() {
        let configs =
            [("listeners", "PLAINTEXT://:0"), ("max.connections.per.ip.overrides", "127.0.0.1:0")];
        let node = Node::start_with(&configs, &[""], Hooks::default()).await;
        let port = node.port();
        let read = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.read(&mut [0; 1])
        });
        let read = read.await.unwrap();
        assert!(read.as_ref().is_ok_and(|read| *read == 0), "not closed: {read:?}");
        node.shut_down().await;
    }

    #[tokio::test]
    async fn an_address_that_refuses_is_followed_by_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = refused.local_addr().unwrap();
        drop(refused);
        let open = listener.local_addr().unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        let stream = connect_one_of(&[closed, open], until).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), open);
        let error = connect_one_of(&[closed], until).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let error = connect_one_of(&[], until).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn an_address_to_listen_at_is_read_like_a_listeners() {
        for (text, is_dual) in [("127.0.0.1:0", false), (":0", true), ("[::]:0", true)] {
            let address = listen(text).unwrap().local_addr().unwrap();
            assert_eq!(address.ip().is_unspecified(), is_dual, "{text}: {address}");
        }
        for text in ["127.0.0.1", "127.0.0.1:x", ""] {
            let error = listen(text).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{text}");
        }
    }

    #[test]
    fn the_canonical_name_leads_back_to_the_address() {
        let ip: IpAddr = "10.0.0.7".parse().unwrap();
        let other: IpAddr = "10.0.0.8".parse().unwrap();
        let addresses = |name: &str| match name {
            "broker" | "broker.example" => vec![ip],
            "elsewhere.example" => vec![other],
            _ => Vec::new(),
        };
        let canonical = |host: &str, reverse: Option<&str>| {
            let reverse = reverse.map(str::to_owned);
            canonical_name_of(host.into(), &addresses, &|_| reverse.clone())
        };
        assert_eq!(canonical("broker", Some("broker.example")), "broker.example");
        assert_eq!(canonical("broker", Some("elsewhere.example")), "10.0.0.7");
        assert_eq!(canonical("broker", None), "10.0.0.7");
        assert_eq!(canonical("unknown", Some("broker.example")), "unknown");
    }
}
