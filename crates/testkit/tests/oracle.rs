//! The oracles' Java virtual machine: what its programs say comes back, and one that is dead, dies or
//! hangs fails whoever waits for it, with that reason.
//!
//! Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable only those tests run that need no virtual machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use thalweg_testkit::oracle::{self, Program, SILENCE_MAX};

/// Something that listens where a virtual machine should, and what it does with a connection.
fn instead(then: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || then(listener.accept().unwrap().0));
    address
}

/// Why a program's output cannot be read.
fn failure(address: &str, silence_max: Duration) -> String {
    let program = Program::class("SomeTool");
    let (_input, mut output) = program.start_at(address, silence_max).unwrap();
    output.read_to_end(&mut Vec::new()).unwrap_err().to_string()
}

#[test]
fn one_that_is_dead_is_said_to_be() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let error = Program::class("SomeTool").start_at(&nobody, SILENCE_MAX).unwrap_err().to_string();
    let words = format!("the oracles' Java virtual machine at {nobody}: ");
    assert!(error.starts_with(&words), "{error}");
}

#[test]
fn one_that_dies_is_no_end_of_the_program() {
    // In the middle of a frame of ten bytes, with something on standard error before.
    let address = instead(|mut stream| {
        stream.read_exact(&mut [0; 20]).unwrap();
        stream.write_all(b"\x02\0\0\0\x05oh no\x01\0\0\0\x0aabc").unwrap();
    });
    let error = failure(&address, SILENCE_MAX);
    assert!(error.contains(&format!("SomeTool at {address} ended before it; oh no")), "{error}");
    // Between two frames.
    let address = instead(|mut stream| {
        stream.read_exact(&mut [0; 20]).unwrap();
        stream.write_all(b"\x01\0\0\0\x03abc").unwrap();
    });
    let error = failure(&address, SILENCE_MAX);
    assert!(error.contains("ended before it"), "{error}");
}

#[test]
fn one_that_hangs_is_not_waited_for() {
    let address = instead(|mut stream| {
        // Until the other side goes.
        let _ = stream.read_to_end(&mut Vec::new());
        std::thread::park();
    });
    let error = failure(&address, Duration::from_millis(100));
    assert!(error.contains("said nothing for 100ms"), "{error}");
}

#[test]
fn programs_have_their_own_streams_and_codes() {
    if oracle::jars().is_none() {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/Echo.java");
    let echo = |name: &str| Program::source(source, "Echo").arg(name);
    // Two at once, each with a line of the other's in between.
    let mut pairs = ["a", "b c"].map(|name| {
        let (input, output) = echo(name).start();
        (name, input, BufReader::new(output))
    });
    for text in ["one", "two"] {
        for (_, input, _) in &mut pairs {
            writeln!(input, "{text}").unwrap();
        }
        for (name, _, output) in &mut pairs {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, format!("{name}: {text}\n"));
        }
    }
    for (name, input, output) in pairs {
        drop(input);
        let done = output.into_inner().finish();
        assert_eq!(
            (done.status, done.output, done.errors),
            (0, String::new(), format!("{name} ends\n"))
        );
    }
    // What goes wrong is told.
    let done = Program::class("no.such.Class").run();
    assert!(done.status == 1 && done.errors.contains("ClassNotFoundException"), "{done:?}");
    let broken = std::env::temp_dir().join(format!("Broken{}.java", std::process::id()));
    std::fs::write(&broken, "class Broken {").unwrap();
    let done = Program::source(&broken, "Broken").run();
    std::fs::remove_file(&broken).unwrap();
    assert!(done.status == 1 && done.errors.contains("does not compile"), "{done:?}");
    // What ends the process ends only itself, with the first code, also where that is caught.
    let done = Program::source(source, "Echo").args(["exit", "3"]).run();
    assert_eq!((done.status, done.output, done.errors), (3, "before\n".to_owned(), String::new()));
    let tool = Program::class("org.apache.kafka.tools.DumpLogSegments");
    let done = tool.arg("--no-such-option").run();
    assert!(done.status == 1 && done.errors.contains("no-such-option"), "{done:?}");
    let done = echo("still there").run();
    assert_eq!(done.status, 0, "{done:?}");
}
