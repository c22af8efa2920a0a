//! Random patterns: most of them by the grammar, with texts that they could match; some damaged, some
//! without any sense.

use thalweg_random::Random;

use super::pieces::{BAD, ESCAPES, LETTERS_OF_ANY_CASE, LITERALS, ODD, POSIX, SHORTHANDS};

/// A pattern and texts that are likely to match it, or nearly do.
pub struct Case {
    pub pattern: String,
    pub topics: Vec<String>,
}

/// Texts that are made along with each pattern.
const SAMPLES: usize = 4;

pub fn case(random: &mut Random) -> Case {
    let mut piece = match random.below(10) {
        0 => tokens(random),
        _ => {
            let depth = random.below(4);
            alternatives(random, depth)
        }
    };
    if random.below(6) == 0 {
        piece.pattern = damaged(random, &piece.pattern);
    }
    let mut topics = piece.texts.to_vec();
    for at in 0..SAMPLES {
        topics.push(damaged(random, &piece.texts[at]));
    }
    topics.push(String::new());
    // Letters of the pattern itself.
    let letters: Vec<char> = piece.pattern.chars().filter(char::is_ascii_alphanumeric).collect();
    let length = random.below(8);
    topics.push(
        (0..length).filter_map(|_| letters.get(random.below(letters.len().max(1)))).collect(),
    );
    // Other texts are one of the differences.
    topics.retain(|topic| topic.is_ascii());
    Case { pattern: piece.pattern, topics }
}

struct Piece {
    pattern: String,
    texts: [String; SAMPLES],
}

impl Piece {
    fn new(pattern: impl Into<String>, text: impl ToString) -> Piece {
        Piece { pattern: pattern.into(), texts: std::array::from_fn(|_| text.to_string()) }
    }

    fn then(mut self, next: Piece) -> Piece {
        self.pattern += &next.pattern;
        self.texts.iter_mut().zip(&next.texts).for_each(|(text, next)| *text += next);
        self
    }

    fn or(mut self, other: Piece, random: &mut Random) -> Piece {
        self.pattern += "|";
        self.pattern += &other.pattern;
        for (text, other) in self.texts.iter_mut().zip(other.texts) {
            if random.below(2) == 0 {
                *text = other;
            }
        }
        self
    }
}

fn alternatives(random: &mut Random, depth: usize) -> Piece {
    let mut piece = sequence(random, depth);
    while random.below(3) == 0 {
        let other = sequence(random, depth);
        piece = piece.or(other, random);
    }
    piece
}

fn sequence(random: &mut Random, depth: usize) -> Piece {
    let mut piece = Piece::new("", "");
    for _ in 0..random.below(5) {
        let next = item(random, depth);
        piece = piece.then(next);
    }
    piece
}

fn item(random: &mut Random, depth: usize) -> Piece {
    let piece = atom(random, depth);
    if random.below(3) == 0 { repeated(random, piece) } else { piece }
}

fn repeated(random: &mut Random, mut piece: Piece) -> Piece {
    let (min, max) = (random.below(4), random.below(4));
    let operator = match random.below(8) {
        0 | 1 => "*".to_owned(),
        2 => "+".to_owned(),
        3 => "?".to_owned(),
        4 => format!("{{{min}}}"),
        5 => format!("{{{min},}}"),
        _ => format!("{{{min},{}}}", if random.below(20) == 0 { max * 100 } else { min + max }),
    };
    piece.pattern += &operator;
    if random.below(4) == 0 {
        piece.pattern += "?";
    }
    for text in &mut piece.texts {
        *text = text.repeat(random.below(6));
        text.truncate(200);
        // Characters beyond ASCII are not matched with, but must not be cut.
    }
    piece
}

fn literal(random: &mut Random) -> Piece {
    let c = match random.below(4) {
        0 => *random.pick(LITERALS),
        _ => char::from(*random.pick(b"aAbBkKsS01._-")),
    };
    // A dot is none, but matches itself.
    Piece::new(c, if c.is_ascii() { c } else { *random.pick(&['k', 's', 'K', 'S', 'a']) })
}

fn pair(random: &mut Random, from: &[(&str, char)]) -> Piece {
    let (pattern, text) = *random.pick(from);
    Piece::new(pattern, text)
}

fn atom(random: &mut Random, depth: usize) -> Piece {
    match random.below(if depth == 0 { 24 } else { 34 }) {
        0..=12 => literal(random),
        13 => pair(random, LETTERS_OF_ANY_CASE),
        14 => pair(random, ESCAPES),
        15 | 16 => pair(random, SHORTHANDS),
        17..=20 => class(random),
        21 => Piece::new(*random.pick(&["^", "$", "\\A", "\\z", "\\b", "\\B"]), ""),
        22 => Piece::new(*random.pick(&["(?i)", "(?-i)", "(?s)", "(?m)", "(?U)", "(?is-m)"]), ""),
        23 => match random.below(4) {
            0 => Piece::new(*random.pick(BAD), "a"),
            1 => Piece::new("\\Qa.*b\\E", "a.*b"),
            _ => Piece::new(*random.pick(ODD), "a"),
        },
        _ => {
            let open = match random.below(8) {
                0..=2 => "(",
                3 | 4 => "(?:",
                5 => "(?i:",
                6 => *random.pick(&["(?-i:", "(?s:", "(?m:", "(?im-s:", "(?U:", "(?-U:"]),
                _ => *random.pick(&["(?P<a>", "(?P<b>", "(?<c>", "(?<_9>", "(?<d>"]),
            };
            let mut inner = alternatives(random, depth - 1);
            inner.pattern = format!("{open}{})", inner.pattern);
            inner
        }
    }
}

fn class(random: &mut Random) -> Piece {
    let negated = random.below(4) == 0;
    let mut pattern = if negated { "[^" } else { "[" }.to_owned();
    let mut text = String::new();
    for _ in 0..=random.below(4) {
        let piece = match random.below(8) {
            0 => pair(random, SHORTHANDS),
            1 => pair(random, ESCAPES),
            2 => {
                let sign = if random.below(3) == 0 { "^" } else { "" };
                Piece::new(format!("[:{sign}{}:]", random.pick(POSIX)), "a")
            }
            3 | 4 => {
                let mut ends = [literal(random).pattern, literal(random).pattern];
                if random.below(8) != 0 {
                    ends.sort();
                }
                let first = ends[0].chars().next().filter(char::is_ascii).unwrap_or('b');
                Piece::new(format!("{}-{}", ends[0], ends[1]), first)
            }
            _ => literal(random),
        };
        pattern += &piece.pattern;
        if text.is_empty() || random.below(2) == 0 {
            text = piece.texts[0].clone();
        }
    }
    Piece::new(pattern + "]", if negated { "x".to_owned() } else { text })
}

/// Pieces of syntax in no order.
fn tokens(random: &mut Random) -> Piece {
    let mut piece = Piece::new("", "");
    for _ in 0..random.below(8) {
        let next = match random.below(4) {
            0 => Piece::new(*random.pick(BAD), ""),
            1 => Piece::new(*random.pick(ODD), "a"),
            2 => literal(random),
            _ => {
                let all = "\\()[]{}|*+?.^$-:,<>PQEpxiUz1aé";
                let at = random.below(all.chars().count());
                Piece::new(all.chars().nth(at).unwrap_or('a'), "")
            }
        };
        piece = piece.then(next);
    }
    piece
}

fn damaged(random: &mut Random, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(2) {
        let at = random.below(chars.len() + 1);
        match random.below(4) {
            0 if at < chars.len() => drop(chars.remove(at)),
            1 if at < chars.len() => chars[at] = *random.pick(LITERALS),
            2 => chars.insert(at, char::from(*random.pick(b"\\()[]{}|*+?.^$-:,"))),
            _ => chars.insert(at, char::from(*random.pick(b"aAkKsS0._-\n"))),
        }
    }
    chars.into_iter().collect()
}
