//! Brings up the loopback interface of a new network namespace. Many servers listen on 127.0.0.1 for their own processes.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
/// The loopback interface is the first of every network namespace.
const LOOPBACK_INDEX: i32 = 1;
const MESSAGE_BYTES: u32 = 32;

/// Brings up the loopback interface of the current network namespace. Requires `CAP_NET_ADMIN` in it.
pub(super) fn bring_up_loopback() -> io::Result<()> {
    // Protocol 0 is `NETLINK_ROUTE`.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // `struct nlmsghdr`: length, type, flags, sequence number, port.
    let mut message = MESSAGE_BYTES.to_ne_bytes().to_vec();
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    message.extend([0; 8]);
    // `struct ifinfomsg`: family, padding, type, index, flags, mask of the flags to change.
    message.extend([0; 4]);
    message.extend(LOOPBACK_INDEX.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 256];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let kind = answer.get(4..6).and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)));
    let error =
        answer.get(16..20).and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    match (kind, error) {
        (Some(NLMSG_ERROR), Some(0)) if length >= 20 => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) if length >= 20 => {
            Err(io::Error::from_raw_os_error(error.saturating_neg()))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
