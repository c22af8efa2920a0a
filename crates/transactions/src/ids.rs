//! The logged state: what is committed of each transactional id, and what is written but not committed yet.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::{Transaction, TransactionRecord};

/// What is logged of one id.
#[derive(Debug, Default)]
struct Entry {
    committed: Option<Transaction>,
    /// What the last record says that is not committed yet, at its offset; `None` inside is a tombstone.
    written: Option<(i64, Option<Transaction>)>,
}

/// The ids of one partition. A state that is written and not committed is nobody's to build upon: there is one
/// transition at a time of an id. After a load more than one may be written; only the last one counts then.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    entries: HashMap<Arc<str>, Entry>,
    /// The records that are not committed yet, in the order of their offsets.
    written: VecDeque<(i64, Arc<str>)>,
    /// Where the log ended when it was loaded.
    loaded_to: i64,
}

/// What is known of an id.
#[derive(Debug)]
pub(crate) enum Known<'a> {
    /// Nothing.
    Nothing,
    /// A transition is written and not committed.
    InTransit,
    /// This is committed.
    Is(&'a Transaction),
}

impl Ids {
    /// What is known of an id.
    pub(crate) fn get(&self, id: &str) -> Known<'_> {
        match self.entries.get(id) {
            None => Known::Nothing,
            Some(Entry { written: Some(_), .. }) => Known::InTransit,
            Some(Entry { committed: None, .. }) => Known::Nothing,
            Some(Entry { committed: Some(transaction), .. }) => Known::Is(transaction),
        }
    }

    /// What is committed of an id.
    pub(crate) fn committed(&self, id: &str) -> Option<&Transaction> {
        self.entries.get(id)?.committed.as_ref()
    }

    /// What is shown of an id: what is committed, or the last record of those that were loaded, which are committed in all
    /// likelihood; that is known once the other replicas have said so. Kafka takes all of a loaded log for committed.
    pub(crate) fn shown(&self, id: &str) -> Option<&Transaction> {
        self.shown_of(self.entries.get(id)?)
    }

    fn shown_of<'a>(&self, entry: &'a Entry) -> Option<&'a Transaction> {
        match &entry.written {
            Some((at, value)) if *at < self.loaded_to => value.as_ref(),
            _ => entry.committed.as_ref(),
        }
    }

    /// All ids of which something is shown.
    pub(crate) fn all_shown(&self) -> impl Iterator<Item = (&Arc<str>, &Transaction)> {
        self.entries.iter().filter_map(|(id, entry)| Some((id, self.shown_of(entry)?)))
    }

    /// Ids of which something is written and not committed.
    pub(crate) fn in_transit(&self) -> impl Iterator<Item = &Arc<str>> {
        self.written.iter().map(|(_, id)| id)
    }

    /// What is here by now was loaded.
    pub(crate) fn loaded(&mut self) {
        self.loaded_to = self.written.back().map_or(0, |(at, _)| at.saturating_add(1));
    }

    /// All ids of which something is committed, and whether a transition of it is under way.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Transaction, bool)> {
        self.entries.iter().filter_map(|(id, entry)| {
            Some((id, entry.committed.as_ref()?, entry.written.is_some()))
        })
    }

    /// What the last record says of each id, committed or not.
    pub(crate) fn latest(&self) -> impl Iterator<Item = (&Arc<str>, &Transaction)> {
        self.entries.iter().filter_map(|(id, entry)| {
            let latest = match &entry.written {
                Some((_, value)) => value.as_ref(),
                None => entry.committed.as_ref(),
            };
            Some((id, latest?))
        })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A record was written.
    pub(crate) fn replay(&mut self, offset: i64, record: &TransactionRecord) {
        let id: Arc<str> = match self.entries.get_key_value(&*record.transactional_id) {
            Some((id, _)) => Arc::clone(id),
            None => record.transactional_id.as_str().into(),
        };
        let entry = self.entries.entry(Arc::clone(&id)).or_default();
        entry.written = Some((offset, record.value.clone()));
        self.written.push_back((offset, id));
    }

    /// Everything below `offset` is committed; tells `settled` of each id whose last record that was.
    pub(crate) fn commit(&mut self, offset: i64, mut settled: impl FnMut(&Arc<str>)) {
        while let Some((_, id)) = self.written.pop_front_if(|(at, _)| *at < offset) {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            let Some((_, value)) = entry.written.take_if(|(at, _)| *at < offset) else { continue };
            entry.committed = value;
            if entry.committed.is_none() {
                self.entries.remove(&id);
            }
            settled(&id);
        }
    }

    /// Nothing from `offset` on was written after all; tells `settled` of each id that this is so of.
    pub(crate) fn revert(&mut self, offset: i64, mut settled: impl FnMut(&Arc<str>)) {
        while let Some((_, id)) = self.written.pop_back_if(|(at, _)| *at >= offset) {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            if entry.written.take_if(|(at, _)| *at >= offset).is_none() {
                continue;
            }
            if entry.committed.is_none() {
                self.entries.remove(&id);
            }
            settled(&id);
        }
    }
}
