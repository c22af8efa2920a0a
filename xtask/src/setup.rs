//! What the tests need and Cargo does not bring: Debian packages, jars of Kafka and of other makes, Python wheels,
//! Node packages. Go fetches its modules itself (`go`).
//!
//! Everything but the packages lands in `.cache/` inside the checkout. Each part carries a stamp of
//! what it was made from, so that a second call costs nothing. Only package managers' own names are
//! used; where they download from is their configuration.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::jvm::JARS;
use crate::releases;

/// Compilers at once; more only fight for two cores and memory.
const BUILD_JOBS: &str = "2";

/// Where things are once they are there.
#[derive(Clone)]
pub struct Tools {
    /// The checkout.
    pub root: PathBuf,
    /// Folder with Kafka's jars and all they need.
    pub jars: PathBuf,
    /// The same of the release before.
    pub previous_jars: PathBuf,
    /// Folder with the compiled Java suites.
    pub classes: PathBuf,
    /// Python with the client libraries.
    pub python: PathBuf,
    /// Folder with the Node client libraries.
    pub node_modules: PathBuf,
    /// Folder with the jars of makes that bring a Java client of their own, and with the programs on them.
    pub makes: PathBuf,
    /// Folder with the jars of the oldest Java client that is served, and with the program on them.
    pub oldest: PathBuf,
    /// The program `cargo-nextest`.
    pub nextest: PathBuf,
}

/// A Debian package and how to tell that what it brings is there.
const PACKAGES: [(&str, &[&str]); 9] = [
    ("kcat", &["kcat", "-V"]),
    ("build-essential", &["make", "--version"]),
    ("python3", &["python3", "--version"]),
    ("python3-venv", &["python3", "-c", "import ensurepip, venv"]),
    ("default-jdk-headless", &["javac", "-version"]),
    ("maven", &["mvn", "--version"]),
    ("nodejs", &["node", "--version"]),
    ("npm", &["npm", "--version"]),
    // Any Go will do that is installed; `go::lacks` says which version the modules need.
    ("golang-go", &["go", "version"]),
];

/// Those that Kafka needs.
const KAFKA_PACKAGES: [&str; 3] = ["build-essential", "default-jdk-headless", "maven"];

/// Installs what is missing.
pub fn run(root: &Path) -> Result<Tools, String> {
    packages(|_| true)?;
    let jars = jars(root, releases::ORACLE)?;
    let previous_jars = self::jars(root, releases::PREVIOUS)?;
    for version in releases::OLDER {
        self::jars(root, version)?;
    }
    let python = wheels(root)?;
    let node_modules = node_modules(root)?;
    let classes = classes(root, "tests/java/src", &root.join(".cache/classes"), &jars)?;
    let makes = clients(root, "makes")?;
    let oldest = clients(root, "oldest")?;
    let nextest = nextest(root)?;
    Ok(Tools {
        root: root.to_path_buf(),
        jars,
        previous_jars,
        classes,
        python,
        node_modules,
        makes,
        oldest,
        nextest,
    })
}

/// Runs a command to its end; an error names it and its exit code.
pub fn call<S: AsRef<OsStr>>(dir: &Path, program: &str, args: &[S]) -> Result<(), String> {
    let status = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .status()
        .map_err(|e| format!("{program} cannot be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} ended with {status}")) }
}

fn works(command: &[&str]) -> bool {
    let Some((program, args)) = command.split_first() else { return false };
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs what Kafka's own processes need, and nothing else: the folder of its jars.
pub fn kafka(root: &Path) -> Result<PathBuf, String> {
    packages(|name| KAFKA_PACKAGES.contains(&name))?;
    jars(root, releases::ORACLE)
}

fn packages(is_needed: impl Fn(&str) -> bool) -> Result<(), String> {
    let needed = PACKAGES.iter().filter(|(name, _)| is_needed(name));
    let missing: Vec<&str> = needed.filter(|(_, probe)| !works(probe)).map(|p| p.0).collect();
    if missing.is_empty() {
        return Ok(());
    }
    println!("setup: Debian packages {}", missing.join(" "));
    apt(&["update", "-q"])?;
    let mut install = vec!["install", "-y", "-q", "--no-install-recommends"];
    install.extend(&missing);
    apt(&install)
}

fn apt(args: &[&str]) -> Result<(), String> {
    let root = fs::metadata("/proc/self")
        .map(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
        .unwrap_or(false);
    let mut all: Vec<&str> = Vec::new();
    if !root {
        all.push("sudo");
    }
    all.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    all.extend(args);
    let (program, rest) = all.split_first().expect("not empty");
    call(Path::new("."), program, rest)
}

fn jars(root: &Path, version: &str) -> Result<PathBuf, String> {
    let base = root.join(format!(".cache/kafka-{version}"));
    let jars = base.join("jars");
    let pom = root.join("tests/java/pom.xml");
    once(&base, &[&pom], || {
        println!("setup: jars of Apache Kafka {version}");
        remove(&jars)?;
        let out = format!("-DoutputDirectory={}", jars.display());
        let property = format!("-Dkafka.version={version}");
        let pom = pom.display().to_string();
        let mut args = vec!["-q", "-B", "-f", &pom, &property];
        match version {
            releases::ORACLE => args.push("-Pstreams"),
            releases::PREVIOUS => args.push("-Pshell"),
            _ => {}
        }
        args.extend(["dependency:copy-dependencies", &out, "-DincludeScope=runtime"]);
        call(root, "mvn", &args)
    })?;
    Ok(jars)
}

fn wheels(root: &Path) -> Result<PathBuf, String> {
    let venv = root.join(".cache/venv");
    let python = venv.join("bin/python");
    let requirements = root.join("tests/python/requirements.txt");
    once(&venv, &[&requirements], || {
        println!("setup: Python clients");
        remove(&venv)?;
        call(root, "python3", &["-m", "venv", &venv.display().to_string()])?;
        let wanted = requirements.display().to_string();
        call(
            root,
            &python.display().to_string(),
            &["-m", "pip", "install", "-q", "--only-binary", ":all:", "-r", &wanted],
        )
    })?;
    Ok(python)
}

fn node_modules(root: &Path) -> Result<PathBuf, String> {
    let base = root.join(".cache/node");
    let from = ["package.json", "package-lock.json"].map(|name| root.join("tests/node").join(name));
    once(&base, &from.each_ref(), || {
        println!("setup: Node clients");
        remove(&base)?;
        fs::create_dir_all(&base).map_err(|e| format!("{}: {e}", base.display()))?;
        for path in &from {
            let to = base.join(path.file_name().unwrap_or_default());
            fs::copy(path, &to).map_err(|e| format!("{}: {e}", to.display()))?;
        }
        call(&base, "npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
    })?;
    Ok(base.join("node_modules"))
}

/// The test runner, as a wheel where there is one for this machine: compiling it takes minutes.
fn nextest(root: &Path) -> Result<PathBuf, String> {
    let base = root.join(".cache/nextest");
    let wanted = root.join("tests/python/nextest.txt");
    let wheel = base.join("venv/bin/cargo-nextest");
    let built = base.join("bin/cargo-nextest");
    once(&base, &[&wanted], || {
        println!("setup: cargo-nextest");
        remove(&base)?;
        let venv = base.join("venv").display().to_string();
        let python = base.join("venv/bin/python").display().to_string();
        let file = wanted.display().to_string();
        call(root, "python3", &["-m", "venv", &venv])?;
        let pip = ["-m", "pip", "install", "-q", "--only-binary", ":all:", "-r", &file];
        if call(root, &python, &pip).is_ok() {
            return Ok(());
        }
        println!("setup: there is no wheel of it for this machine; it is compiled");
        let into = base.display().to_string();
        call(root, "cargo", &["install", "--locked", "--quiet", "--root", &into, "cargo-nextest"])
    })?;
    Ok(if wheel.exists() { wheel } else { built })
}

/// What every call of Cargo gets: how many compilers, and where Kafka's jars are.
pub fn cargo_environment(command: &mut Command, root: &Path, jars: &Path) {
    command.current_dir(root);
    command.env("CARGO_BUILD_JOBS", BUILD_JOBS).env(JARS, jars);
}

/// Jars of clients of other versions than Kafka's own, in a folder of their own, and the programs of `tests/java/NAME` on
/// them.
fn clients(root: &Path, name: &str) -> Result<PathBuf, String> {
    let base = root.join(".cache").join(name);
    let jars = base.join("jars");
    let pom = root.join(format!("tests/java/{name}/pom.xml"));
    once(&jars, &[&pom], || {
        println!("setup: jars of clients, {name}");
        remove(&jars)?;
        let out = format!("-DoutputDirectory={}", jars.display());
        let copy = ["dependency:copy-dependencies", &out, "-DincludeScope=runtime"];
        let pom = pom.display().to_string();
        call(root, "mvn", &[&["-q", "-B", "-f", &pom], &copy[..]].concat())
    })?;
    classes(root, &format!("tests/java/{name}/src"), &base.join("classes"), &jars)?;
    Ok(base)
}

/// Compiles the sources below a folder of the checkout.
fn classes(root: &Path, from: &str, classes: &Path, jars: &Path) -> Result<PathBuf, String> {
    let mut sources = Vec::new();
    files(&root.join(from), "java", &mut sources)?;
    // The jars change when the pom beside the sources does.
    let pom = root.join(from).with_file_name("pom.xml");
    let names: Vec<&PathBuf> = sources.iter().chain([&pom]).collect();
    once(classes, &names, || {
        println!("setup: Java programs of {from}");
        remove(classes)?;
        let mut args = vec!["-nowarn".to_string(), "-Xlint:-deprecation".to_string()];
        // Java 17 goes by the locale, and a fresh machine may have none.
        args.extend(["-encoding".into(), "UTF-8".into()]);
        args.extend(["-d".into(), classes.display().to_string()]);
        args.extend(["-cp".into(), format!("{}/*", jars.display())]);
        args.extend(sources.iter().map(|path| path.display().to_string()));
        call(root, "javac", &args)
    })?;
    Ok(classes.to_path_buf())
}

/// Does the work unless the folder's stamp says that it was done from the same files.
fn once(
    folder: &Path,
    from: &[&PathBuf],
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let mut wanted = String::new();
    for path in from {
        let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        wanted.push_str(&format!("{} {:016x}\n", path.display(), fnv(&bytes)));
    }
    let stamp = folder.join("stamp");
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    work()?;
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))
}

/// Removes a file, if it is there.
pub fn remove_file(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {e}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Removes a folder, if it is there.
pub fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {e}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Collects the files below `folder` whose names end in `.extension`, in a stable order.
pub fn files(folder: &Path, extension: &str, out: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, extension, out)?;
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, enough to tell that a file changed.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
