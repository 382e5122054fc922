//! The socket between the two stages, which is the standard input of the second. The first stage sends the spec and the
//! server's standard input; the second may answer with the listening socket of its proxy. While the first stage runs it
//! keeps its end open, so the second can see that it is gone.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::spec::SupervisorSpec;

/// One end of the socket.
pub(super) struct ControlSocket(UnixStream);

impl ControlSocket {
    /// Creates both ends. The second becomes the standard input of the second stage.
    pub(super) fn new_pair() -> io::Result<(Self, OwnedFd)> {
        let (own, other) = UnixStream::pair()?;
        Ok((Self(own), other.into()))
    }

    /// Takes the socket from standard input, which is then `/dev/null`.
    pub(super) fn take_stdin() -> io::Result<Self> {
        let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        Ok(Self(own.into()))
    }

    /// Sends the server's standard input and its spec.
    pub(super) fn send_spec(&self, stdin: BorrowedFd<'_>, spec: &SupervisorSpec) -> io::Result<()> {
        self.send_descriptor(stdin)?;
        (&self.0).write_all(&spec.to_bytes())
    }

    /// Receives what [`Self::send_spec`] sends.
    pub(super) fn receive_spec(&self) -> io::Result<(OwnedFd, SupervisorSpec)> {
        let stdin = self.receive_descriptor()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok((stdin, SupervisorSpec::read_from(&self.0)?))
    }

    /// Sends one byte with a descriptor.
    pub(super) fn send_descriptor(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor];
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(&self.0, &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
        Ok(())
    }

    /// Receives a descriptor. Returns `None` if the other end is closed.
    pub(super) fn receive_descriptor(&self) -> io::Result<Option<OwnedFd>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let message = recvmsg(
            &self.0,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        if message.bytes == 0 {
            return Ok(None);
        }
        let descriptors = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        descriptors.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Returns true if the other end is closed.
    pub(super) fn is_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_err() || fds[0].revents().contains(PollFlags::HUP)
    }

    /// Blocks until the other end is closed. Data of it is discarded.
    pub(super) fn wait_until_hung_up(&self) {
        let mut byte = [0];
        loop {
            match (&self.0).read(&mut byte) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}
