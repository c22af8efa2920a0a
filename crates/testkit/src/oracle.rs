//! Kafka's own classes as the oracle: programs in Java that run in one virtual machine for all tests.
//!
//! Each is a connection to `java/OracleServer.java`, with its own arguments, standard streams and exit
//! code. `THALWEG_ORACLE` says where the virtual machine listens that xtask started; without it this
//! process starts one of its own, which ends with it. A virtual machine that dies, or says nothing for
//! [`SILENCE_MAX`], fails the test that waits for it, with that reason.
//!
//! Tests of crates that do not depend on this one include the file.

// Each test binary uses its own part of this.
#![allow(dead_code)]

#[path = "jvm.rs"]
mod jvm;

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use jvm::{JARS, Jvm, ORACLE};

/// How long a program may say nothing while somebody waits for it.
pub const SILENCE_MAX: Duration = Duration::from_secs(120);

const OUT: u8 = 1;
const ERR: u8 = 2;
const END: u8 = 3;

/// The directory with Kafka's jars, or `None`, with a word about it, if there is none.
///
/// # Panics
/// If the variable names something else.
pub fn jars() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(JARS) else {
        eprintln!("skipped: {JARS} is not set");
        return None;
    };
    let folder = PathBuf::from(folder);
    let is_kafka = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{JARS}={}: {error}", folder.display()))
        .filter_map(Result::ok)
        .any(|entry| entry.file_name().to_string_lossy().starts_with("kafka-server-"));
    assert!(is_kafka, "{JARS}={} has no jars of Kafka", folder.display());
    Some(folder)
}

/// The directory with the jars of another release, beside that of the first one; `None` where there is none of that
/// either.
///
/// # Panics
/// If only this one is missing.
pub fn jars_of(version: &str) -> Option<PathBuf> {
    let folder = jars()?.join(format!("../../kafka-{version}/jars"));
    assert!(
        folder.is_dir(),
        "{} is missing: `cargo xtask test` gets the jars of Kafka {version}",
        folder.display()
    );
    Some(folder)
}

/// Where the virtual machine listens: the one that was started for all tests, or this process's own.
fn address() -> String {
    static OWN: OnceLock<Jvm> = OnceLock::new();
    if let Ok(address) = std::env::var(ORACLE) {
        return address;
    }
    let own = OWN.get_or_init(|| {
        let jars = jars().unwrap_or_else(|| panic!("nothing can be asked without {JARS}"));
        let scratch = std::env::temp_dir().join(format!("thalweg-oracle-{}", std::process::id()));
        Jvm::start(&jars, &scratch).unwrap_or_else(|error| panic!("{error}"))
    });
    own.address.clone()
}

/// A program, as `java` is told of it.
#[derive(Clone, Debug)]
pub struct Program {
    source: String,
    class: String,
    args: Vec<String>,
}

impl Program {
    /// A class of Kafka's.
    pub fn class(name: &str) -> Program {
        Program { source: String::new(), class: name.to_owned(), args: Vec::new() }
    }

    /// A class with a source file of its own, without a package unless `name` has one.
    pub fn source(path: impl AsRef<Path>, name: &str) -> Program {
        Program { source: path.as_ref().display().to_string(), ..Program::class(name) }
    }

    /// Adds a source file that has to be compiled with the first one.
    pub fn with(mut self, path: impl AsRef<Path>) -> Program {
        self.source = format!("{}:{}", self.source, path.as_ref().display());
        self
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl ToString) -> Program {
        self.args.push(arg.to_string());
        self
    }

    /// Adds arguments.
    pub fn args<A: ToString>(mut self, args: impl IntoIterator<Item = A>) -> Program {
        self.args.extend(args.into_iter().map(|arg| arg.to_string()));
        self
    }

    /// Starts it: its standard input and its output.
    ///
    /// # Panics
    /// If the virtual machine does not take it.
    pub fn start(&self) -> (Input, Output) {
        self.start_at(&address(), SILENCE_MAX).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts it in the virtual machine that listens there, for somebody who waits so long for each word.
    ///
    /// # Errors
    /// If the virtual machine does not take it.
    pub fn start_at(&self, address: &str, silence_max: Duration) -> io::Result<(Input, Output)> {
        let failed = |error: io::Error| {
            let words = format!("the oracles' Java virtual machine at {address}: {error}");
            io::Error::new(error.kind(), words)
        };
        let stream = TcpStream::connect(address).map_err(failed)?;
        let set = || {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(silence_max))?;
            stream.set_write_timeout(Some(silence_max))
        };
        set().map_err(failed)?;
        let mut request = Vec::new();
        put(&mut request, &self.source);
        put(&mut request, &self.class);
        request.extend((self.args.len() as i32).to_be_bytes());
        self.args.iter().for_each(|arg| put(&mut request, arg));
        (&stream).write_all(&request).map_err(failed)?;
        let input = Input(stream.try_clone().map_err(failed)?);
        let output = Output {
            frames: BufReader::with_capacity(1 << 16, stream),
            program: format!("{} at {address}", self.class),
            silence_max,
            left: 0,
            errors: Vec::new(),
            status: None,
        };
        Ok((input, output))
    }

    /// Runs it to its end, without any input.
    ///
    /// # Panics
    /// If the virtual machine fails.
    pub fn run(&self) -> Done {
        let (input, output) = self.start();
        drop(input);
        output.finish()
    }

    /// The same, for one that must end well: what it printed.
    ///
    /// # Panics
    /// If it fails.
    pub fn succeed(&self) -> String {
        let done = self.run();
        assert_eq!(done.status, 0, "{self:?}: {}{}", done.output, done.errors);
        done.output
    }
}

fn put(request: &mut Vec<u8>, text: &str) {
    request.extend((text.len() as i32).to_be_bytes());
    request.extend(text.as_bytes());
}

/// A program's standard input, which ends when this is dropped.
#[derive(Debug)]
pub struct Input(TcpStream);

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// A program's standard output, to be read to its end.
#[derive(Debug)]
pub struct Output {
    frames: BufReader<TcpStream>,
    /// What runs, and where.
    program: String,
    silence_max: Duration,
    /// Bytes of the frame in hand that were not read yet.
    left: usize,
    errors: Vec<u8>,
    status: Option<i32>,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Done {
    /// Its exit code.
    pub status: i32,
    /// What it printed, but for what was read of that before.
    pub output: String,
    /// What it said on standard error.
    pub errors: String,
}

impl Output {
    /// Reads until the program has ended.
    ///
    /// # Panics
    /// If the virtual machine fails, or the program prints something else than UTF-8.
    pub fn finish(mut self) -> Done {
        let mut output = String::new();
        self.read_to_string(&mut output).unwrap_or_else(|error| panic!("{error}"));
        let errors = String::from_utf8_lossy(&self.errors).into_owned();
        Done { status: self.status.unwrap_or(-1), output, errors }
    }

    /// Takes the head of a frame, and all of those that are no output.
    fn next_frame(&mut self) -> io::Result<()> {
        let mut head = [0; 5];
        self.frames.read_exact(&mut head)?;
        let [kind, number @ ..] = head;
        let number = i32::from_be_bytes(number);
        let length = usize::try_from(number).unwrap_or_default();
        match kind {
            OUT => self.left = length,
            ERR => {
                let begin = self.errors.len();
                self.errors.resize(begin + length, 0);
                self.frames.read_exact(&mut self.errors[begin..])?;
            }
            END => self.status = Some(number),
            _ => {
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    format!("a frame of kind {kind}"),
                ));
            }
        }
        Ok(())
    }

    fn read_some(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 {
            if self.status.is_some() {
                return Ok(0);
            }
            self.next_frame()?;
        }
        let most = self.left.min(bytes.len());
        let count = self.frames.read(&mut bytes[..most])?;
        if count == 0 && most > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= count;
        Ok(count)
    }
}

impl Read for Output {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.read_some(bytes).map_err(|error| {
            let program = &self.program;
            let said = String::from_utf8_lossy(&self.errors);
            let why = match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    format!("said nothing for {:?}", self.silence_max)
                }
                ErrorKind::UnexpectedEof
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted => "ended before it".to_owned(),
                _ => error.to_string(),
            };
            let words = format!("the Java virtual machine of {program} {why}; {said}");
            io::Error::other(words)
        })
    }
}
