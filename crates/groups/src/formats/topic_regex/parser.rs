//! RE2/J's grammar, with the flags that Kafka sets: none, which is Perl's syntax with Unicode classes.

use std::collections::BTreeSet;

use regex_automata::util::look::Look;

use super::ascii_set::{AsciiSet, DIGIT, SPACE, WORD, posix_class, unicode_class};
use super::cursor::Cursor;
use super::error::InvalidRegexKind as Kind;
use super::program::{Group, Piece, Program, TooLarge};
use super::{InvalidRegex, PATTERN_BYTES_MAX};

/// Highest count of a repetition.
const REPEAT_MAX: u32 = 1000;
const NOT_NEW_LINE: AsciiSet = AsciiSet::range(0x0a, 0x0a).complement();

pub(super) fn parse(pattern: &str) -> Result<Program, InvalidRegex> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let begin: String = pattern.chars().take(32).collect();
        return Err(InvalidRegex::new(Kind::TooLong, 0, &begin));
    }
    let mut parser = Parser {
        cursor: Cursor::new(pattern),
        flags: Flags::default(),
        program: Program::default(),
        groups: Vec::new(),
        last: None,
        names: BTreeSet::new(),
        class_names_before: pattern.rfind(":]").unwrap_or(0),
    };
    parser.pattern()?;
    Ok(parser.program)
}

/// Flags that change what is matched. `U` only changes what is preferred, so it has no effect here.
#[derive(Clone, Copy, Default)]
struct Flags {
    /// `i`
    fold_case: bool,
    /// `m`
    multi_line: bool,
    /// `s`
    dot_new_line: bool,
}

/// A group that was begun.
struct Open {
    group: Group,
    /// The flags that hold again behind it.
    flags: Flags,
}

struct Parser<'p> {
    cursor: Cursor<'p>,
    flags: Flags,
    program: Program,
    /// The groups around the cursor; the first is the whole pattern.
    groups: Vec<Open>,
    /// What a repetition would apply to.
    last: Option<Piece>,
    names: BTreeSet<&'p str>,
    /// No name of a class ends from here on, so that nobody looks for one again and again.
    class_names_before: usize,
}

impl<'p> Parser<'p> {
    fn error(&self, kind: Kind, from: usize) -> InvalidRegex {
        InvalidRegex::new(kind, from, self.cursor.since(from))
    }

    fn pattern(&mut self) -> Result<(), InvalidRegex> {
        self.begin_group();
        // Where the repetition began that was read just before.
        let mut repeated: Option<usize> = None;
        while let Some(c) = self.cursor.peek() {
            let at = self.cursor.at();
            let repetition = matches!(c, '*' | '+' | '?' | '{').then_some(at);
            match c {
                '*' | '+' | '?' => {
                    self.cursor.next();
                    let (min, max) = match c {
                        '*' => (0, None),
                        '+' => (1, None),
                        _ => (0, Some(1)),
                    };
                    self.repeat(min, max, at, repeated)?;
                }
                '{' => match self.counts()? {
                    Some((min, max)) => self.repeat(min, max, at, repeated)?,
                    None => self.next_literal(),
                },
                '(' if self.cursor.looking_at("(?") => self.perl_group()?,
                '(' => {
                    self.cursor.next();
                    self.begin_group();
                }
                ')' => self.end_group()?,
                '|' => {
                    self.cursor.next();
                    if let Some(open) = self.groups.last_mut() {
                        self.program.next_alternative(&mut open.group);
                    }
                    self.last = None;
                }
                '^' if self.flags.multi_line => self.next_assertion(Look::StartLF),
                '^' => self.next_assertion(Look::Start),
                '$' if self.flags.multi_line => self.next_assertion(Look::EndLF),
                '$' => self.next_assertion(Look::End),
                '.' => {
                    self.cursor.next();
                    self.take(if self.flags.dot_new_line { AsciiSet::ALL } else { NOT_NEW_LINE });
                }
                '[' => {
                    let set = self.class()?;
                    self.take(set);
                }
                '\\' => self.escape()?,
                _ => self.next_literal(),
            }
            // A brace that begins no repetition counts as one too: RE2/J refuses `a{*`.
            repeated = repetition;
        }
        match (self.groups.pop(), self.groups.is_empty()) {
            (Some(whole), true) => {
                self.program.end_group(whole.group);
                Ok(())
            }
            _ => Err(self.error(Kind::MissingParen, 0)),
        }
    }

    fn take(&mut self, set: AsciiSet) {
        self.last = Some(self.program.take(set));
    }

    fn next_literal(&mut self) {
        if let Some(c) = self.cursor.next() {
            self.take(self.range(c.into(), c.into()));
        }
    }

    /// Reads one character, which asserts that.
    fn next_assertion(&mut self, look: Look) {
        self.cursor.next();
        self.last = Some(self.program.assert(look));
    }

    /// The characters from one to another, with their other cases if those do not matter.
    fn range(&self, first: u32, last: u32) -> AsciiSet {
        if self.flags.fold_case {
            AsciiSet::folded_range(first, last)
        } else {
            AsciiSet::range(first, last)
        }
    }

    /// Begins a group behind which the flags hold again that hold now.
    fn begin_group(&mut self) {
        self.groups.push(Open { group: self.program.begin_group(), flags: self.flags });
        self.last = None;
    }

    fn end_group(&mut self) -> Result<(), InvalidRegex> {
        let at = self.cursor.at();
        self.cursor.next();
        // The first is the whole pattern, which has no `)`.
        match self.groups.pop() {
            Some(open) if !self.groups.is_empty() => {
                self.flags = open.flags;
                self.last = Some(self.program.end_group(open.group));
                Ok(())
            }
            _ => Err(self.error(Kind::UnexpectedParen, at)),
        }
    }

    /// Repeats what came last. The cursor is behind the operator, which began at `at`.
    fn repeat(
        &mut self,
        min: u32,
        max: Option<u32>,
        at: usize,
        repeated: Option<usize>,
    ) -> Result<(), InvalidRegex> {
        // As few as possible, or else as many: that changes nothing for whole names.
        self.cursor.skip("?");
        if let Some(before) = repeated {
            return Err(self.error(Kind::RepeatOperator, before));
        }
        let Some(piece) = self.last else {
            return Err(self.error(Kind::MissingRepeatArgument, at));
        };
        let repeated = self.program.repeat(piece, min as usize, max.map(|max| max as usize));
        repeated.map_err(|TooLarge| self.error(Kind::TooLarge, at))
    }

    /// `{2}`, `{2,}` or `{2,3}`; anything else that begins with a brace is literal.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, InvalidRegex> {
        let begin = self.cursor.at();
        let counts = self.try_counts();
        let Some((min, max)) = counts else {
            self.cursor.move_to(begin);
            return Ok(None);
        };
        if min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX || max < min) {
            return Err(self.error(Kind::RepeatSize, begin));
        }
        Ok(Some((min, max)))
    }

    fn try_counts(&mut self) -> Option<(u32, Option<u32>)> {
        self.cursor.skip("{").then_some(())?;
        let min = self.number()?;
        let max = match self.cursor.skip(",") {
            false => Some(min),
            true if self.cursor.looking_at("}") => None,
            true => Some(self.number()?),
        };
        self.cursor.skip("}").then_some((min, max))
    }

    /// A number without superfluous zeros.
    fn number(&mut self) -> Option<u32> {
        let digits = self.cursor.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        // More digits than that are too many in any case.
        Some(digits.parse().unwrap_or(u32::MAX))
    }

    /// What begins with `(?`: a named group, flags, or both flags and a group.
    fn perl_group(&mut self) -> Result<(), InvalidRegex> {
        let begin = self.cursor.at();
        if self.cursor.skip("(?P<") || self.cursor.skip("(?<") {
            return self.group_name(begin);
        }
        self.cursor.skip("(?");
        let mut flags = self.flags;
        let (mut on, mut any) = (true, false);
        while let Some(c) = self.cursor.next() {
            match c {
                'i' => flags.fold_case = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_new_line = on,
                'U' => {}
                '-' if on => {
                    (on, any) = (false, false);
                    continue;
                }
                ':' | ')' if on || any => {
                    if c == ':' {
                        self.begin_group();
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
            any = true;
        }
        Err(self.error(Kind::PerlSyntax, begin))
    }

    fn group_name(&mut self, begin: usize) -> Result<(), InvalidRegex> {
        let name_begin = self.cursor.at();
        let Some(name) = self.cursor.take_until(">") else {
            self.cursor.move_to(self.cursor.end());
            return Err(self.error(Kind::GroupName, begin));
        };
        self.cursor.skip(">");
        if name.is_empty() || !name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
            return Err(self.error(Kind::GroupName, begin));
        }
        if !self.names.insert(name) {
            return Err(InvalidRegex::new(Kind::DuplicateGroupName, name_begin, name));
        }
        self.begin_group();
        Ok(())
    }

    /// A backslash outside of classes, and what belongs to it.
    fn escape(&mut self) -> Result<(), InvalidRegex> {
        let begin = self.cursor.at();
        self.cursor.skip("\\");
        let look = match self.cursor.peek() {
            Some('A') => Look::Start,
            Some('z') => Look::End,
            Some('b') => Look::WordAscii,
            Some('B') => Look::WordAsciiNegate,
            Some('Q') => {
                self.quotation();
                return Ok(());
            }
            _ => {
                self.cursor.move_to(begin);
                let set = match self.shorthand_class()? {
                    Some(set) => set,
                    None => {
                        let c = self.escaped()?;
                        self.range(c, c)
                    }
                };
                self.take(set);
                return Ok(());
            }
        };
        self.next_assertion(look);
        Ok(())
    }

    /// `\Q...\E`, or to the end. Without anything in it, it is nothing at all.
    fn quotation(&mut self) {
        self.cursor.skip("Q");
        let end = self.cursor.find("\\E").unwrap_or(self.cursor.end());
        while self.cursor.at() < end {
            self.next_literal();
        }
        self.cursor.skip("\\E");
    }

    /// `\d` and its kind, `\pN`, `\p{Greek}`; with the cursor left alone where there is none.
    fn shorthand_class(&mut self) -> Result<Option<AsciiSet>, InvalidRegex> {
        let begin = self.cursor.at();
        self.cursor.skip("\\");
        // Equal whether case matters or not, as far as ASCII goes.
        let set = match self.cursor.next() {
            Some('d') => DIGIT,
            Some('D') => DIGIT.complement(),
            Some('s') => SPACE,
            Some('S') => SPACE.complement(),
            Some('w') => WORD,
            Some('W') => WORD.complement(),
            Some('p') => return self.unicode_class(begin, false).map(Some),
            Some('P') => return self.unicode_class(begin, true).map(Some),
            _ => {
                self.cursor.move_to(begin);
                return Ok(None);
            }
        };
        Ok(Some(set))
    }

    /// A Unicode class whose name comes next.
    fn unicode_class(&mut self, begin: usize, negated: bool) -> Result<AsciiSet, InvalidRegex> {
        let mut buffer = [0; 4];
        let name = match self.cursor.next() {
            Some('{') => {
                let Some(name) = self.cursor.take_until("}") else {
                    self.cursor.move_to(self.cursor.end());
                    return Err(self.error(Kind::ClassRange, begin));
                };
                self.cursor.skip("}");
                name
            }
            // RE2/J looks at the lower 16 bits of a character only.
            Some(c) => match char::from_u32(u32::from(c) & 0xffff) {
                Some(c) => &*c.encode_utf8(&mut buffer),
                None => "",
            },
            None => "",
        };
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, !negated),
            None => (name, negated),
        };
        let set = unicode_class(name, self.flags.fold_case)
            .ok_or_else(|| self.error(Kind::ClassRange, begin))?;
        Ok(if negated { set.complement() } else { set })
    }

    /// A backslash and what stands for one character with it.
    fn escaped(&mut self) -> Result<u32, InvalidRegex> {
        let begin = self.cursor.at();
        self.cursor.skip("\\");
        let Some(c) = self.cursor.next() else {
            return Err(InvalidRegex::new(Kind::TrailingBackslash, begin, "\\"));
        };
        let octal = self.cursor.peek().is_some_and(|c| c.is_digit(8));
        let value = match c {
            'a' => Some(0x07),
            'f' => Some(0x0c),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            't' => Some(0x09),
            'v' => Some(0x0b),
            'x' => self.hexadecimal(),
            // A digit alone would be a reference to a group.
            '1'..='7' if !octal => None,
            '0'..='7' => Some(self.octal(c)),
            c if c.is_ascii_alphanumeric() => None,
            c => Some(c.into()),
        };
        value.ok_or_else(|| self.error(Kind::Escape, begin))
    }

    /// The rest of three octal digits at most.
    fn octal(&mut self, first: char) -> u32 {
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.cursor.peek().and_then(|c| c.to_digit(8)) else { break };
            self.cursor.next();
            value = value * 8 + digit;
        }
        value
    }

    /// Two hexadecimal digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        if !self.cursor.skip("{") {
            let (high, low) = (self.cursor.next()?, self.cursor.next()?);
            return Some(high.to_digit(16)? * 16 + low.to_digit(16)?);
        }
        let mut value = self.cursor.next()?.to_digit(16)?;
        loop {
            match self.cursor.next()? {
                '}' => return Some(value),
                c => value = value * 16 + c.to_digit(16)?,
            }
            if value > u32::from(char::MAX) {
                return None;
            }
        }
    }

    fn class(&mut self) -> Result<AsciiSet, InvalidRegex> {
        let begin = self.cursor.at();
        self.cursor.skip("[");
        let negated = self.cursor.skip("^");
        let mut set = AsciiSet::EMPTY;
        // A bracket that comes first is literal.
        let mut first = true;
        while first || !self.cursor.looking_at("]") {
            first = false;
            set = set.union(self.class_item(begin)?);
        }
        self.cursor.skip("]");
        Ok(if negated { set.complement() } else { set })
    }

    /// A class, a character or a range in the class that began at `class`.
    fn class_item(&mut self, class: usize) -> Result<AsciiSet, InvalidRegex> {
        let begin = self.cursor.at();
        if self.cursor.looking_at("[:") && begin < self.class_names_before {
            return self.posix_class();
        }
        if self.cursor.looking_at("\\")
            && let Some(set) = self.shorthand_class()?
        {
            return Ok(set);
        }
        let low = self.class_character(class)?;
        let mut high = low;
        if self.cursor.looking_at("-") && !self.cursor.looking_at("-]") {
            self.cursor.skip("-");
            high = self.class_character(class)?;
            if high < low {
                return Err(self.error(Kind::ClassRange, begin));
            }
        }
        Ok(self.range(low, high))
    }

    fn class_character(&mut self, class: usize) -> Result<u32, InvalidRegex> {
        if self.cursor.looking_at("\\") {
            return self.escaped();
        }
        let c = self.cursor.next();
        c.map(u32::from).ok_or_else(|| self.error(Kind::MissingBracket, class))
    }

    /// `[:name:]` or `[:^name:]`. Where a name ends, it is one, however far that is.
    fn posix_class(&mut self) -> Result<AsciiSet, InvalidRegex> {
        let begin = self.cursor.at();
        // In RE2/J the colon may be both: `[:]` is an empty name.
        self.cursor.skip("[");
        let name = self.cursor.take_until(":]").unwrap_or_default();
        self.cursor.skip(":]");
        let name = name.strip_prefix(':').unwrap_or_default();
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let Some(set) = posix_class(name) else {
            return Err(self.error(Kind::ClassRange, begin));
        };
        let set = if self.flags.fold_case { set.folded() } else { set };
        Ok(if negated { set.complement() } else { set })
    }
}
