//! A member's connection: a socket that never blocks, what was not written yet, what was not read to
//! the end of a frame, and which requests wait for their answers.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SocketFlags, SocketType, sockopt};

use super::member::Api;

/// The largest answer that is believed: that to the leader of ten thousand is a few MB.
const FRAME_MAX: usize = 256 << 20;
/// A buffer that grew for a large answer is given back above this.
const KEPT_MAX: usize = 4096;

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    pub api: Api,
    /// The member's generation or epoch when it was sent.
    pub epoch: i32,
    correlation: i32,
}

/// See the module.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
    /// What epoll reports; a socket that follows another has another.
    token: u64,
    input: Vec<u8>,
    output: Vec<u8>,
    in_flight: VecDeque<InFlight>,
    next_correlation: i32,
    is_writable_wanted: bool,
    is_connected: bool,
}

impl Link {
    /// Begins to connect.
    pub fn connect(addr: SocketAddr, epoll: BorrowedFd<'_>, token: u64) -> io::Result<Link> {
        let family = match addr {
            SocketAddr::V4(_) => rustix::net::AddressFamily::INET,
            SocketAddr::V6(_) => rustix::net::AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match rustix::net::connect(&socket, &addr) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let data = epoll::EventData::new_u64(token);
        epoll::add(epoll, &socket, data, epoll::EventFlags::OUT)?;
        Ok(Link {
            socket,
            token,
            input: Vec::new(),
            output: Vec::new(),
            in_flight: VecDeque::new(),
            next_correlation: 0,
            is_writable_wanted: true,
            is_connected: false,
        })
    }

    /// What epoll reports for it.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Whether TCP has connected.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// The socket became writable for the first time: whether that means connected.
    pub fn finish_connecting(&mut self) -> io::Result<()> {
        sockopt::socket_error(&self.socket)??;
        self.is_connected = true;
        Ok(())
    }

    /// A correlation id for a request that [`Link::queue`] is given next.
    pub fn enter(&mut self, api: Api, epoch: i32) -> i32 {
        let correlation = self.next_correlation;
        self.next_correlation = correlation.checked_add(1).unwrap_or(0);
        self.in_flight.push_back(InFlight { api, epoch, correlation });
        correlation
    }

    /// Where requests are written, one behind the other.
    pub fn queue(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Writes what it can; epoll says when there is room for the rest.
    pub fn flush(&mut self, epoll: BorrowedFd<'_>) -> io::Result<()> {
        let mut written = 0;
        while written < self.output.len() {
            match rustix::io::write(&self.socket, &self.output[written..]) {
                Ok(n) => written += n,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.output.drain(..written);
        if self.output.is_empty() && self.output.capacity() > KEPT_MAX {
            self.output = Vec::new();
        }
        let wants = !self.output.is_empty();
        if wants != self.is_writable_wanted {
            self.is_writable_wanted = wants;
            let flags = match wants {
                true => epoll::EventFlags::IN | epoll::EventFlags::OUT,
                false => epoll::EventFlags::IN,
            };
            epoll::modify(epoll, &self.socket, epoll::EventData::new_u64(self.token), flags)?;
        }
        Ok(())
    }

    /// Reads what is there into the input, through `scratch`; says whether the other side closed.
    pub fn fill(&mut self, scratch: &mut [u8]) -> io::Result<bool> {
        loop {
            match rustix::io::read(self.socket.as_fd(), &mut *scratch) {
                Ok(0) => return Ok(true),
                Ok(n) => {
                    self.input.extend_from_slice(&scratch[..n]);
                    if n < scratch.len() {
                        return Ok(false);
                    }
                }
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next whole answer in the input: what it answers, and what is behind its correlation id.
    pub fn next_answer(&mut self) -> Result<Option<(InFlight, Vec<u8>)>, String> {
        let Some((length, rest)) = self.input.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if !(4..=FRAME_MAX).contains(&length) {
            return Err(format!("answer of {length} bytes"));
        }
        let Some((correlation, body)) = rest.get(..length).and_then(|f| f.split_first_chunk::<4>())
        else {
            return Ok(None);
        };
        let correlation = i32::from_be_bytes(*correlation);
        let request = self.in_flight.pop_front().filter(|r| r.correlation == correlation);
        let request = request.ok_or_else(|| format!("answer {correlation} out of order"))?;
        let body = body.to_vec();
        self.input.drain(..4 + length);
        if self.input.is_empty() && self.input.capacity() > KEPT_MAX {
            self.input = Vec::new();
        }
        Ok(Some((request, body)))
    }
}
