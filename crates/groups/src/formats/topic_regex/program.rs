//! A pattern as steps of a machine, built while it is parsed.
//!
//! Steps name each other by distance, and what follows a piece of the pattern comes right behind its
//! steps. So a sequence needs no step of its own, and a counted repetition is copies of the same steps;
//! and no function calls itself, however deep the groups of a pattern are.

use regex_automata::nfa::thompson::{BuildError, Builder, NFA, Transition};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use super::COPIED_STEPS_MAX;
use super::ascii_set::AsciiSet;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Takes one character of the set.
    Take(AsciiSet),
    /// Goes on where the assertion holds.
    Assert(Look),
    /// Goes on, there or at the next step.
    Fork(isize),
    /// Goes on there. To the next step it does nothing, and keeps a place.
    Jump(isize),
}

const PLACE: Step = Step::Jump(1);

/// A piece that a repetition can be applied to: where it begins. It ends at the last step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece(usize);

/// A group that was begun.
#[derive(Debug)]
pub(super) struct Group {
    begin: usize,
    /// The place before the alternative that is being built.
    alternative: usize,
    /// The jumps from the ends of earlier alternatives to the end of the group.
    jumps: Vec<usize>,
}

/// More copies of steps than there may be.
#[derive(Debug)]
pub(super) struct TooLarge;

#[derive(Debug, Default)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// How many steps repetitions ever copied. Those that were dropped since took their time too.
    copied: usize,
}

impl Program {
    fn push(&mut self, step: Step) -> Piece {
        self.steps.push(step);
        Piece(self.steps.len() - 1)
    }

    pub(super) fn take(&mut self, set: AsciiSet) -> Piece {
        self.push(Step::Take(set))
    }

    pub(super) fn assert(&mut self, look: Look) -> Piece {
        self.push(Step::Assert(look))
    }

    pub(super) fn begin_group(&mut self) -> Group {
        // One place for a repetition of the group, one for its first alternative: steps that are put
        // in front later would move all others each time.
        let Piece(begin) = self.push(PLACE);
        let Piece(alternative) = self.push(PLACE);
        Group { begin, alternative, jumps: Vec::new() }
    }

    /// Ends one alternative of the group and begins the next.
    pub(super) fn next_alternative(&mut self, group: &mut Group) {
        let Piece(jump) = self.push(PLACE);
        group.jumps.push(jump);
        let Piece(next) = self.push(PLACE);
        self.set(group.alternative, Step::Fork(distance(group.alternative, next)));
        group.alternative = next;
    }

    pub(super) fn end_group(&mut self, group: Group) -> Piece {
        let end = self.steps.len();
        for jump in group.jumps {
            self.set(jump, Step::Jump(distance(jump, end)));
        }
        Piece(group.begin)
    }

    fn set(&mut self, at: usize, step: Step) {
        if let Some(place) = self.steps.get_mut(at) {
            *place = step;
        }
    }

    /// Repeats the piece, which is the last of the program, `min` to `max` times.
    pub(super) fn repeat(
        &mut self,
        Piece(begin): Piece,
        min: usize,
        max: Option<usize>,
    ) -> Result<(), TooLarge> {
        if max == Some(0) {
            self.steps.truncate(begin);
            return Ok(());
        }
        if !matches!(self.steps.get(begin), Some(Step::Jump(1))) {
            self.steps.insert(begin, PLACE);
        }
        let body = begin + 1;
        let length = self.steps.len() - body;
        // The first copy is there; all but `min` can be left out, each with those behind it.
        let copies = max.unwrap_or(min.max(1));
        self.copied = self.copied.saturating_add((copies - 1).saturating_mul(length + 1));
        if self.copied > COPIED_STEPS_MAX {
            return Err(TooLarge);
        }
        for copy in 0..copies {
            if copy >= min && max.is_some() {
                let left = copies - copy;
                let fork = Step::Fork((left * (length + 1)).cast_signed());
                if copy == 0 { self.set(begin, fork) } else { self.steps.push(fork) }
            }
            if copy > 0 {
                self.steps.extend_from_within(body..body + length);
            }
        }
        if max.is_none() {
            let again = self.steps.len();
            self.steps.push(Step::Fork(distance(again, again - length)));
            if min == 0 {
                self.set(begin, Step::Fork(distance(begin, again + 1)));
            }
        }
        Ok(())
    }

    /// The machine that takes a text from beginning to end.
    pub(super) fn finish(self) -> Result<NFA, BuildError> {
        let mut builder = Builder::new();
        builder.set_utf8(false);
        builder.start_pattern()?;
        let found = builder.add_match()?;
        let end = builder.add_look(found, Look::End)?;
        // Where each step leads to, from the last to the first, and whatever leads back at last. The
        // states of `ids` are in that order too.
        let count = self.steps.len();
        let mut ids = vec![end];
        let mut back = Vec::new();
        for (at, step) in self.steps.iter().enumerate().rev() {
            let next = ids.last().copied().unwrap_or(end);
            let to = |ids: &[StateID], by: isize| {
                let target = at.checked_add_signed(by)?;
                ids.get(count.checked_sub(target)?).copied()
            };
            let id = match *step {
                Step::Take(set) => add_set(&mut builder, set, next)?,
                Step::Assert(look) => builder.add_look(next, look)?,
                Step::Jump(by) => to(&ids, by).unwrap_or(next),
                Step::Fork(by) if by > 0 => {
                    builder.add_union(vec![next, to(&ids, by).unwrap_or(next)])?
                }
                Step::Fork(by) => {
                    let id = builder.add_union(vec![next])?;
                    back.push((id, at.saturating_add_signed(by)));
                    id
                }
            };
            ids.push(id);
        }
        for (from, target) in back {
            if let Some(&id) = ids.get(count - target) {
                builder.patch(from, id)?;
            }
        }
        let start = ids.last().copied().unwrap_or(end);
        builder.finish_pattern(start)?;
        builder.build(start, start)
    }
}

/// How far it is from one step to another. There are a few hundred thousand at most.
fn distance(from: usize, to: usize) -> isize {
    to.cast_signed() - from.cast_signed()
}

fn add_set(builder: &mut Builder, set: AsciiSet, next: StateID) -> Result<StateID, BuildError> {
    let transitions: Vec<Transition> =
        set.ranges().map(|(start, end)| Transition { start, end, next }).collect();
    match *transitions {
        [] => builder.add_fail(),
        [transition] => builder.add_range(transition),
        _ => builder.add_sparse(transitions),
    }
}
