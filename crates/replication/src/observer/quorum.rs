//! Who leads the controllers' quorum, and whom to ask for it.

use std::collections::BTreeMap;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::VotersRecord;

/// Where a controller is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // An address of IPv6 has colons itself.
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A quorum's leader: the active controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Node id.
    pub id: i32,
    /// Where it is reached, once somebody has said so.
    pub endpoint: Option<Endpoint>,
}

/// What an answer says of the quorum.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) error: ErrorCode,
    /// -1 if there is no leader, or the answer names none.
    pub(super) leader: i32,
    pub(super) epoch: i32,
    /// Where that leader is reached, if the answer says so.
    pub(super) endpoint: Option<Endpoint>,
}

/// Whether an answer is about the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It is, from the leader of the epoch that is known: the rest of it counts.
    Leader,
    /// It says who leads, or that the asked one does not: somebody else is asked.
    Elsewhere,
    /// It is of an earlier epoch.
    Stale,
    /// It names another leader for an epoch that has one.
    TwoLeaders,
}

/// Times of [`Quorum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Pause after a failure (`controller.quorum.retry.backoff.ms`); doubled with each that follows.
    pub backoff_ms: u64,
    /// The longest such pause.
    pub backoff_max_ms: u64,
}

/// Who leads, as far as is known. Epochs only go up: what an answer of an earlier one says is not believed, because
/// a controller that was removed goes on to name itself.
#[derive(Clone, Debug)]
pub struct Quorum {
    /// `controller.quorum.bootstrap.servers`, or those of `controller.quorum.voters`.
    bootstrap: Vec<Endpoint>,
    /// By node id: from `controller.quorum.voters`, or from the log.
    voters: BTreeMap<i32, Endpoint>,
    retry: Retry,
    epoch: i32,
    leader: Option<Leader>,
    /// The leader did not answer as one, and nobody has named it since.
    is_doubted: bool,
    /// Who is asked next where the leader cannot be.
    turn: usize,
    /// Who was of no use last.
    failed_last: Option<Endpoint>,
    failures: u32,
    not_before_ms: u64,
}

impl Quorum {
    /// Nothing is known but addresses, and the newest epoch that an earlier process has seen.
    pub fn new(
        bootstrap: Vec<Endpoint>,
        static_voters: BTreeMap<i32, Endpoint>,
        epoch: i32,
        retry: Retry,
    ) -> Quorum {
        Quorum {
            bootstrap,
            voters: static_voters,
            retry,
            epoch: epoch.max(0),
            leader: None,
            is_doubted: false,
            turn: 0,
            failed_last: None,
            failures: 0,
            not_before_ms: 0,
        }
    }

    /// The newest epoch that is known.
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// The leader of that epoch, if it is known.
    pub fn leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    /// The log names the voters. That counts as soon as it is written, committed or not: it is only a list of
    /// addresses to ask.
    pub fn voters(&mut self, record: &VotersRecord, listener: &str) {
        for voter in &record.voters {
            let mut endpoints = voter.endpoints.iter();
            let Some(named) = endpoints.find(|endpoint| endpoint.name == listener) else {
                continue;
            };
            let endpoint = Endpoint { host: named.host.clone(), port: named.port };
            self.voters.insert(voter.voter_id, endpoint);
        }
        self.voters.retain(|id, _| record.voters.iter().any(|voter| voter.voter_id == *id));
    }

    /// Whom to ask now, or until when to wait. The leader, if there is one that answers; anybody else in turn.
    pub(super) fn target(&mut self, now_ms: u64) -> Result<Endpoint, u64> {
        if now_ms < self.not_before_ms {
            return Err(self.not_before_ms);
        }
        if !self.is_doubted
            && let Some(Leader { endpoint: Some(endpoint), .. }) = &self.leader
        {
            return Ok(endpoint.clone());
        }
        let all = self.addresses();
        for _ in 0..2 {
            let asked = all.get(self.turn % all.len().max(1)).cloned();
            self.turn = self.turn.wrapping_add(1);
            match asked {
                // Somebody else may know why.
                Some(asked) if self.failed_last.as_ref() == Some(&asked) && all.len() > 1 => {}
                Some(asked) => return Ok(asked),
                None => break,
            }
        }
        // Without an address there is nothing to do but to wait for nothing.
        Err(u64::MAX)
    }

    /// Every address that may know the leader. The voters of the log are asked, too: the configured ones may all be
    /// gone.
    fn addresses(&self) -> Vec<Endpoint> {
        let mut all = self.bootstrap.clone();
        for endpoint in self.voters.values() {
            if !all.contains(endpoint) {
                all.push(endpoint.clone());
            }
        }
        all
    }

    /// What was asked for came.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.failed_last = None;
        self.is_doubted = false;
    }

    /// `from` did not answer, or not with anything of use.
    pub(super) fn failed(&mut self, from: &Endpoint, now_ms: u64) {
        if self.is_leader(from) {
            self.is_doubted = true;
        }
        self.failed_last = Some(from.clone());
        let pause = self.retry.backoff_ms.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        self.not_before_ms = now_ms.saturating_add(pause.min(self.retry.backoff_max_ms));
    }

    fn is_leader(&self, endpoint: &Endpoint) -> bool {
        self.leader.as_ref().is_some_and(|leader| leader.endpoint.as_ref() == Some(endpoint))
    }

    /// Takes what an answer of `from` says of the quorum.
    pub(super) fn heard(&mut self, from: &Endpoint, told: &Told, now_ms: u64) -> Heard {
        if told.epoch < self.epoch || told.error == ErrorCode::UNKNOWN_LEADER_EPOCH {
            self.failed(from, now_ms);
            return Heard::Stale;
        }
        let is_refused = matches!(
            told.error,
            ErrorCode::FENCED_LEADER_EPOCH | ErrorCode::NOT_LEADER_OR_FOLLOWER
        );
        let endpoint = || told.endpoint.clone().or_else(|| self.voters.get(&told.leader).cloned());
        if told.epoch > self.epoch {
            self.leader =
                (told.leader >= 0).then(|| Leader { id: told.leader, endpoint: endpoint() });
            self.epoch = told.epoch;
            self.is_doubted = false;
            if !is_refused && told.error.is_ok() && self.is_leader(from) {
                return Heard::Leader;
            }
            return self.elsewhere(from, now_ms);
        }
        match &mut self.leader {
            Some(known) if told.leader >= 0 && told.leader != known.id => {
                self.failed(from, now_ms);
                return Heard::TwoLeaders;
            }
            Some(known) if known.endpoint.is_none() && told.leader >= 0 => {
                let found = told.endpoint.clone();
                known.endpoint = found.or_else(|| self.voters.get(&told.leader).cloned());
            }
            Some(_) => {}
            None if told.leader >= 0 => {
                self.leader = Some(Leader { id: told.leader, endpoint: endpoint() });
            }
            None => {}
        }
        if is_refused {
            return self.elsewhere(from, now_ms);
        }
        if told.error.is_ok()
            && let Some(leader) = &mut self.leader
            && (self.is_doubted || leader.endpoint.is_none())
        {
            // It answers here, and not where it is said to be, or nobody has said where it is.
            leader.endpoint = Some(from.clone());
        }
        Heard::Leader
    }

    /// The asked one does not lead. Whom it names is asked at once, but not if it is itself, or nobody.
    fn elsewhere(&mut self, from: &Endpoint, now_ms: u64) -> Heard {
        let is_named = self.leader.as_ref().is_some_and(|leader| leader.endpoint.is_some());
        if is_named && !self.is_leader(from) {
            self.is_doubted = false;
        } else {
            self.failed(from, now_ms);
        }
        Heard::Elsewhere
    }
}
