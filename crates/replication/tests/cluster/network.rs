//! The network between brokers and the controller: it delays, loses and reorders.

use thalweg_replication::{
    AlterPartition, Altered, Epochs, FetchAnswer, Fetched, LeaderOffset, NextFetch, Outcome, Step,
    high_watermark,
};
use thalweg_wire::ErrorCode;

use super::controller::TOPIC;
use super::{BACKOFF_MS, Cluster, RECORDS_MAX};

/// What is on its way.
#[derive(Clone, Debug)]
pub enum Message {
    Fetch {
        from: i32,
        process: u32,
        to: i32,
        broker_epoch: i64,
        ask: NextFetch,
    },
    Fetched {
        to: i32,
        process: u32,
        ask: NextFetch,
        answer: FetchAnswer,
        high_watermark: i64,
        log_start: i64,
        /// Where the records lie that are sent when this is: a log may have changed since they were found.
        source: i32,
        count: usize,
    },
    /// What a leader has read, and notes of the follower before it answers: metadata may have come meanwhile.
    Read {
        at: i32,
        process: u32,
        fetched: Fetched,
        answer: Box<Message>,
    },
    Find {
        from: i32,
        process: u32,
        to: i32,
        leader_epoch: i32,
        is_latest: bool,
    },
    Found {
        to: i32,
        process: u32,
        leader_epoch: i32,
        answer: Result<LeaderOffset, ErrorCode>,
    },
    Alter {
        from: i32,
        process: u32,
        broker_epoch: i64,
        alter: AlterPartition,
    },
    Answer {
        to: i32,
        process: u32,
        sent: AlterPartition,
        answer: Result<Altered, ErrorCode>,
    },
}

impl Cluster {
    /// A follower asks its leader.
    pub(super) fn send_fetch(&mut self, at: usize) {
        let ms = self.ms;
        let broker = &mut self.brokers[at];
        let leader = broker.replica.leader();
        let Some(follower) = &broker.follower else { return };
        if broker.is_asking || leader < 0 {
            return;
        }
        let Some(ask) = follower.next_fetch(ms) else { return };
        assert!(ask.leader_epoch > broker.fenced, "an epoch that is over is asked in again");
        broker.is_asking = true;
        self.messages.push(Message::Fetch {
            from: broker.id,
            process: broker.process,
            to: leader,
            broker_epoch: broker.epoch,
            ask,
        });
    }

    pub(super) fn deliver(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let which = self.random.below(self.messages.len());
        match self.messages.swap_remove(which) {
            Message::Fetch { from, process, to, broker_epoch, ask } => {
                self.fetch(from, process, to, broker_epoch, ask);
            }
            Message::Fetched {
                to,
                process,
                ask,
                answer,
                high_watermark,
                log_start,
                source,
                count,
            } => {
                let leaders = (log_start, high_watermark);
                self.fetched(to, process, &ask, &answer, leaders, source, count);
            }
            Message::Read { at, process, fetched, answer } => {
                self.read(at, process, &fetched, *answer);
            }
            Message::Find { from, process, to, leader_epoch, is_latest } => {
                let broker = &self.brokers[self.at(to)];
                let answer = match leader_epoch - broker.replica.leader_epoch() {
                    0 if !broker.replica.is_leader() => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
                    0 if is_latest => Ok(LeaderOffset::Latest(broker.log.end())),
                    0 => Ok(LeaderOffset::Earliest(broker.log.start)),
                    i32::MIN..0 => Err(ErrorCode::FENCED_LEADER_EPOCH),
                    1.. => Err(ErrorCode::UNKNOWN_LEADER_EPOCH),
                };
                self.messages.push(Message::Found { to: from, process, leader_epoch, answer });
            }
            Message::Found { to, process, leader_epoch, answer } => {
                let (at, retry_at) = (self.at(to), self.ms + BACKOFF_MS);
                let broker = &mut self.brokers[at];
                if broker.process == process
                    && let Some(follower) = &mut broker.follower
                {
                    let step = follower.found(leader_epoch, answer, &broker.log, retry_at);
                    self.carry_out(at, step, leader_epoch);
                }
            }
            Message::Alter { from, process, broker_epoch, alter } => {
                let answer = match self.random.chance(2) {
                    true => Err(ErrorCode::NOT_CONTROLLER),
                    false => self.alter(from, broker_epoch, &alter),
                };
                self.note(|_| format!("broker {from} asks for {alter:?}: {answer:?}"));
                self.messages.push(Message::Answer { to: from, process, sent: alter, answer });
            }
            Message::Answer { to, process, sent, answer } => {
                let at = self.at(to);
                if self.brokers[at].process == process {
                    let is_answered = matches!(
                        answer,
                        Ok(_)
                            | Err(
                                ErrorCode::OPERATION_NOT_ATTEMPTED | ErrorCode::INELIGIBLE_REPLICA
                            )
                    );
                    let asked = &mut self.brokers[at].asked;
                    let is_asked = asked.as_ref() == Some(&sent);
                    if is_answered && is_asked {
                        *asked = None;
                    }
                    self.note(|_| format!("broker {to} hears of {:?}: {answer:?}", sent.change));
                    let granted = answer.as_ref().ok().filter(|_| is_asked).cloned();
                    self.with_replica(at, |replica, now| replica.altered(&sent, answer, now));
                    self.look_at_isr(at, granted);
                }
            }
        }
    }

    /// A leader answers a follower.
    fn fetch(&mut self, from: i32, process: u32, to: i32, broker_epoch: i64, ask: NextFetch) {
        let at = self.at(to);
        if self.is_busy
            && ask.offset == self.brokers[at].log.end()
            && !self.newest().partition.isr.contains(&from)
        {
            self.produce(at);
        }
        let broker = &self.brokers[at];
        let (high_watermark, end) = (broker.log.high_watermark, broker.log.end());
        let log_start = broker.log.start;
        let mut answer = FetchAnswer { error: ErrorCode::NONE, diverging: None };
        let (mut count, mut read) = (0, None);
        let checked = broker.replica.check_fetch(from, Some(ask.leader_epoch));
        let own = broker.log.end_of(ask.last_epoch);
        let is_replica = broker
            .metadata
            .topics
            .partition(TOPIC, 0)
            .is_some_and(|it| it.replicas.contains(&from));
        let is_led =
            broker.replica.is_leader() && broker.replica.leader_epoch() == ask.leader_epoch;
        assert!(checked.is_err() || is_led && is_replica, "broker {to} answers {ask:?} of {from}");
        if let Err(error) = checked {
            answer.error = error;
        } else if ask.last_epoch >= 0 && own.is_none() || ask.offset < log_start {
            answer.error = ErrorCode::OFFSET_OUT_OF_RANGE;
        } else if let Some(own) = own
            && ask.last_epoch >= 0
            && (own.epoch < ask.last_epoch || own.end_offset < ask.offset)
        {
            answer.diverging = Some(own);
        } else if ask.offset > end {
            answer.error = ErrorCode::OFFSET_OUT_OF_RANGE;
        } else {
            count = RECORDS_MAX.min((end - ask.offset) as usize);
            read = Some(Fetched {
                replica: from,
                leader_epoch: ask.leader_epoch,
                broker_epoch,
                offset: ask.offset,
                log_start: self.brokers[self.at(from)].log.start,
                leader_end: end,
            });
        }
        let (leader, source, leader_process) = (to, to, broker.process);
        let to = from;
        let answer =
            Message::Fetched { to, process, ask, answer, high_watermark, log_start, source, count };
        self.messages.push(match read {
            None => answer,
            Some(fetched) => Message::Read {
                at: leader,
                process: leader_process,
                fetched,
                answer: Box::new(answer),
            },
        });
    }

    /// A leader has read for a follower.
    fn read(&mut self, at: i32, process: u32, fetched: &Fetched, mut message: Message) {
        let at = self.at(at);
        if self.brokers[at].process != process {
            self.lost(&message);
            return;
        }
        let before = self.brokers[at].replica.progress(fetched.replica).map(|it| it.log_end);
        let mut refused = None;
        self.with_replica(at, |replica, now| {
            replica.fetched(fetched, now).unwrap_or_else(|error| {
                refused = Some(error);
                Outcome::default()
            })
        });
        match (refused, &mut message) {
            (Some(error), Message::Fetched { answer, count, .. }) => {
                (answer.error, *count) = (error, 0);
            }
            _ => self.look_at_fetch(at, before, fetched),
        }
        self.look_at_low_watermark(at);
        self.messages.push(message);
    }

    /// A follower hears its leader's answer.
    #[allow(clippy::too_many_arguments)]
    fn fetched(
        &mut self,
        to: i32,
        process: u32,
        ask: &NextFetch,
        answer: &FetchAnswer,
        (leaders_start, leaders): (i64, i64),
        source: i32,
        count: usize,
    ) {
        let source = &self.brokers[self.at(source)].log;
        let found = match ask.offset >= source.start {
            true => source.between(ask.offset, ask.offset + count as i64).to_vec(),
            false => Vec::new(),
        };
        let (at, retry_at) = (self.at(to), self.ms + BACKOFF_MS);
        let broker = &mut self.brokers[at];
        if broker.process != process {
            return;
        }
        broker.is_asking = false;
        let Some(follower) = &mut broker.follower else { return };
        if answer.error == ErrorCode::FENCED_LEADER_EPOCH {
            broker.fenced = broker.fenced.max(ask.leader_epoch);
        }
        let step = follower.answered(ask, answer, &broker.log, retry_at);
        if step == Step::Append && Some(to) == self.is_full {
            return follower.failed(retry_at);
        }
        if step == Step::Append {
            let before = broker.log.end();
            for record in found {
                if record.epoch > ask.leader_epoch {
                    break;
                }
                broker.log.append(record);
            }
            let to = high_watermark(broker.log.end(), leaders);
            broker.log.high_watermark = broker.log.high_watermark.max(to);
            let start = leaders_start.min(broker.log.high_watermark).max(broker.log.start);
            broker.log.delete(start);
            follower.moved(&broker.log);
            let (id, epoch, end) = (broker.id, ask.leader_epoch, broker.log.end());
            if end > before {
                self.note(|it| {
                    let records = it.brokers[at].log.between(before, end);
                    let records: Vec<_> = records.iter().map(|it| (it.epoch, it.value)).collect();
                    format!("broker {id} appends {records:?} at {before} in {epoch}")
                });
            }
            self.look(at);
        } else {
            self.carry_out(at, step, ask.leader_epoch);
        }
    }

    fn carry_out(&mut self, at: usize, step: Step, leader_epoch: i32) {
        let broker = &mut self.brokers[at];
        let Some(follower) = &mut broker.follower else { return };
        let is_latest = step == Step::FindLatest;
        match step {
            Step::Nothing | Step::Append => {}
            Step::Truncate(to) => {
                let (id, end) = (broker.id, broker.log.end());
                // A log of which all is deleted has an epoch of its own for its end, of what it diverged in.
                let is_committed = to.max(self.deleted) < broker.log.high_watermark;
                assert!(!is_committed || self.has_lost, "broker {id} cuts off what is committed");
                broker.log.truncate(to);
                follower.moved(&broker.log);
                self.note(|_| {
                    format!("broker {id} truncates from {end} to {to} in {leader_epoch}")
                });
                self.look(at);
                self.look_at_complete();
            }
            Step::StartAt(start) => {
                let id = broker.id;
                broker.log.begin_at(start);
                follower.moved(&broker.log);
                self.note(|_| format!("broker {id} begins anew at {start} in {leader_epoch}"));
                self.look(at);
                self.look_at_complete();
                // The next leader may have less than that.
                if self.may_lose && !self.is_healed && self.random.chance(50) {
                    self.fence_complete();
                }
            }
            Step::FindLatest | Step::FindEarliest => {
                let (from, process, to) = (broker.id, broker.process, broker.replica.leader());
                let find = Message::Find { from, process, to, leader_epoch, is_latest };
                // The answer is about a leader that leads no more.
                if !self.is_healed && self.random.chance(20) {
                    self.slow.push(find);
                    return self.elect_any();
                }
                self.messages.push(find);
            }
        }
    }

    /// What a broker has fetched, or is about to, takes long: its leader learns of it when other things are so.
    pub(super) fn delay_fetches(&mut self, of: i32) {
        let is_fetch = |message: &mut Message| match message {
            Message::Fetch { from, .. } => *from == of,
            Message::Read { fetched, .. } => fetched.replica == of,
            _ => false,
        };
        self.slow.extend(self.messages.extract_if(.., is_fetch));
    }

    /// Whoever waits for an answer hears that the connection is gone.
    pub(super) fn lost(&mut self, message: &Message) {
        let retry_at = self.ms + BACKOFF_MS;
        match message {
            Message::Fetch { from: id, process, .. } | Message::Fetched { to: id, process, .. } => {
                let at = self.at(*id);
                let broker = &mut self.brokers[at];
                if broker.process == *process {
                    broker.is_asking = false;
                    if let Some(follower) = &mut broker.follower {
                        follower.failed(retry_at);
                    }
                }
            }
            Message::Read { answer, .. } => self.lost(answer),
            Message::Find { from: id, process, .. } | Message::Found { to: id, process, .. } => {
                let at = self.at(*id);
                let broker = &mut self.brokers[at];
                if broker.process == *process
                    && let Some(follower) = &mut broker.follower
                {
                    follower.failed(retry_at);
                }
            }
            Message::Alter { from, process, alter, .. } => {
                let (to, process, sent) = (*from, *process, alter.clone());
                let answer = Err(ErrorCode::NETWORK_EXCEPTION);
                self.messages.push(Message::Answer { to, process, sent, answer });
            }
            Message::Answer { to, process, sent, .. } => {
                let (to, process, sent) = (*to, *process, sent.clone());
                let answer = Err(ErrorCode::NETWORK_EXCEPTION);
                self.messages.push(Message::Answer { to, process, sent, answer });
            }
        }
    }
}
