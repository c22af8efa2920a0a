//! `thalweg config`: configs of topics, brokers, groups and client metrics.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use thalweg::admin::{
    ConfigChange, ConfigDetails, ConfigEntry, ConfigOperation, ConfigResource, ConfigSource, Mode,
    ResourceType,
};

use crate::client::{Align, CliError, ClientArgs, CommandContext, Table, Tally};
use crate::topic::parse_pair;

/// What a secret is shown as.
const HIDDEN: &str = "(hidden)";

/// Options of `thalweg config`.
#[derive(Args)]
pub struct ConfigArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Show configs and where their values come from; without --all only those that differ from
    /// Kafka's defaults.
    Describe(DescribeArgs),
    /// Change configs.
    Alter(AlterArgs),
    /// List what has configs of its own.
    List(ListArgs),
}

/// What has configs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Entity {
    Topic,
    Broker,
    BrokerLogger,
    Group,
    ClientMetrics,
}

impl Entity {
    fn kind(self) -> ResourceType {
        match self {
            Entity::Topic => ResourceType::Topic,
            Entity::Broker => ResourceType::Broker,
            Entity::BrokerLogger => ResourceType::BrokerLogger,
            Entity::Group => ResourceType::Group,
            Entity::ClientMetrics => ResourceType::ClientMetrics,
        }
    }

    /// The resources of these names; for brokers without one, what holds for all of them.
    fn resources(self, names: &[String]) -> Result<Vec<ConfigResource>, CliError> {
        let kind = self.kind().name();
        let is_broker = matches!(self, Entity::Broker | Entity::BrokerLogger);
        let is_wrong = |name: &&String| match is_broker {
            // One that a script left empty would mean all of them.
            true => name.parse().ok().is_none_or(|id: i32| id < 0),
            false => name.is_empty(),
        };
        if let Some(name) = names.iter().find(is_wrong) {
            let what = if is_broker { "id" } else { "name" };
            return Err(CliError::Usage(format!("'{name}' is no {what} of a {kind}")));
        }
        match (self, names.is_empty()) {
            (Entity::Broker, true) => Ok(vec![ConfigResource::all_brokers()]),
            (_, true) => Err(CliError::Usage(format!("which {kind}?"))),
            _ => Ok(names.iter().map(|name| ConfigResource::new(self.kind(), name)).collect()),
        }
    }
}

#[derive(Args)]
struct DescribeArgs {
    /// What has them
    entity: Entity,
    /// Its names, or brokers' ids [default for brokers: what holds for all]
    names: Vec<String>,
    /// With those that have Kafka's default
    #[arg(short, long)]
    all: bool,
    /// This config only; may be repeated
    #[arg(long, value_name = "NAME")]
    config: Vec<String>,
    /// With every value it could have, best first
    #[arg(long)]
    synonyms: bool,
    /// With what they do
    #[arg(long)]
    documentation: bool,
}

#[derive(Args)]
struct AlterArgs {
    /// What has them
    entity: Entity,
    /// Its names, or brokers' ids
    names: Vec<String>,
    /// What holds for all brokers
    #[arg(long, conflicts_with = "names")]
    all_brokers: bool,
    #[command(flatten)]
    changes: ChangeArgs,
}

#[derive(Args)]
struct ListArgs {
    /// What has them [default: everything]
    entity: Option<Entity>,
}

/// Changes of configs.
#[derive(Args)]
pub struct ChangeArgs {
    /// Give a config a value; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    set: Vec<(String, String)>,
    /// Give it the value back that holds without; may be repeated
    #[arg(long, value_name = "NAME")]
    delete: Vec<String>,
    /// Add to a list; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    append: Vec<(String, String)>,
    /// Take from a list; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    subtract: Vec<(String, String)>,
    /// Only say whether it could be done
    #[arg(long)]
    validate_only: bool,
}

impl ChangeArgs {
    /// Whether to do it.
    pub fn mode(&self) -> Mode {
        if self.validate_only { Mode::ValidateOnly } else { Mode::Apply }
    }

    /// The configs that are to be deleted.
    pub fn deleted(&self) -> &[String] {
        &self.delete
    }

    /// What is asked for; a config can be changed in one way only.
    pub fn changes(&self) -> Result<Vec<ConfigChange>, CliError> {
        let pairs = |list: &[(String, String)], operation: fn(String) -> ConfigOperation| {
            let change = |(name, value): &(String, String)| {
                ConfigChange::new(name, operation(value.clone()))
            };
            list.iter().map(change).collect::<Vec<_>>()
        };
        let mut changes = pairs(&self.set, ConfigOperation::Set);
        changes.extend(self.delete.iter().map(ConfigChange::delete));
        changes.extend(pairs(&self.append, ConfigOperation::Append));
        changes.extend(pairs(&self.subtract, ConfigOperation::Subtract));
        let mut names: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => {
                let name = pair.first().copied().unwrap_or_default();
                Err(CliError::Usage(format!("config {name} is to be changed twice")))
            }
            None => Ok(changes),
        }
    }
}

/// Runs `thalweg config`.
pub fn run(args: ConfigArgs) -> ExitCode {
    crate::client::run(async {
        match args.command {
            ConfigCommand::Describe(command) => {
                let resources = command.entity.resources(&command.names)?;
                describe(CommandContext::open(&args.client).await?, command, resources).await
            }
            ConfigCommand::Alter(command) => {
                // An id that a script left empty must not mean all of them.
                if matches!(command.entity, Entity::Broker)
                    && command.names.is_empty()
                    && !command.all_brokers
                {
                    let usage = "which brokers? Their ids, or --all-brokers".to_owned();
                    return Err(CliError::Usage(usage));
                }
                if command.all_brokers && !matches!(command.entity, Entity::Broker) {
                    return Err(CliError::Usage("--all-brokers is for brokers".into()));
                }
                let resources = command.entity.resources(&command.names)?;
                let changes = command.changes.changes()?;
                if changes.is_empty() {
                    let usage = "nothing to change: --set, --delete, --append, --subtract";
                    return Err(CliError::Usage(usage.into()));
                }
                let session = CommandContext::open(&args.client).await?;
                let mut tally = Tally::default();
                let deleted = command.changes.deleted();
                let resources = known(&session, resources, deleted, &mut tally).await;
                alter(session, resources, changes, command.changes.mode(), tally).await
            }
            ConfigCommand::List(command) => {
                list(CommandContext::open(&args.client).await?, command.entity).await
            }
        }
    })
}

/// A name behind which a broker keeps a config of one listener; it describes it only where it is set.
const OF_LISTENER: &str = "listener.name.";

/// The resources that have configs of these names. Of the others it says which name they lack: a
/// broker takes the deletion of a config that does not exist without a word.
pub async fn known(
    session: &CommandContext,
    resources: Vec<ConfigResource>,
    names: &[String],
    tally: &mut Tally,
) -> Vec<ConfigResource> {
    let unknown = unknown(session, &resources, names).await;
    let is_known = |resource: &ConfigResource| match unknown.get(resource) {
        Some(name) => {
            tally.missing(resource, &no_config(name));
            false
        }
        None => true,
    };
    resources.into_iter().filter(is_known).collect()
}

/// The first of some names that a resource does not know, for each that lacks one. A config that is not
/// set is known, too.
async fn unknown(
    session: &CommandContext,
    resources: &[ConfigResource],
    names: &[String],
) -> BTreeMap<ConfigResource, String> {
    let names: Vec<&String> = names.iter().filter(|name| !name.starts_with(OF_LISTENER)).collect();
    if names.is_empty() {
        return BTreeMap::new();
    }
    let all_brokers = ConfigResource::all_brokers();
    // What holds for all brokers is described where it is set. Each broker knows all names.
    let some_broker = session.admin.cluster().metadata().brokers.keys().next().copied();
    let some_broker =
        some_broker.map(|id| ConfigResource::new(ResourceType::Broker, id.to_string()));
    let asked = |resource: &ConfigResource| match &some_broker {
        Some(broker) if *resource == all_brokers => broker.clone(),
        _ => resource.clone(),
    };
    // Loggers have names of their own, of which the broker knows the wrong ones.
    let is_checked = |resource: &&ConfigResource| resource.kind != ResourceType::BrokerLogger;
    let wanted: Vec<_> = resources.iter().filter(is_checked).map(asked).collect();
    let described = session.admin.describe_configs(wanted, ConfigDetails::default()).await;
    let missing = |resource: &ConfigResource| {
        // Without an answer the change itself says what is wrong.
        let Some(Ok(entries)) = described.get(&asked(resource)) else { return None };
        let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
        let name = names.iter().find(|name| !is_there(name))?;
        Some((resource.clone(), (*name).clone()))
    };
    resources.iter().filter_map(missing).collect()
}

fn no_config(name: &str) -> String {
    format!("there is no config {name}")
}

async fn describe(
    mut session: CommandContext,
    args: DescribeArgs,
    resources: Vec<ConfigResource>,
) -> Result<(), CliError> {
    let mut details = ConfigDetails::default()
        .with_synonyms(args.synonyms)
        .with_documentation(args.documentation);
    if !args.config.is_empty() {
        details = details.with_names(&args.config);
    }
    let mut tally = Tally::default();
    let mut all = Vec::new();
    let results = session.admin.describe_configs(resources, details).await;
    let several = results.len() > 1;
    for (resource, result) in results {
        let mut entries = match result {
            Ok(entries) => entries,
            Err(error) => {
                tally.failed(&resource, &error);
                continue;
            }
        };
        let is_absent = |name: &&String| !entries.iter().any(|entry| entry.name == **name);
        let absent: Vec<String> = args.config.iter().filter(is_absent).cloned().collect();
        let lacks = match resource.kind {
            // A logger that is not described does not exist.
            ResourceType::BrokerLogger => absent.first().cloned(),
            _ => {
                unknown(&session, std::slice::from_ref(&resource), &absent).await.remove(&resource)
            }
        };
        match &lacks {
            Some(name) => tally.missing(&resource, &no_config(name)),
            None => tally.done(),
        }
        if lacks.is_some() && !entries.is_empty() {
            tally.done();
        }
        let shows_all = args.all || !args.config.is_empty();
        entries.retain(|entry| shows_all || entry.source != ConfigSource::Default);
        if session.json() {
            let entries: Vec<Value> = entries.iter().map(|e| entry_json(e, &args)).collect();
            all.push(json!({
                "type": resource.kind.name(),
                "name": resource.name,
                "configs": entries,
            }));
            continue;
        }
        if several {
            session.out.line(&format!("{resource}:"))?;
        }
        show(&mut session, &entries, &args)?;
    }
    session.conclude(tally, all)
}

fn value_of(value: Option<&String>, is_sensitive: bool) -> String {
    match (value, is_sensitive) {
        (_, true) => HIDDEN.to_owned(),
        (Some(value), false) => value.clone(),
        (None, false) => String::new(),
    }
}

fn show(
    session: &mut CommandContext,
    entries: &[ConfigEntry],
    args: &DescribeArgs,
) -> Result<(), CliError> {
    let mut table = Table::new([
        ("CONFIG", Align::Left),
        ("VALUE", Align::Left),
        ("SOURCE", Align::Left),
        ("READ-ONLY", Align::Left),
    ]);
    for entry in entries {
        let read_only = if entry.is_read_only { "yes" } else { "" };
        table.row([
            entry.name.clone(),
            value_of(entry.value.as_ref(), entry.is_sensitive),
            entry.source.name().to_owned(),
            read_only.to_owned(),
        ]);
        for synonym in entry.synonyms.iter().filter(|_| args.synonyms) {
            table.row([
                format!("  {}", synonym.name),
                value_of(synonym.value.as_ref(), entry.is_sensitive),
                synonym.source.name().to_owned(),
                String::new(),
            ]);
        }
    }
    session.out.table(&table)?;
    for entry in entries.iter().filter(|_| args.documentation) {
        let text = entry.documentation.as_deref().unwrap_or("nothing is said of it");
        session.out.line(&format!("\n{} ({})\n  {text}", entry.name, entry.kind.name()))?;
    }
    Ok(())
}

/// A value in JSON; none for a secret, whatever the broker sends.
fn shown<'a>(value: Option<&'a String>, entry: &ConfigEntry) -> Option<&'a String> {
    value.filter(|_| !entry.is_sensitive)
}

fn entry_json(entry: &ConfigEntry, args: &DescribeArgs) -> Value {
    let mut value = json!({
        "name": entry.name,
        "value": shown(entry.value.as_ref(), entry),
        "source": entry.source.name(),
        "type": entry.kind.name(),
        "sensitive": entry.is_sensitive,
        "read_only": entry.is_read_only,
    });
    if args.synonyms {
        let synonyms = entry.synonyms.iter().map(|synonym| {
            json!({
                "name": synonym.name,
                "value": shown(synonym.value.as_ref(), entry),
                "source": synonym.source.name(),
            })
        });
        value["synonyms"] = Value::Array(synonyms.collect());
    }
    if args.documentation {
        value["documentation"] = json!(entry.documentation);
    }
    value
}

async fn alter(
    mut session: CommandContext,
    resources: Vec<ConfigResource>,
    changes: Vec<ConfigChange>,
    mode: Mode,
    mut tally: Tally,
) -> Result<(), CliError> {
    let changes: BTreeMap<ConfigResource, Vec<ConfigChange>> =
        resources.into_iter().map(|resource| (resource, changes.clone())).collect();
    let mut all = Vec::new();
    for (resource, result) in session.admin.alter_configs(changes, mode).await {
        let failure = result.as_ref().err().map(ToString::to_string);
        let is_done = tally.take(&resource, result).is_some();
        if is_done && !session.json() {
            let verb = if mode == Mode::Apply { "changed" } else { "could be changed" };
            session.out.line(&format!("{resource}: {verb}"))?;
        }
        let mut value = json!({
            "type": resource.kind.name(),
            "name": resource.name,
            "changed": is_done && mode == Mode::Apply,
        });
        if let Some(failure) = failure {
            value["error"] = json!(failure);
        }
        all.push(value);
    }
    session.conclude(tally, all)
}

async fn list(mut session: CommandContext, entity: Option<Entity>) -> Result<(), CliError> {
    let kinds: Vec<ResourceType> = match entity {
        Some(entity) => vec![entity.kind()],
        None => Entity::value_variants().iter().map(|entity| entity.kind()).collect(),
    };
    let resources = session.admin.list_config_resources(&kinds).await?;
    if session.json() {
        let all = resources
            .iter()
            .map(|resource| json!({"type": resource.kind.name(), "name": resource.name}));
        session.out.json(&Value::Array(all.collect()))?;
    } else {
        let mut table = Table::new([("TYPE", Align::Left), ("NAME", Align::Left)]);
        for resource in resources {
            table.row([resource.kind.name().to_owned(), resource.name]);
        }
        session.out.table_of("configs of their own", &table)?;
    }
    session.out.finish()
}
