//! A place in a pattern.

#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'p> {
    text: &'p str,
    /// Always between two characters.
    at: usize,
}

impl<'p> Cursor<'p> {
    pub(super) fn new(text: &'p str) -> Cursor<'p> {
        Cursor { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn end(&self) -> usize {
        self.text.len()
    }

    /// Goes to where it was before, or to the end.
    pub(super) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    fn rest(&self) -> &'p str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// What lies between an earlier place and this one.
    pub(super) fn since(&self, earlier: usize) -> &'p str {
        self.text.get(earlier..self.at).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Passes the text if it comes next, and says whether it did.
    pub(super) fn skip(&mut self, text: &str) -> bool {
        let there = self.looking_at(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// Where the text comes next.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        self.rest().find(text).map(|offset| self.at + offset)
    }

    /// What comes before the text, which is not passed; `None`, and no move, if it does not come.
    pub(super) fn take_until(&mut self, text: &str) -> Option<&'p str> {
        let (taken, _) = self.rest().split_once(text)?;
        self.at += taken.len();
        Some(taken)
    }

    pub(super) fn take_while(&mut self, holds: impl Fn(char) -> bool) -> &'p str {
        let rest = self.rest();
        let length = rest.find(|c| !holds(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }
}
