//! Options that contradict each other, or that no broker can work with.

use std::process::{Command, Stdio};

use crate::limited::Limited;
use crate::records::THALWEG;

/// What `serve` says of options that it refuses.
fn refused(options: &[&str]) -> String {
    let child = Command::new(THALWEG)
        .arg("serve")
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let limited = Limited::new(&child);
    let output = child.wait_with_output().unwrap();
    drop(limited);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{options:?}: {stderr}");
    assert!(output.stdout.is_empty());
    stderr
}

#[test]
fn what_would_be_ignored_is_refused() {
    let name = format!("thalweg-options-{}", std::process::id());
    let dir = std::env::temp_dir().join(&name);
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("server.properties");
    std::fs::write(&file, "log.dirs=/nowhere/a,/nowhere/b\nlisteners=PLAINTEXT://:9\n").unwrap();
    let (file, data) = (file.to_str().unwrap(), dir.join("data"));
    let data = data.to_str().unwrap();
    let anywhere = ["--listen", "127.0.0.1:0"];
    for (options, names) in [
        (vec!["--data", data, "--set", "log.dirs=/nowhere"], ["--data", "log.dirs"]),
        (vec!["--data", data, "--set", "log.dir=/nowhere"], ["--data", "log.dir"]),
        (vec!["--set", "log.dir=a", "--set", "log.dir=b"], ["--set", "log.dir"]),
    ] {
        let said = refused(&[&anywhere[..], &options].concat());
        assert!(names.iter().all(|name| said.contains(name)), "{said}");
    }
    let said = refused(&["--config", file, "--data", data]);
    assert!(said.contains("--data") && said.contains("log.dirs"), "{said}");
    let said = refused(&["--config", file, "--listen", "127.0.0.1:0"]);
    assert!(said.contains("--listen") && said.contains("listeners"), "{said}");
    assert!(!std::path::Path::new(data).exists());
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn segments_that_the_offsets_topic_cannot_have_are_refused() {
    let said = refused(&["--data", "/nowhere", "--set", "offsets.topic.segment.bytes=1000"]);
    assert!(
        said.contains("offsets.topic.segment.bytes=1000") && said.contains("1048576"),
        "{said}"
    );
}
