//! A record's headers, the same for records that are read and for those that are sent.

use bytes::Bytes;
use thalweg_records::record;

pub use thalweg_records::record::Header;

/// The headers of a record, in order: a view that costs nothing to copy, and an iterator over
/// them. Names may come up several times.
///
/// What is sent takes them from a list, or as they are from a record that was read:
///
/// ```
/// use thalweg::{Header, Headers, ProducerRecord};
///
/// let headers = [Header::from(("unit", "pieces")), Header::from(("trace", &[7u8, 1][..]))];
/// let record = ProducerRecord::new("orders").with_value(b"2").with_headers(&headers);
/// assert_eq!(record.headers.get("unit").and_then(|header| header.value), Some(&b"pieces"[..]));
/// assert_eq!(record.headers.len(), 2);
/// assert!(Headers::default().is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// As they stand in a batch.
    Encoded(record::Headers<'a>),
    Listed(&'a [Header<'a>]),
    Owned(&'a [(Bytes, Option<Bytes>)]),
}

impl Default for Source<'_> {
    fn default() -> Self {
        Source::Listed(&[])
    }
}

impl<'a> Headers<'a> {
    /// How many there are, or are left.
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Encoded(headers) => headers.len(),
            Source::Listed(headers) => headers.len(),
            Source::Owned(headers) => headers.len(),
        }
    }

    /// Whether there is none, or none left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last header of that name, as `lastHeader` in Java.
    pub fn get(self, name: impl AsRef<[u8]>) -> Option<Header<'a>> {
        self.all(name).last()
    }

    /// All headers of that name.
    pub fn all(self, name: impl AsRef<[u8]>) -> impl Iterator<Item = Header<'a>> {
        self.filter(move |header| header.key == name.as_ref())
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    #[inline]
    fn next(&mut self) -> Option<Header<'a>> {
        match &mut self.0 {
            Source::Encoded(headers) => headers.next(),
            Source::Listed(headers) => headers.split_off_first().copied(),
            Source::Owned(headers) => {
                let (key, value) = headers.split_off_first()?;
                Some(Header { key, value: value.as_deref() })
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// They are equal when names and values are, wherever they come from.
impl PartialEq for Headers<'_> {
    fn eq(&self, other: &Headers<'_>) -> bool {
        self.len() == other.len() && self.zip(*other).all(|(one, another)| one == another)
    }
}

impl Eq for Headers<'_> {}

impl<'a> From<record::Headers<'a>> for Headers<'a> {
    fn from(headers: record::Headers<'a>) -> Headers<'a> {
        Headers(Source::Encoded(headers))
    }
}

impl<'a> From<&'a [Header<'a>]> for Headers<'a> {
    fn from(headers: &'a [Header<'a>]) -> Headers<'a> {
        Headers(Source::Listed(headers))
    }
}

impl<'a, const N: usize> From<&'a [Header<'a>; N]> for Headers<'a> {
    fn from(headers: &'a [Header<'a>; N]) -> Headers<'a> {
        Headers(Source::Listed(headers))
    }
}

impl<'a> From<&'a Vec<Header<'a>>> for Headers<'a> {
    fn from(headers: &'a Vec<Header<'a>>) -> Headers<'a> {
        Headers(Source::Listed(headers))
    }
}

impl<'a> From<&'a [(Bytes, Option<Bytes>)]> for Headers<'a> {
    fn from(headers: &'a [(Bytes, Option<Bytes>)]) -> Headers<'a> {
        Headers(Source::Owned(headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_and_sources_do_not_matter() {
        let listed = [
            Header::from(("a", "1")),
            Header::from(("b", None::<&str>)),
            Header::from((b"a", &[2u8][..])),
        ];
        let owned: Vec<(Bytes, Option<Bytes>)> = vec![
            ("a".into(), Some("1".into())),
            ("b".into(), None),
            ("a".into(), Some(vec![2].into())),
        ];
        let mut encoded = Vec::new();
        let pairs = listed.iter().map(|header| (header.key, header.value));
        thalweg_records::builder::put_record(&mut encoded, 0, 0, None, None, pairs);
        let context = thalweg_records::RecordContext {
            base_offset: 0,
            base_timestamp: 0,
            log_append_time: None,
            count: 1,
        };
        let (record, _) = context.read(&encoded).unwrap();
        for headers in
            [Headers::from(&listed), Headers::from(&owned[..]), Headers::from(record.headers)]
        {
            assert_eq!(headers, Headers::from(&listed));
            assert_eq!(headers.get("a").unwrap().value, Some(&[2u8][..]));
            assert_eq!(headers.all("a").count(), 2);
            assert_eq!(headers.get("b").unwrap().value, None);
            assert_eq!(headers.get("c"), None);
            assert_eq!(headers.len(), 3);
        }
        assert_ne!(Headers::from(&listed[..2]), Headers::from(&listed[1..]));
    }
}
