//! Records from a stream of bytes, taken apart by what stands between them.

use std::io::{self, Read};

use tokio::sync::mpsc;

/// Bytes of one read.
const READ: usize = 64 << 10;
/// Blocks that wait to be sent.
const AHEAD: usize = 8;

/// Whole records, each of which ends where the next begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    bytes: Vec<u8>,
    /// Where each ends, what stands behind it not counted, and where the next begins.
    ends: Vec<(usize, usize)>,
    /// Bytes that were read for it.
    pub read: u64,
}

impl Block {
    /// The records.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        let mut begin = 0;
        self.ends.iter().map(move |&(end, next)| {
            let record = &self.bytes[begin..end];
            begin = next;
            record
        })
    }
}

/// Reads on a thread of its own, which waits when nobody takes what it read. What is there is
/// handed over at once, as who types wants.
pub fn read(
    source: impl Read + Send + 'static,
    delimiter: Vec<u8>,
    record_max: usize,
) -> mpsc::Receiver<io::Result<Block>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    std::thread::spawn(move || {
        let mut splitter = Splitter::new(delimiter, record_max);
        let mut source = source;
        loop {
            let block = splitter.next(&mut source);
            let is_last = !matches!(&block, Ok(Some(_)));
            let sent = match block.transpose() {
                // Whoever does not take it any more does not want the rest either.
                Some(block) => sender.blocking_send(block).is_ok(),
                None => true,
            };
            if is_last || !sent {
                return;
            }
        }
    });
    receiver
}

/// Takes a stream apart.
struct Splitter {
    delimiter: Vec<u8>,
    record_max: usize,
    /// The beginning of a record whose end was not read yet.
    rest: Vec<u8>,
    is_over: bool,
}

impl Splitter {
    fn new(delimiter: Vec<u8>, record_max: usize) -> Splitter {
        Splitter { delimiter, record_max, rest: Vec::new(), is_over: false }
    }

    /// The next records; `None` at the end. A last record needs nothing behind it, and what is
    /// empty there is none.
    fn next(&mut self, source: &mut impl Read) -> io::Result<Option<Block>> {
        let mut block = Block::default();
        while block.ends.is_empty() {
            if self.is_over {
                return Ok(None);
            }
            let mut bytes = std::mem::take(&mut self.rest);
            let known = bytes.len();
            bytes.resize(known + READ, 0);
            let n = loop {
                match source.read(&mut bytes[known..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            bytes.truncate(known + n);
            block.read += n as u64;
            let mut begin = 0;
            // What stands between records may have begun in what was known before.
            let mut look_from = known.saturating_sub(self.delimiter.len().saturating_sub(1));
            while let Some(at) = find(&bytes[look_from..], &self.delimiter) {
                let end = look_from + at;
                begin = end + self.delimiter.len();
                block.ends.push((end, begin));
                look_from = begin;
            }
            if n == 0 {
                self.is_over = true;
                if begin < bytes.len() {
                    block.ends.push((bytes.len(), bytes.len()));
                    begin = bytes.len();
                }
            }
            self.rest = bytes.split_off(begin);
            if self.rest.len() > self.record_max {
                let text = format!("a record is longer than {} bytes", self.record_max);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            block.bytes = bytes;
            if self.is_over && block.ends.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(block))
    }
}

/// Where `what` begins in `bytes`.
pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let (&first, others) = what.split_first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == first) {
        let begin = from + at;
        if bytes[begin + 1..].starts_with(others) {
            return Some(begin);
        }
        from = begin + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buf.len());
            let n = n.min(self.0.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn split(text: &str, delimiter: &str, at_once: usize) -> Vec<String> {
        let mut splitter = Splitter::new(delimiter.as_bytes().to_vec(), 1_000);
        let mut source = Trickle(text.as_bytes(), at_once);
        let mut records = Vec::new();
        let mut read = 0;
        while let Some(block) = splitter.next(&mut source).unwrap() {
            read += block.read;
            records.extend(block.records().map(|record| String::from_utf8_lossy(record).into()));
        }
        assert_eq!(read as usize, text.len());
        records
    }

    #[test]
    fn records_are_found_however_little_is_read_at_once() {
        for at_once in [1, 2, 3, 7, 1_000] {
            assert_eq!(split("a\nbc\n\nd", "\n", at_once), ["a", "bc", "", "d"]);
            assert_eq!(split("a\n", "\n", at_once), ["a"]);
            assert_eq!(split("", "\n", at_once), [""; 0]);
            assert_eq!(split("a<>b<<>c<", "<>", at_once), ["a", "b<", "c<"]);
        }
    }

    #[test]
    fn a_record_without_an_end_is_not_kept_for_ever() {
        let mut splitter = Splitter::new(b"\n".to_vec(), 1_000);
        let long = vec![b'x'; 300_000];
        assert!(splitter.next(&mut Trickle(&long, 400)).is_err());
    }
}
