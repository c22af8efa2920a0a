//! The Rust tests: `cargo nextest`, whose report is read, because an exit code does not say how much
//! ran.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::setup::{self, Tools};

/// The one build of the test command: its Cargo profile, and the features without which tests are
/// missing.
pub const PROFILE: &str = "ci";
const FEATURES: [&str; 2] = ["--features", "thalweg-wire/json"];
/// Examples and benchmarks are checked by clippy; linking them takes minutes.
const TARGETS: [&str; 4] = ["--workspace", "--lib", "--bins", "--tests"];

/// What ran.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tests that passed.
    pub passed: usize,
    /// Names of those that did not.
    pub failed: Vec<String>,
    /// What tests said that they left out.
    pub skipped: Vec<String>,
}

/// Builds every test and the binary `thalweg`; gives the latter's path.
pub fn build(tools: &Tools) -> Result<PathBuf, String> {
    call(tools, &["--no-run"], &[])?;
    Ok(binary(tools))
}

/// Where the build leaves the binary `thalweg`.
pub fn binary(tools: &Tools) -> PathBuf {
    tools.root.join("target").join(PROFILE).join("thalweg")
}

/// Runs all tests, with variables in their environment.
pub fn run(tools: &Tools, variables: &[(&str, &str)]) -> Result<Report, String> {
    let path = tools.root.join("target/nextest/ci/junit.xml");
    setup::remove_file(&path)?;
    let ended = call(tools, &["--profile", "ci"], variables);
    // Without a report nothing ran, and the exit code says why.
    let Ok(text) = fs::read_to_string(&path) else {
        return Err(ended.err().unwrap_or_else(|| format!("no report at {}", path.display())));
    };
    let report = read(&text);
    match (&ended, report.failed.is_empty()) {
        (Err(why), true) => Err(why.clone()),
        (Ok(()), false) => Err("the report has failures that the exit code does not tell".into()),
        _ => Ok(report),
    }
}

/// Runs the tests of one package whose names contain `filter`, with variables in their environment.
pub fn some(
    tools: &Tools,
    package: &str,
    filter: &str,
    variables: &[(&str, &str)],
) -> Result<(), String> {
    let expression = format!("package({package}) and test(/{filter}/)");
    call(tools, &["--profile", "soak", "--filterset", &expression], variables)
}

fn call(tools: &Tools, options: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    let mut command = Command::new(&tools.nextest);
    command.args(["nextest", "run", "--cargo-profile", PROFILE, "--cargo-quiet"]);
    command.args(TARGETS).args(FEATURES).args(options);
    setup::cargo_environment(&mut command, &tools.root, &tools.jars);
    command.envs(variables.iter().copied()).stdin(Stdio::null());
    let status = command.status().map_err(|e| format!("cargo-nextest cannot be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo nextest ended with {status}")) }
}

/// Reads a JUnit report. The format is a generated one: each attribute is quoted, and the text of
/// elements is escaped.
fn read(text: &str) -> Report {
    let mut report = Report::default();
    for case in text.split("<testcase ").skip(1) {
        let case = case.split("</testcase>").next().unwrap_or(case);
        let head = case.split('>').next().unwrap_or_default();
        let name = format!("{} {}", attribute(head, "classname"), attribute(head, "name"));
        if case.contains("<failure") || case.contains("<error") {
            report.failed.push(name);
        } else {
            report.passed += 1;
            let said = case.lines().filter_map(|line| line.split_once("skipped: "));
            let why = said.map(|(_, why)| why.split('<').next().unwrap_or_default());
            report.skipped.extend(why.map(|why| format!("{name}: {why}")));
        }
    }
    report
}

fn attribute<'a>(head: &'a str, name: &str) -> &'a str {
    let begin = format!(" {name}=\"");
    let padded = head.find(&begin).map(|at| at + begin.len());
    // The first attribute has no space before it.
    let at = padded.or_else(|| head.starts_with(&begin[1..]).then(|| begin.len() - 1));
    at.and_then(|at| head[at..].split('"').next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<testsuites><testsuite name="a">
        <testcase name="one" classname="a::integration" timestamp="t" time="0.1">
            <system-out>skipped: no jars</system-out>
        </testcase>
        <testcase name="two" classname="a::integration" time="0.1">
            <failure type="test failure"/><system-out>skipped: nothing</system-out>
        </testcase>
        <testcase name="three" classname="a" time="0.1">
        </testcase></testsuite></testsuites>"#;

    #[test]
    fn reports_are_counted() {
        let report = read(JUNIT);
        assert_eq!(report.passed, 2);
        assert_eq!(report.failed, ["a::integration two"]);
        assert_eq!(report.skipped, ["a::integration one: no jars"]);
        assert_eq!(read(""), Report::default());
    }
}
