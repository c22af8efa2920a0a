//! `thalweg user`.

use std::collections::BTreeMap;
use std::fs::File;
use std::future::pending;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use thalweg::Mechanism;
use thalweg::admin::ScramChange;

use super::password::{self, GivenUp};
use crate::client::{Align, CliError, ClientArgs, CommandContext, Table, Tally};

/// Options of `thalweg user`.
#[derive(Args)]
pub struct UserArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Subcommand)]
enum UserCommand {
    /// List users with SCRAM passwords.
    List {
        /// Users [default: all]
        names: Vec<String>,
    },
    /// Give a user a password, which is read from standard input, or from a file: its first line.
    /// A terminal asks for it, and does not show it.
    ///
    /// The password does not leave this machine: what is sent can check one, but not tell it.
    SetPassword(SetArgs),
    /// Take a user's passwords away.
    Delete {
        /// User
        name: String,
        /// Only that for this mechanism; may be repeated [default: all there are]
        #[arg(long, value_parser = parse_mechanism)]
        mechanism: Vec<Mechanism>,
    },
}

#[derive(Args)]
struct SetArgs {
    /// User
    name: String,
    /// For which mechanism: SCRAM-SHA-256 or SCRAM-SHA-512; may be repeated
    #[arg(long, value_parser = parse_mechanism, default_value = "SCRAM-SHA-512")]
    mechanism: Vec<Mechanism>,
    /// How often it is hashed
    #[arg(long, value_parser = clap::value_parser!(u32).range(4_096..=16_384), default_value_t = 8_192)]
    iterations: u32,
    /// A file whose first line is the password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

fn parse_mechanism(text: &str) -> Result<Mechanism, String> {
    match Mechanism::from_name(&text.to_ascii_uppercase()) {
        Some(mechanism @ (Mechanism::ScramSha256 | Mechanism::ScramSha512)) => Ok(mechanism),
        _ => Err(format!("'{text}' is neither SCRAM-SHA-256 nor SCRAM-SHA-512")),
    }
}

/// Runs `thalweg user`.
pub fn run(args: UserArgs) -> ExitCode {
    crate::client::run(async {
        match args.command {
            UserCommand::List { names } => {
                list(CommandContext::open(&args.client).await?, names).await
            }
            UserCommand::SetPassword(set) => {
                // Read first: nobody waits for a connection while somebody types.
                let (password, given_up) = password_of(&set).await?;
                let setting = async {
                    set_password(CommandContext::open(&args.client).await?, set, password).await
                };
                tokio::select! {
                    result = setting => result,
                    () = given_up => {
                        let why = "given up; whether the password was set is not known";
                        Err(CliError::Failed(why.into()))
                    }
                }
            }
            UserCommand::Delete { name, mechanism } => {
                delete(CommandContext::open(&args.client).await?, name, mechanism).await
            }
        }
    })
}

/// The first line of what is given, and what to wait for beside what is done with it.
async fn password_of(args: &SetArgs) -> Result<(Arc<str>, GivenUp), CliError> {
    let (password, given_up): (_, GivenUp) = match &args.password_file {
        Some(path) => {
            let line = File::open(path).map(BufReader::new).and_then(password::first_line);
            // The path is not shown: it may be a password that was given in place of a file.
            let line = line.map_err(|error| {
                let text = format!("the file of --password-file cannot be used: {error}");
                match error.kind() {
                    std::io::ErrorKind::NotFound => CliError::NotFound(text),
                    _ => CliError::Usage(text),
                }
            })?;
            (line, Box::pin(pending()))
        }
        None => {
            let failed =
                |why: &dyn std::fmt::Display| CliError::Failed(format!("no password: {why}"));
            let asked = password::ask(&format!("Password of {}: ", args.name)).await;
            let (typed, given_up) = asked.map_err(|error| failed(&error))?;
            (typed.ok_or_else(|| failed(&"given up"))?, given_up)
        }
    };
    if password.is_empty() {
        return Err(CliError::Usage("the password is empty".into()));
    }
    Ok((password.into(), given_up))
}

async fn list(mut session: CommandContext, names: Vec<String>) -> Result<(), CliError> {
    let wanted = (!names.is_empty()).then_some(names);
    let mut tally = Tally::default();
    let mut table = Table::new([
        ("USER", Align::Left),
        ("MECHANISM", Align::Left),
        ("ITERATIONS", Align::Right),
    ]);
    let mut all = Vec::new();
    for (user, result) in session.admin.describe_user_scram_credentials(wanted).await? {
        for credential in tally.take(format!("user {user}"), result).unwrap_or_default() {
            let mechanism = credential.mechanism.map_or("unknown", Mechanism::name);
            let iterations = credential.iterations;
            table.row([user.clone(), mechanism.to_owned(), iterations.to_string()]);
            all.push(json!({"user": user, "mechanism": mechanism, "iterations": iterations}));
        }
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false if tally.is_whole() => session.out.table_of("users with passwords", &table)?,
        false => session.out.table(&table)?,
    }
    tally.conclude(session.out)
}

async fn set_password(
    session: CommandContext,
    args: SetArgs,
    password: Arc<str>,
) -> Result<(), CliError> {
    let change = |mechanism| ScramChange::Set {
        mechanism,
        iterations: args.iterations,
        password: Arc::clone(&password),
    };
    alter(session, args.name, args.mechanism, change, "password set").await
}

async fn delete(
    session: CommandContext,
    name: String,
    mut mechanisms: Vec<Mechanism>,
) -> Result<(), CliError> {
    if mechanisms.is_empty() {
        let wanted = Some(vec![name.clone()]);
        let mut found = session.admin.describe_user_scram_credentials(wanted).await?;
        let missing = || CliError::NotFound(format!("there is no user {name} with a password"));
        let credentials = found.remove(&name).ok_or_else(missing)??;
        mechanisms.extend(credentials.into_iter().filter_map(|credential| credential.mechanism));
        mechanisms.sort_by_key(|mechanism| mechanism.name());
        if mechanisms.is_empty() {
            return Err(missing());
        }
    }
    alter(session, name, mechanisms, ScramChange::Delete, "deleted").await
}

/// Makes a change for each mechanism, in a request each: Kafka refuses a request that names a user
/// twice.
async fn alter(
    mut session: CommandContext,
    name: String,
    mechanisms: Vec<Mechanism>,
    change: impl Fn(Mechanism) -> ScramChange,
    done: &str,
) -> Result<(), CliError> {
    let mut tally = Tally::default();
    let mut all = Vec::new();
    let mut seen = Vec::new();
    for mechanism in mechanisms {
        if seen.contains(&mechanism) {
            continue;
        }
        seen.push(mechanism);
        let changes = BTreeMap::from([(name.clone(), vec![change(mechanism)])]);
        for (user, result) in session.admin.alter_user_scram_credentials(changes).await {
            let failure = result.as_ref().err().map(ToString::to_string);
            let item = format!("user {user}, {}", mechanism.name());
            if tally.take(item, result).is_some() && !session.json() {
                session.out.line(&format!("{user}, {}: {done}", mechanism.name()))?;
            }
            all.push(json!({"user": user, "mechanism": mechanism.name(), "error": failure}));
        }
    }
    session.conclude(tally, all)
}
