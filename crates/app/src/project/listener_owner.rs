//! Finds out whether a local port belongs to another user, so that the token of a project is not sent to that user.
//!
//! Any user may listen on a port of loopback. The kernel lists the owner of every listening socket.

use rustix::process::geteuid;

/// State of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// Returns true if a user other than this one and root listens on the port. Returns false where the kernel does not say.
pub fn is_foreign_port(port: u16) -> bool {
    let own = geteuid().as_raw();
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|path| {
        let sockets = std::fs::read_to_string(path).unwrap_or_default();
        find_listeners(&sockets, port).any(|owner| owner != own && owner != 0)
    })
}

/// Returns the owners of the sockets that listen on the port, at any address.
fn find_listeners(sockets: &str, port: u16) -> impl Iterator<Item = u32> {
    sockets.lines().skip(1).filter_map(move |line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [_, local, _, state, _, _, _, owner, ..] = fields[..] else { return None };
        let (_, local_port) = local.rsplit_once(':')?;
        let is_listener =
            state == LISTENING && u16::from_str_radix(local_port, 16).is_ok_and(|it| it == port);
        owner.parse().ok().filter(|_| is_listener)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKETS: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:20B9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0200007F:20BA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 12 1 0 100 0 0 10 0
   2: 0100007F:20BA 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1002        0 13 1 0 100 0 0 10 0
   3: 00000000000000000000000001000000:20BB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 7 0 14
   broken line
";

    #[test]
    fn finds_owners_of_listening_sockets() {
        let owners = |port| find_listeners(SOCKETS, port).collect::<Vec<_>>();
        assert_eq!(owners(0x20B9), [1000]);
        assert_eq!(owners(0x20BA), [1001], "a connection is not a listener");
        assert_eq!(owners(0x20BB), [7]);
        assert_eq!(owners(1), [0_u32; 0]);
    }

    #[test]
    fn own_port_is_not_foreign() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(!is_foreign_port(listener.local_addr().unwrap().port()));
    }
}
