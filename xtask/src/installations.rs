//! Whole installations that go from Apache Kafka to Thalweg and back (`tests/python/installations.py`): which
//! cases there are, and which of them run where there is no time for all.

use std::path::Path;
use std::process::Command;

use crate::setup::Tools;

/// How long one case may take; two run beside each other.
pub const CASE_SECONDS_MAX: u64 = 300;

/// What does not depend on the matrix.
const SINGLE: [&str; 6] = [
    "begun-by-thalweg",
    "begun-for-previous",
    "older-levels",
    "open-transaction",
    "refused",
    "server-assigned",
];

/// The matrix: static voters or a dynamic quorum, log directories, how Kafka and how Thalweg is stopped.
fn matrix() -> Vec<String> {
    let mut cases = Vec::new();
    for quorum in ["static", "dynamic"] {
        for dirs in ["1dir", "2dirs"] {
            for kafka in ["clean", "kill"] {
                cases.extend(
                    ["clean", "kill"].map(|thalweg| format!("{quorum}-{dirs}-{kafka}-{thalweg}")),
                );
            }
        }
    }
    cases
}

/// All of them.
pub fn whole() -> Vec<String> {
    let mut cases = matrix();
    cases.extend(SINGLE.map(String::from));
    cases
}

/// One of the matrix and one of the others, which differ from seed to seed.
pub fn part(seed: u64) -> Vec<String> {
    let matrix = matrix();
    let at = |count: usize| (seed % count as u64) as usize;
    // A stride of its own, so that not the same two always meet.
    let single = ((seed / matrix.len() as u64) % SINGLE.len() as u64) as usize;
    vec![matrix[at(matrix.len())].clone(), SINGLE[single].to_string()]
}

/// The suite's program, for some cases.
pub fn command(tools: &Tools, binary: &Path, scratch: &Path, cases: &[String]) -> Command {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/installations.py"));
    command.arg("--thalweg").arg(binary);
    command.arg("--jars").arg(&tools.jars).arg("--previous-jars").arg(&tools.previous_jars);
    command.arg("--classes").arg(&tools.classes);
    command.arg("--scratch").arg(scratch).args(["--cases", &cases.join(",")]);
    command
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cases::PATH;

    #[test]
    fn parts_are_all_cases_in_time_and_the_list_has_each() {
        let parts: BTreeSet<String> =
            (0..(matrix().len() * SINGLE.len()) as u64).flat_map(part).collect();
        let whole: BTreeSet<String> = whole().into_iter().collect();
        assert_eq!(parts, whole);
        let list = std::fs::read_to_string(crate::root().join(PATH)).unwrap();
        let listed: BTreeSet<String> = list
            .lines()
            .filter_map(|line| line.strip_prefix("installations.")?.split('.').next())
            .map(String::from)
            .collect();
        assert_eq!(listed, whole);
    }
}
