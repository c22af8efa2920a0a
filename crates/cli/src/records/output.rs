//! What `thalweg consume` prints: bytes, and which records are in them.
//!
//! A thread writes to standard output, because a pipe whose reader is slow blocks its writer. The
//! group's heartbeats, and signals, do not wait for that reader.
//!
//! Invariant: the records from [`Output::unwritten`] on are not written as a whole. They are not to be
//! committed.

use std::collections::HashMap;
use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thalweg::TopicPartition;
use tokio::sync::mpsc;

use crate::client::CliError;

/// The writing thread, and the bytes that it gets next.
pub struct Output {
    /// Bytes for the next [`Self::flush`].
    pub bytes: Vec<u8>,
    /// The first record of each partition of which not all bytes are written.
    unwritten: HashMap<TopicPartition, i64>,
    to_thread: mpsc::Sender<Vec<u8>>,
    from_thread: mpsc::Receiver<io::Result<()>>,
    is_writing: bool,
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Output {
        Output::new(io::stdout())
    }

    fn new(mut to: impl Write + Send + 'static) -> Output {
        let (to_thread, mut buffers) = mpsc::channel::<Vec<u8>>(1);
        let (done, from_thread) = mpsc::channel(1);
        // Nothing ends a blocked write, so nothing waits for this thread.
        std::thread::spawn(move || {
            while let Some(bytes) = buffers.blocking_recv() {
                let written = to.write_all(&bytes).and_then(|()| to.flush());
                if done.blocking_send(written).is_err() {
                    return;
                }
            }
        });
        Output {
            bytes: Vec::new(),
            unwritten: HashMap::new(),
            to_thread,
            from_thread,
            is_writing: false,
        }
    }

    /// The record that is printed next.
    pub fn begin(&mut self, partition: &TopicPartition, offset: i64) {
        if !self.unwritten.contains_key(partition) {
            self.unwritten.insert(partition.clone(), offset);
        }
    }

    /// The first record of each partition that is not written as a whole.
    pub fn unwritten(&self) -> impl Iterator<Item = (&TopicPartition, i64)> {
        self.unwritten.iter().map(|(partition, offset)| (partition, *offset))
    }

    /// Writes what there is, and waits for it. May be cancelled and called again.
    ///
    /// # Errors
    /// [`CliError::Closed`] once nothing reads the output any more; others of the output.
    pub async fn flush(&mut self) -> Result<(), CliError> {
        let ended = || CliError::Failed("the thread that writes the output ended".into());
        if !self.bytes.is_empty() && !self.is_writing {
            self.to_thread.try_send(std::mem::take(&mut self.bytes)).map_err(|_| ended())?;
            self.is_writing = true;
        }
        if self.is_writing {
            let written = self.from_thread.recv().await.ok_or_else(ended)?;
            self.is_writing = false;
            written.map_err(|error| CliError::output(&error))?;
        }
        self.unwritten.clear();
        Ok(())
    }

    /// Fails once nothing reads standard output any more, as after `| head`: without a record to
    /// write no write would say it.
    pub fn check(&self) -> Result<(), CliError> {
        let stdout = io::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let gone = PollFlags::ERR | PollFlags::HUP;
        match poll(&mut fds, Some(&now)) {
            Ok(1..) if fds[0].revents().intersects(gone) => Err(CliError::Closed),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many writes, and fails from then on.
    struct Takes(u32);

    impl Write for Takes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn records_of_a_failed_write_stay_unwritten() {
        let mut output = Output::new(Takes(1));
        let partition = TopicPartition::new("t", 0);
        for offset in [5, 6] {
            output.begin(&partition, offset);
            output.bytes.push(b'x');
        }
        assert_eq!(output.unwritten().collect::<Vec<_>>(), [(&partition, 5)]);
        output.flush().await.unwrap();
        assert_eq!(output.unwritten().count(), 0);
        for offset in [7, 8] {
            output.begin(&partition, offset);
            output.bytes.push(b'x');
        }
        assert!(matches!(output.flush().await, Err(CliError::Closed)));
        assert_eq!(output.unwritten().collect::<Vec<_>>(), [(&partition, 7)]);
    }
}
