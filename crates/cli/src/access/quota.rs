//! `thalweg quota`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use thalweg::admin::{Mode, QuotaEntity, QuotaMatch};

use crate::client::{Align, CliError, ClientArgs, CommandContext, Table, Tally};

/// Options of `thalweg quota`.
#[derive(Args)]
pub struct QuotaArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: QuotaCommand,
}

#[derive(Subcommand)]
enum QuotaCommand {
    /// List limits.
    List(ListArgs),
    /// Set limits, or take them away.
    Alter(AlterArgs),
}

/// Whom limits are for.
#[derive(Args)]
struct EntityArgs {
    /// A user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Users without limits of their own
    #[arg(long, conflicts_with = "user")]
    default_user: bool,
    /// A client id
    #[arg(long = "for-client-id", value_name = "ID")]
    client: Option<String>,
    /// Client ids without limits of their own
    #[arg(long, conflicts_with = "client")]
    default_client_id: bool,
    /// An address
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["user", "default_user", "client", "default_client_id"])]
    ip: Option<String>,
    /// Addresses without limits of their own
    #[arg(long, conflicts_with_all = ["ip", "user", "default_user", "client", "default_client_id"])]
    default_ip: bool,
}

impl EntityArgs {
    fn entity(self) -> QuotaEntity {
        let mut entity = QuotaEntity::new();
        for (kind, name, is_default) in [
            ("user", self.user, self.default_user),
            ("client-id", self.client, self.default_client_id),
            ("ip", self.ip, self.default_ip),
        ] {
            if name.is_some() || is_default {
                entity.insert(kind.to_owned(), name);
            }
        }
        entity
    }
}

#[derive(Args)]
struct ListArgs {
    #[command(flatten)]
    entity: EntityArgs,
    /// Only of those who are named by nothing else
    #[arg(long)]
    strict: bool,
}

#[derive(Args)]
struct AlterArgs {
    #[command(flatten)]
    entity: EntityArgs,
    /// Set a limit: producer_byte_rate, consumer_byte_rate, request_percentage,
    /// controller_mutation_rate, connection_creation_rate; may be repeated
    #[arg(long, value_name = "NAME=NUMBER", value_parser = parse_limit)]
    set: Vec<(String, f64)>,
    /// Take a limit away; may be repeated
    #[arg(long, value_name = "NAME")]
    delete: Vec<String>,
    /// Only say whether it could be done
    #[arg(long)]
    validate_only: bool,
}

fn parse_limit(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("'{text}' is not name=number");
    let (name, number) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match (name.trim(), number) {
        ("", _) | (_, None) => Err(wrong()),
        (name, Some(number)) => Ok((name.to_owned(), number)),
    }
}

/// Runs `thalweg quota`.
pub fn run(args: QuotaArgs) -> ExitCode {
    crate::client::run(async {
        match args.command {
            QuotaCommand::List(list_args) => {
                list(CommandContext::open(&args.client).await?, list_args).await
            }
            QuotaCommand::Alter(alter_args) => {
                let (entity, changes, mode) = changes(alter_args)?;
                alter(CommandContext::open(&args.client).await?, entity, changes, mode).await
            }
        }
    })
}

type Changes = BTreeMap<String, Option<f64>>;

fn changes(args: AlterArgs) -> Result<(QuotaEntity, Changes, Mode), CliError> {
    let entity = args.entity.entity();
    if entity.is_empty() {
        return Err(CliError::Usage("for whom? --user, --for-client-id, --ip, ...".into()));
    }
    let mut changes = Changes::new();
    let set = args.set.into_iter().map(|(name, number)| (name, Some(number)));
    for (name, number) in set.chain(args.delete.into_iter().map(|name| (name, None))) {
        if changes.insert(name.clone(), number).is_some() {
            return Err(CliError::Usage(format!("limit {name} is given twice")));
        }
    }
    if changes.is_empty() {
        return Err(CliError::Usage("nothing to change: --set, --delete".into()));
    }
    let mode = if args.validate_only { Mode::ValidateOnly } else { Mode::Apply };
    Ok((entity, changes, mode))
}

/// `user alice, client-id (default)`
fn text(entity: &QuotaEntity) -> String {
    let part = |(kind, name): (&String, &Option<String>)| {
        format!("{kind} {}", name.as_deref().unwrap_or("(default)"))
    };
    entity.iter().map(part).collect::<Vec<_>>().join(", ")
}

async fn list(mut session: CommandContext, args: ListArgs) -> Result<(), CliError> {
    let wanted = args
        .entity
        .entity()
        .into_iter()
        .map(|(kind, name)| (kind, name.map_or(QuotaMatch::Default, QuotaMatch::Exact)));
    let found = session.admin.describe_client_quotas(wanted.collect(), args.strict).await?;
    let mut table =
        Table::new([("ENTITY", Align::Left), ("LIMIT", Align::Left), ("VALUE", Align::Right)]);
    let mut all = Vec::new();
    for (entity, limits) in found {
        for (name, value) in &limits {
            table.row([text(&entity), name.clone(), value.to_string()]);
        }
        all.push(json!({"entity": entity, "limits": limits}));
    }
    match session.json() {
        true => session.out.json(&Value::Array(all))?,
        false => session.out.table_of("such limits", &table)?,
    }
    session.out.finish()
}

async fn alter(
    mut session: CommandContext,
    entity: QuotaEntity,
    changes: Changes,
    mode: Mode,
) -> Result<(), CliError> {
    let mut tally = Tally::default();
    let mut all = Vec::new();
    let changes = BTreeMap::from([(entity, changes)]);
    for (entity, result) in session.admin.alter_client_quotas(changes, mode).await {
        let failure = result.as_ref().err().map(ToString::to_string);
        let is_done = tally.take(text(&entity), result).is_some();
        let is_real = mode == Mode::Apply;
        if is_done && !session.json() {
            let what = if is_real { "limits changed" } else { "limits could be changed" };
            session.out.line(&format!("{}: {what}", text(&entity)))?;
        }
        all.push(json!({"entity": entity, "altered": is_done && is_real, "error": failure}));
    }
    session.conclude(tally, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers() {
        assert_eq!(parse_limit("a=1.5"), Ok(("a".into(), 1.5)));
        for bad in ["a", "a=", "=1", "a=x", "a=inf", "a=NaN"] {
            assert!(parse_limit(bad).is_err(), "{bad}");
        }
    }
}
