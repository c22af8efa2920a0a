//! Records from a stream of bytes, taken apart by what stands between them.

use std::io::{self, Read};

use tokio::sync::mpsc;

/// Bytes of one read.
const READ: usize = 64 << 10;
/// Blocks that wait to be sent: so many, or one where records may be so large that they could have
/// more bytes than this together.
const AHEAD: usize = 8;
const AHEAD_BYTES: usize = 32 << 20;

/// One of the records that were read.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// What is in it.
    Record(&'a [u8]),
    /// It is longer than wanted, and was let go; so many bytes long.
    TooLong(u64),
}

/// Where a record ends in a [`Block`].
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    /// What stands behind the record not counted.
    end: usize,
    /// Where the next begins.
    next: usize,
    /// Bytes of a record that is too long, not all of which are there.
    too_long: Option<u64>,
}

/// Whole records, each of which ends where the next begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    bytes: Vec<u8>,
    cuts: Vec<Cut>,
    /// Bytes that were read for it.
    pub read: u64,
}

impl Block {
    /// The records.
    pub fn records(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut begin = 0;
        self.cuts.iter().map(move |cut| {
            let record = &self.bytes[begin..cut.end];
            begin = cut.next;
            cut.too_long.map_or(Piece::Record(record), Piece::TooLong)
        })
    }
}

/// Reads on a thread of its own, which waits when nobody takes what it read. What is there is
/// handed over at once, as who types wants. Of a record that is longer than `record_max` no more
/// than that is kept.
pub fn read(
    source: impl Read + Send + 'static,
    delimiter: Vec<u8>,
    record_max: usize,
) -> mpsc::Receiver<io::Result<Block>> {
    let ahead = if record_max > AHEAD_BYTES / AHEAD { 1 } else { AHEAD };
    let (sender, receiver) = mpsc::channel(ahead);
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
    /// The beginning of a record whose end was not read yet; its last bytes, if some were let go.
    rest: Vec<u8>,
    /// Bytes of that record that were let go, because it is too long.
    gone: u64,
    is_over: bool,
}

impl Splitter {
    fn new(delimiter: Vec<u8>, record_max: usize) -> Splitter {
        Splitter { delimiter, record_max, rest: Vec::new(), gone: 0, is_over: false }
    }

    /// The next records; `None` at the end. A last record needs nothing behind it, and what is
    /// empty there is none.
    fn next(&mut self, source: &mut impl Read) -> io::Result<Option<Block>> {
        let mut block = Block::default();
        while block.cuts.is_empty() {
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
                let next = end + self.delimiter.len();
                block.cuts.push(self.cut(begin, end, next));
                begin = next;
                look_from = begin;
            }
            if n == 0 {
                self.is_over = true;
                if begin < bytes.len() || self.gone > 0 {
                    block.cuts.push(self.cut(begin, bytes.len(), bytes.len()));
                    begin = bytes.len();
                }
            }
            self.rest = bytes.split_off(begin);
            self.let_go();
            block.bytes = bytes;
        }
        Ok(Some(block))
    }

    /// A record that ends.
    fn cut(&mut self, begin: usize, end: usize, next: usize) -> Cut {
        let kept = end - begin;
        let gone = std::mem::take(&mut self.gone);
        let is_too_long = gone > 0 || kept > self.record_max;
        Cut { end, next, too_long: is_too_long.then(|| gone.saturating_add(kept as u64)) }
    }

    /// Keeps of a record that is too long only what may be the beginning of what ends it.
    fn let_go(&mut self) {
        let keep = self.delimiter.len().saturating_sub(1);
        if self.gone == 0 && self.rest.len() <= self.record_max.saturating_add(keep) {
            return;
        }
        let from = self.rest.len().saturating_sub(keep);
        self.gone = self.gone.saturating_add(from as u64);
        self.rest = self.rest.split_off(from);
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

    /// Records of at most 1 000 bytes.
    fn split(text: &str, delimiter: &str, at_once: usize) -> Vec<String> {
        let mut splitter = Splitter::new(delimiter.as_bytes().to_vec(), 1_000);
        let mut source = Trickle(text.as_bytes(), at_once);
        let mut records = Vec::new();
        let mut read = 0;
        while let Some(block) = splitter.next(&mut source).unwrap() {
            read += block.read;
            records.extend(block.records().map(|piece| match piece {
                Piece::Record(record) => String::from_utf8_lossy(record).into(),
                Piece::TooLong(bytes) => format!("{bytes} bytes"),
            }));
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
    fn a_record_that_is_too_long_is_let_go_and_the_rest_goes_on() {
        let (fits, long) = ("x".repeat(1_000), "x".repeat(1_001));
        // The end of the longer one has what ends it, but for the last byte.
        let longer = format!("{}<-", "x".repeat(5_000));
        for at_once in [1, 3, 700, 1_000_000] {
            let text = format!("{fits}<->{long}<->a<->{longer}<-><->b");
            let found = split(&text, "<->", at_once);
            assert!(found == [&*fits, "1001 bytes", "a", "5002 bytes", "", "b"], "{at_once}");
            // A last one without an end.
            assert_eq!(split(&format!("a\n{long}"), "\n", at_once), ["a", "1001 bytes"]);
            assert_eq!(split(&format!("{long}\n"), "\n", at_once), ["1001 bytes"]);
            assert_eq!(split(&format!("a<->{longer}"), "<->", at_once), ["a", "5002 bytes"]);
        }
    }

    #[test]
    fn what_is_kept_of_a_record_has_a_bound() {
        let mut splitter = Splitter::new(b"<>".to_vec(), 1_000);
        let mut source = io::repeat(b'x').take(20 << 20).chain(&b"<>end"[..]);
        let block = splitter.next(&mut source).unwrap().unwrap();
        assert_eq!(block.records().next(), Some(Piece::TooLong(20 << 20)));
        assert!(block.bytes.len() <= 1_000 + READ, "{}", block.bytes.len());
        assert!(splitter.rest.capacity() <= 2 * (1_000 + READ), "{}", splitter.rest.capacity());
    }
}
