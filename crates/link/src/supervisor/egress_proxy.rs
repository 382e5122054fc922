//! The proxy of a server that may reach listed hosts. It listens inside the server's network namespace and connects from
//! outside, in the supervisor.
//!
//! It understands `CONNECT host:port` only, which clients use for https. Requests for plain http get an error. The proxy
//! resolves names itself and refuses addresses of this machine and of private networks, unless an entry is that address:
//! a name of the internet must not lead to the machine or to the metadata service of a cloud.

use std::io::{self, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs,
};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::AllowedHost;

/// Connections at a time. Each takes two threads and two descriptors of the supervisor.
const MAX_CONNECTIONS: usize = 64;
const MAX_HEAD_BYTES: usize = 8 * 1024;
/// Maximum number of addresses that are tried for a name.
const MAX_ADDRESSES: usize = 4;
const HEAD_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Pause after a failed `accept`, such as with too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const STACK_BYTES: usize = 256 * 1024;

/// Answer to a request that is not forwarded.
struct ProxyRefusal {
    status: &'static str,
    reason: String,
}

fn refuse(status: &'static str, reason: impl Into<String>) -> ProxyRefusal {
    ProxyRefusal { status, reason: reason.into() }
}

/// Accepts connections forever.
pub(super) fn serve_proxy(listener: &TcpListener, hosts: &[AllowedHost]) {
    let hosts: Arc<[AllowedHost]> = hosts.into();
    let open = Arc::new(());
    loop {
        let Ok((client, _)) = listener.accept() else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        if Arc::strong_count(&open) > MAX_CONNECTIONS {
            let _ =
                send_refusal(&client, &refuse("503 Service Unavailable", "too many connections"));
            continue;
        }
        let (hosts, open) = (hosts.clone(), open.clone());
        let serve = move || {
            let _open = open;
            let _ = serve_client(client, &hosts);
        };
        let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn(serve);
    }
}

fn serve_client(client: TcpStream, hosts: &[AllowedHost]) -> io::Result<()> {
    client.set_read_timeout(Some(HEAD_LIMIT))?;
    client.set_write_timeout(Some(HEAD_LIMIT))?;
    let (head, rest) = read_head(&client)?;
    match connect_target(&head, hosts) {
        Ok(target) => {
            (&client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            client.set_read_timeout(None)?;
            client.set_write_timeout(None)?;
            (&target).write_all(&rest)?;
            copy_both_ways(&client, &target)
        }
        Err(refusal) => send_refusal(&client, &refusal),
    }
}

/// Reads the head of a request. Returns it, and what follows it.
fn read_head(mut client: &TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let ends = Instant::now() + HEAD_LIMIT;
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        if let Some(at) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let rest = head.split_off(at + 4);
            return Ok((head, rest));
        }
        if head.len() > MAX_HEAD_BYTES || Instant::now() > ends {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match client.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&chunk[..count]),
        }
    }
}

fn send_refusal(mut client: &TcpStream, refusal: &ProxyRefusal) -> io::Result<()> {
    let body = format!("vouch: {}\n", refusal.reason);
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        refusal.status,
        body.len()
    );
    client.write_all((head + &body).as_bytes())
}

/// Checks the request and connects to its target.
fn connect_target(head: &[u8], hosts: &[AllowedHost]) -> Result<TcpStream, ProxyRefusal> {
    let line = head.split(|byte| *byte == b'\r').next().and_then(|line| str::from_utf8(line).ok());
    let mut words = line.unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "CONNECT" {
        return Err(refuse("501 Not Implemented", "only https is forwarded (CONNECT)"));
    }
    let target: AllowedHost =
        target.parse().map_err(|error: String| refuse("400 Bad Request", error))?;
    if !hosts.contains(&target) {
        let reason = format!("{target} is not in the sandbox's `network`");
        return Err(refuse("403 Forbidden", reason));
    }
    let addresses = resolve_addresses(&target)?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let cause = last.map(|error| error.to_string()).unwrap_or_default();
    Err(refuse("502 Bad Gateway", format!("failed to connect to {target} ({cause})")))
}

/// Returns the addresses of a host that may be connected to.
fn resolve_addresses(target: &AllowedHost) -> Result<Vec<SocketAddr>, ProxyRefusal> {
    if let Ok(address) = target.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, target.port)]);
    }
    let found = (target.host.as_str(), target.port).to_socket_addrs().map_err(|error| {
        refuse("502 Bad Gateway", format!("failed to resolve {} ({error})", target.host))
    })?;
    let (public, private): (Vec<_>, Vec<_>) = found.partition(|address| is_public(address.ip()));
    if public.is_empty() && !private.is_empty() {
        let reason = format!(
            "{} has only addresses of this machine or of a private network; list the address itself in `network`",
            target.host
        );
        return Err(refuse("403 Forbidden", reason));
    }
    Ok(public.into_iter().take(MAX_ADDRESSES).collect())
}

/// Returns true for addresses of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && b & 0xfe == 18);
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match [a, b, c, d, e, f] {
        // Unspecified, loopback, and IPv4 in IPv6: compatible and mapped.
        [0, 0, 0, 0, 0, 0 | 0xffff] => f == 0xffff && embedded(g, h),
        // IPv4 behind a translator (NAT64), and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0] => embedded(g, h),
        [0x64, 0xff9b, ..] => false,
        [0x2002, ..] => embedded(b, c),
        // Teredo, and documentation.
        [0x2001, 0 | 0xdb8, ..] => false,
        // Global unicast is 2000::/3. The rest is link-local, site-local, unique local, multicast, or unassigned.
        _ => a & 0xe000 == 0x2000,
    }
}

/// Copies until both directions have ended.
fn copy_both_ways(client: &TcpStream, target: &TcpStream) -> io::Result<()> {
    let (client_out, target_in) = (client.try_clone()?, target.try_clone()?);
    let answers = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        copy_direction(&target_in, &client_out);
    })?;
    copy_direction(client, target);
    let _ = answers.join();
    Ok(())
}

/// Copies one direction to its end, and passes the end on. After an error, both directions end.
fn copy_direction(mut from: &TcpStream, mut to: &TcpStream) {
    match io::copy(&mut from, &mut to) {
        Ok(_) => {
            let _ = to.shutdown(Shutdown::Write);
        }
        Err(_) => {
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for address in
            ["1.1.1.1", "140.82.121.6", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"]
        {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001:0:1::",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
