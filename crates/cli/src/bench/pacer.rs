//! Waiting for a point in time to within some microseconds. The runtime's own timers round up to
//! a millisecond, which would show in every latency.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// A timer of one task.
pub struct Pacer {
    timer: AsyncFd<OwnedFd>,
}

impl Pacer {
    /// A timer on the runtime that this is called from.
    pub fn new() -> io::Result<Pacer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: an `OwnedFd` names the same open descriptor for as long as it lives, and the
        // `AsyncFd` owns it.
        let timer = unsafe { AsyncFd::register(timer) }?;
        Ok(Pacer { timer })
    }

    /// Returns at `at`, or at once when that has passed.
    pub async fn wait_until(&mut self, at: Instant) -> io::Result<()> {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let once = Itimerspec {
                it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
                it_value: Timespec {
                    tv_sec: left.as_secs() as _,
                    tv_nsec: left.subsec_nanos().into(),
                },
            };
            timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            let mut ready = self.timer.readable().await?;
            // Whether it has fired or was not ready after all: the clock decides.
            if let Ok(read) =
                ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut [0u8; 8])?))
            {
                read?;
            }
        }
    }
}
