//! Members of groups that are not this client's: the Java consumer's and librdkafka's (kcat).

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use thalweg::TopicPartition;
use thalweg_testkit::kafka::Shared;

use super::traffic::{Book, until};

/// Whose client the other member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Other {
    Java,
    Kcat,
}

impl Other {
    /// Its client id, with which its member id begins.
    pub fn name(self) -> &'static str {
        match self {
            Other::Java => "java",
            Other::Kcat => "kcat",
        }
    }
}

/// What the program of Java members says of one of them.
#[derive(Clone)]
pub struct Told {
    book: Book,
    has_left: Arc<AtomicBool>,
    /// Times that it was told what it has.
    assigned: Arc<AtomicUsize>,
}

/// The program `mixed/Members.java`: all Java consumers of all groups.
pub struct Java {
    child: Child,
    input: Mutex<ChildStdin>,
    members: Arc<Mutex<HashMap<String, Told>>>,
    /// What one of them said that none should.
    complaint: Arc<Mutex<Option<String>>>,
}

impl Java {
    pub fn start(kafka: &Shared) -> Java {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mixed/Members.java");
        let mut command = kafka.java();
        command.arg(source).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("java starts");
        let input = Mutex::new(child.stdin.take().expect("a pipe"));
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let members: Arc<Mutex<HashMap<String, Told>>> = Arc::default();
        let complaint = Arc::<Mutex<Option<String>>>::default();
        let (known, complained) = (Arc::clone(&members), Arc::clone(&complaint));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let words: Vec<&str> = line.split(' ').collect();
                let told = words.first().and_then(|name| known.lock().unwrap().get(*name).cloned());
                match (told, &words[1..]) {
                    // By its own name: one that comes after another may read what that one read.
                    (Some(told), ["read", place @ ..]) => {
                        note(&words[0].into(), &told.book, place);
                    }
                    (Some(told), ["left"]) => told.has_left.store(true, Ordering::SeqCst),
                    (Some(told), ["assigned"]) => {
                        told.assigned.fetch_add(1, Ordering::SeqCst);
                    }
                    _ => {
                        complained.lock().unwrap().get_or_insert(line);
                    }
                }
            }
        });
        Java { child, input, members, complaint }
    }

    /// None of them said that something went wrong.
    pub fn check(&self) {
        let complaint = self.complaint.lock().unwrap();
        assert!(complaint.is_none(), "a member in Java: {complaint:?}");
    }

    fn tell(&self, line: &str) {
        writeln!(self.input.lock().unwrap(), "{line}").expect("the Java program listens");
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes `TOPIC PARTITION OFFSET`.
fn note(who: &Arc<str>, book: &Book, place: &[&str]) {
    let [topic, partition, offset] = place else { panic!("not a place: {place:?}") };
    let at = TopicPartition::new((*topic).to_owned(), partition.parse().unwrap());
    book.note(who, at, offset.parse().unwrap());
}

/// The other member, from joining to leaving.
pub enum Member<'j> {
    Java { java: &'j Java, name: String, told: Told },
    Kcat { child: Child, reading: std::thread::JoinHandle<()> },
}

impl Member<'_> {
    pub fn join<'j>(
        java: &'j Java,
        other: Other,
        topics: &[(&str, i32)],
        configs: &[String],
        name: String,
        book: Book,
    ) -> Member<'j> {
        let topics = topics.iter().map(|(topic, _)| *topic);
        match other {
            Other::Java => {
                let told = Told { book, has_left: Arc::default(), assigned: Arc::default() };
                java.members.lock().unwrap().insert(name.clone(), told.clone());
                let topics: Vec<&str> = topics.collect();
                java.tell(&format!("join {name} {} {}", topics.join(","), configs.join(" ")));
                Member::Java { java, name, told }
            }
            Other::Kcat => {
                let mut command = Command::new("kcat");
                let group = configs.iter().find_map(|config| config.strip_prefix("group.id="));
                command.args(["-q", "-u", "-f", "%t %p %o\\n", "-G", group.unwrap()]);
                command.args(topics);
                for config in configs.iter().filter(|config| !config.starts_with("group.id=")) {
                    command.args(["-X", config]);
                }
                command.stdin(Stdio::null()).stdout(Stdio::piped());
                let mut child = command.spawn().expect("kcat starts");
                let output = BufReader::new(child.stdout.take().expect("a pipe"));
                let reading = std::thread::spawn(move || {
                    let who = Other::Kcat.name().into();
                    for line in output.lines().map_while(Result::ok) {
                        note(&who, &book, &line.split(' ').collect::<Vec<_>>());
                    }
                });
                Member::Kcat { child, reading }
            }
        }
    }

    /// Times that it was told what it has, where that is known.
    pub fn assigned(&self) -> usize {
        match self {
            Member::Java { told, .. } => told.assigned.load(Ordering::SeqCst),
            Member::Kcat { .. } => 0,
        }
    }

    /// Leaves as one does who means it, and waits until that is done.
    pub async fn leave(self) {
        match self {
            Member::Java { java, name, told } => {
                java.tell(&format!("leave {name}"));
                until("leaving", async || {
                    java.check();
                    told.has_left.load(Ordering::SeqCst)
                })
                .await;
            }
            Member::Kcat { mut child, reading } => {
                let id = child.id().to_string();
                let told = Command::new("kill").args(["-TERM", &id]).status().expect("kill");
                assert!(told.success());
                until("leaving", async || child.try_wait().expect("a status").is_some()).await;
                reading.join().expect("what kcat said is understood");
            }
        }
    }
}
