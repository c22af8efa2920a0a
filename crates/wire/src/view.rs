//! Arrays read in place.

use std::fmt;
use std::marker::PhantomData;

use crate::error::Decoded;
use crate::error_code::ErrorCode;
use crate::reader::Reader;
use crate::uuid::Uuid;

/// Something that can be read from a buffer without owning any of it.
pub trait ViewElement<'a>: Sized {
    /// Reads one.
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self>;

    /// Checks one and goes past it.
    #[inline]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        Self::read(r, version).map(|_| ())
    }
}

macro_rules! scalar {
    ($($ty:ty: $read:ident),*) => {$(
        impl<'a> ViewElement<'a> for $ty {
            #[inline]
            fn read(r: &mut Reader<'a>, _: i16) -> Decoded<Self> {
                r.$read()
            }
        }
    )*};
}
scalar!(bool: bool, i8: i8, i16: i16, u16: u16, i32: i32, u32: u32, i64: i64, f64: f64, Uuid: uuid);

impl<'a> ViewElement<'a> for ErrorCode {
    #[inline]
    fn read(r: &mut Reader<'a>, _: i16) -> Decoded<Self> {
        r.i16().map(ErrorCode)
    }
}

/// An array whose elements were checked when the message was parsed and are decoded on iteration.
pub struct ArrayView<'a, T> {
    bytes: &'a [u8],
    count: usize,
    version: i16,
    element: PhantomData<fn() -> T>,
}

impl<'a, T> ArrayView<'a, T> {
    pub(crate) fn new(bytes: &'a [u8], count: usize, version: i16) -> Self {
        ArrayView { bytes, count, version, element: PhantomData }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'a, T: ViewElement<'a>> ArrayView<'a, T> {
    /// Decodes the elements one after the other.
    #[inline]
    pub fn iter(&self) -> ArrayIter<'a, T> {
        ArrayIter {
            reader: Reader::in_place(self.bytes),
            left: self.count,
            version: self.version,
            element: PhantomData,
        }
    }
}

impl<T> Clone for ArrayView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ArrayView<'_, T> {}

impl<T> Default for ArrayView<'_, T> {
    fn default() -> Self {
        ArrayView::new(&[], 0, 0)
    }
}

impl<'a, T: ViewElement<'a> + fmt::Debug> fmt::Debug for ArrayView<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: ViewElement<'a>> IntoIterator for ArrayView<'a, T> {
    type Item = T;
    type IntoIter = ArrayIter<'a, T>;
    fn into_iter(self) -> ArrayIter<'a, T> {
        self.iter()
    }
}

/// Iterator of an [`ArrayView`].
pub struct ArrayIter<'a, T> {
    reader: Reader<'a>,
    left: usize,
    version: i16,
    element: PhantomData<fn() -> T>,
}

impl<'a, T: ViewElement<'a>> Iterator for ArrayIter<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        // The bytes were checked by the same code, so this cannot fail; were it to, iteration ends.
        T::read(&mut self.reader, self.version).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T: ViewElement<'a>> ExactSizeIterator for ArrayIter<'a, T> {}
