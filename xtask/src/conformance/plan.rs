//! What of the client suites is run, and against which brokers.

use std::path::PathBuf;

use super::{JAVA, MAKES, OLDEST, OTHERS, PREVIOUS, Target};
use crate::cases::Cases;
use crate::setup::Tools;

/// What to run.
#[derive(Clone)]
pub struct Plan {
    /// Brokers, in order; what they showed is compared when there are two. Kafka twice tells
    /// whether a suite is steady.
    pub targets: Vec<Target>,
    /// Suites by name; empty means all of them.
    pub suites: Vec<String>,
    /// Only cases whose name contains this.
    pub case: String,
    /// Kills in the kill suite.
    pub kill_rounds: u32,
    /// What the suite of kills draws from.
    pub seed: u64,
    /// Cases of the suite of whole installations.
    pub installations: Vec<String>,
    /// The binary `thalweg`.
    pub binary: PathBuf,
    /// Settings of Thalweg's broker beside those of the suites, as name=value.
    pub settings: Vec<String>,
    /// The list of cases is replaced by the cases that run, instead of being compared with them.
    pub record_cases: bool,
    /// Whether the make krafka is built, which takes a minute, and has its cases.
    pub krafka: bool,
}

impl Plan {
    /// The cases that must run.
    pub(super) fn listed(&self, tools: &Tools) -> Result<Cases, String> {
        let listed = Cases::read(&tools.root);
        if self.record_cases { Ok(listed.unwrap_or_default()) } else { listed }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.suites.is_empty() && self.case.is_empty()
    }

    /// Whether a suite is to run against a broker.
    pub(super) fn wants(&self, target: Target, suite: &str) -> bool {
        let asked = self.suites.iter().any(|name| name == suite);
        match suite {
            // A handover needs both, and starts Kafka itself.
            "handover" | "chaos" | "exactly_once" | "bank" | "rolling" | "installations"
            | "coordinator_moves" | PREVIOUS => {
                target == Target::Thalweg && (asked || self.suites.is_empty())
            }
            // It also looks into directories, and asks for what Kafka does not promise.
            "kills" | "transaction_kills" => {
                target == Target::Thalweg && (asked || self.suites.is_empty())
            }
            // Kafka needs ten seconds a round to come back: there it only shows that the suite is right.
            "kill" => asked || (self.suites.is_empty() && target == Target::Thalweg),
            // Its cases note answers: they say nothing without the broker that says what is right.
            "answers" => self.targets.len() > 1 && (asked || self.suites.is_empty()),
            // What is left behind by single cases is not all there must be.
            "directory" => self.is_whole(),
            _ => asked || self.suites.is_empty(),
        }
    }

    /// Whether a case is to run against a broker.
    pub(super) fn wants_case(&self, target: Target, case: &str) -> bool {
        // Java's suites share a program, and its name comes first.
        let java = case.strip_prefix("java.");
        let (suite, name) = java.unwrap_or(case).split_once('.').unwrap_or((case, ""));
        match suite {
            // Whatever ran, the broker under the suites must have lived; single suites have none.
            "broker" => {
                let others = OTHERS.into_iter().flatten();
                let mut under_it = JAVA.iter().chain(others).chain(&[MAKES]);
                under_it.any(|name| self.wants(target, name))
            }
            "kill" => {
                // The list has the rounds of the longest form.
                let round = name.strip_prefix("round-").and_then(|number| number.parse().ok());
                self.wants(target, suite)
                    && round.is_none_or(|round: u32| round <= self.kill_rounds)
            }
            "kills" | "transaction_kills" | "handover" | "chaos" | "exactly_once" | "bank"
            | "rolling" | "coordinator_moves" | "directory" => self.wants(target, suite),
            "installations" => {
                let chosen = name.split('.').next().unwrap_or_default();
                self.wants(target, suite) && self.installations.iter().any(|one| one == chosen)
            }
            // One program, whose parts need each other.
            OLDEST => self.wants(target, PREVIOUS) && OLDEST.contains(&self.case),
            MAKES if name.starts_with("krafka-") && !self.krafka => false,
            _ => self.wants(target, suite) && java.unwrap_or(name).contains(&self.case),
        }
    }

    /// What a user might miss among the results.
    pub(super) fn left_out(&self) -> Vec<String> {
        let alone = self.targets.len() < 2;
        let skipped = |what: &str| {
            println!("skip {what}");
            what.to_string()
        };
        alone
            .then(|| skipped("answers: there is no second broker to compare with"))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_of_krafka_are_wanted_only_where_it_is_built() {
        let mut plan = Plan {
            targets: vec![Target::Thalweg],
            suites: Vec::new(),
            case: String::new(),
            kill_rounds: 1,
            seed: 0,
            installations: Vec::new(),
            binary: PathBuf::new(),
            settings: Vec::new(),
            record_cases: false,
            krafka: false,
        };
        let wants = |plan: &Plan, case| plan.wants_case(Target::Thalweg, case);
        assert!(!wants(&plan, "makes.krafka-server") && wants(&plan, "makes.kafka_go-server"));
        plan.krafka = true;
        assert!(wants(&plan, "makes.krafka-server"));
    }
}
