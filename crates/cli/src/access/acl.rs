//! `thalweg acl`.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use thalweg::admin::{
    AclBinding, AclFilter, AclOperation, AclPattern, AclPatternFilter, AclPermission, AclResource,
    AdminError,
};

use crate::client::{Align, CliError, ClientArgs, CommandContext, Table, Tally};

/// Name of the only resource of its type.
const CLUSTER: &str = "kafka-cluster";

/// Options of `thalweg acl`.
#[derive(Args)]
pub struct AclArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: AclCommand,
}

#[derive(Subcommand)]
enum AclCommand {
    /// List what is allowed and denied.
    List(FilterArgs),
    /// Allow something.
    Allow(BindArgs),
    /// Deny something, whatever else allows it.
    Deny(BindArgs),
    /// Delete what matches; shows what that is, unless --yes is given.
    Delete {
        #[command(flatten)]
        filter: FilterArgs,
        /// All there are
        #[arg(long)]
        all: bool,
        /// Yes, all of that
        #[arg(long)]
        yes: bool,
    },
}

/// What something is about.
#[derive(Args)]
struct ResourceArgs {
    /// A topic; may be repeated, * for all
    #[arg(long, value_name = "NAME")]
    topic: Vec<String>,
    /// A group, likewise
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// A transactional id, likewise
    #[arg(long, value_name = "NAME")]
    transactional_id: Vec<String>,
    /// A delegation token, likewise
    #[arg(long, value_name = "NAME")]
    delegation_token: Vec<String>,
    /// A user whose tokens these are about, likewise
    #[arg(long, value_name = "PRINCIPAL")]
    user: Vec<String>,
    /// The cluster
    #[arg(long)]
    cluster: bool,
}

impl ResourceArgs {
    fn all(self) -> Vec<(AclResource, String)> {
        let of = |resource: AclResource, names: Vec<String>| {
            names.into_iter().map(move |name| (resource, name))
        };
        of(AclResource::Topic, self.topic)
            .chain(of(AclResource::Group, self.group))
            .chain(of(AclResource::TransactionalId, self.transactional_id))
            .chain(of(AclResource::DelegationToken, self.delegation_token))
            .chain(of(AclResource::User, self.user))
            .chain(self.cluster.then(|| (AclResource::Cluster, CLUSTER.to_owned())))
            .collect()
    }
}

#[derive(Args)]
struct BindArgs {
    /// Who: User:alice, or User:* for everybody
    #[arg(required = true, value_parser = parse_principal)]
    principals: Vec<String>,
    #[command(flatten)]
    resources: ResourceArgs,
    /// What: read, write, describe, ...; may be repeated
    #[arg(short, long, value_delimiter = ',', value_name = "OPERATION,...", value_parser = parse_operation)]
    operation: Vec<AclOperation>,
    /// What a producer needs of the topics, and of the transactional ids
    #[arg(long)]
    producer: bool,
    /// With --producer: what a producer needed of the cluster to be idempotent, before Kafka 3.0
    #[arg(long, requires = "producer")]
    idempotent: bool,
    /// What a consumer needs of the topics and the groups
    #[arg(long)]
    consumer: bool,
    /// Names are beginnings of names
    #[arg(long)]
    prefixed: bool,
    /// From where: an address; may be repeated [default: *]
    #[arg(long, value_name = "ADDRESS")]
    host: Vec<String>,
}

#[derive(Args)]
struct FilterArgs {
    #[command(flatten)]
    resources: ResourceArgs,
    /// How names are meant
    #[arg(long, value_enum, default_value = "any")]
    pattern: Pattern,
    /// Of this principal
    #[arg(long, value_name = "PRINCIPAL", value_parser = parse_principal)]
    principal: Option<String>,
    /// From this host
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// About this operation
    #[arg(short, long, value_parser = parse_operation)]
    operation: Option<AclOperation>,
    /// Only what is allowed
    #[arg(long, conflicts_with = "denied")]
    allowed: bool,
    /// Only what is denied
    #[arg(long)]
    denied: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Pattern {
    /// In any way, with the name as it stands there
    Any,
    /// In any way that is about the name: also as * or as its beginning
    Match,
    /// As they are
    Literal,
    /// As beginnings
    Prefixed,
}

const OPERATIONS: [(AclOperation, &str); 14] = [
    (AclOperation::All, "All"),
    (AclOperation::Read, "Read"),
    (AclOperation::Write, "Write"),
    (AclOperation::Create, "Create"),
    (AclOperation::Delete, "Delete"),
    (AclOperation::Alter, "Alter"),
    (AclOperation::Describe, "Describe"),
    (AclOperation::ClusterAction, "ClusterAction"),
    (AclOperation::DescribeConfigs, "DescribeConfigs"),
    (AclOperation::AlterConfigs, "AlterConfigs"),
    (AclOperation::IdempotentWrite, "IdempotentWrite"),
    (AclOperation::CreateTokens, "CreateTokens"),
    (AclOperation::DescribeTokens, "DescribeTokens"),
    (AclOperation::TwoPhaseCommit, "TwoPhaseCommit"),
];

/// Kafka's names in any case, with or without dashes and underscores.
fn parse_operation(text: &str) -> Result<AclOperation, String> {
    let plain = text.replace(['-', '_'], "");
    let found = OPERATIONS.iter().find(|(_, name)| name.eq_ignore_ascii_case(&plain));
    found.map(|(operation, _)| *operation).ok_or_else(|| {
        let names: Vec<&str> = OPERATIONS.iter().map(|(_, name)| *name).collect();
        format!("'{text}' is none of {}", names.join(", "))
    })
}

fn parse_principal(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("'{text}' is no principal as User:alice")),
    }
}

fn operation_name(operation: AclOperation) -> String {
    let known = OPERATIONS.iter().find(|(known, _)| *known == operation);
    known.map_or_else(|| format!("operation {}", operation.code()), |(_, name)| (*name).into())
}

fn resource_name(resource: AclResource) -> String {
    match resource {
        AclResource::Topic => "Topic".into(),
        AclResource::Group => "Group".into(),
        AclResource::Cluster => "Cluster".into(),
        AclResource::TransactionalId => "TransactionalId".into(),
        AclResource::DelegationToken => "DelegationToken".into(),
        AclResource::User => "User".into(),
        AclResource::Other(code) => format!("type {code}"),
    }
}

fn pattern_name(pattern: AclPattern) -> String {
    match pattern {
        AclPattern::Literal => "Literal".into(),
        AclPattern::Prefixed => "Prefixed".into(),
        AclPattern::Other(code) => format!("pattern {code}"),
    }
}

fn permission_name(permission: AclPermission) -> String {
    match permission {
        AclPermission::Allow => "Allow".into(),
        AclPermission::Deny => "Deny".into(),
        AclPermission::Other(code) => format!("permission {code}"),
    }
}

/// What can be done with something: brokers take anything, and never look at the rest.
fn check(resource: AclResource, operation: AclOperation) -> Result<(), CliError> {
    use AclOperation as O;
    let possible: &[AclOperation] = match resource {
        AclResource::Topic => &[
            O::Read,
            O::Write,
            O::Create,
            O::Delete,
            O::Alter,
            O::Describe,
            O::DescribeConfigs,
            O::AlterConfigs,
        ],
        AclResource::Group => {
            &[O::Read, O::Delete, O::Describe, O::DescribeConfigs, O::AlterConfigs]
        }
        AclResource::Cluster => &[
            O::Create,
            O::Alter,
            O::Describe,
            O::ClusterAction,
            O::DescribeConfigs,
            O::AlterConfigs,
            O::IdempotentWrite,
        ],
        AclResource::TransactionalId => &[O::Write, O::Describe, O::TwoPhaseCommit],
        AclResource::DelegationToken => &[O::Describe],
        AclResource::User => &[O::CreateTokens, O::DescribeTokens],
        AclResource::Other(_) => return Ok(()),
    };
    if operation == O::All || possible.contains(&operation) {
        return Ok(());
    }
    let names: Vec<String> = possible.iter().map(|possible| operation_name(*possible)).collect();
    Err(CliError::Usage(format!(
        "{} is nothing that is done with a {}, but All, {}",
        operation_name(operation),
        resource_name(resource),
        names.join(", ")
    )))
}

impl BindArgs {
    /// All that is to be bound.
    fn bindings(self, permission: AclPermission) -> Result<Vec<AclBinding>, CliError> {
        use AclOperation::{Create, Describe, IdempotentWrite, Read, Write};
        let wrong = |why: &str| Err(CliError::Usage(why.to_owned()));
        let is_role = self.producer || self.consumer;
        if self.operation.is_empty() && !is_role {
            return wrong("what? --operation, --producer or --consumer");
        }
        if is_role && self.resources.topic.is_empty() {
            return wrong("--producer and --consumer are about a --topic");
        }
        if self.consumer && self.resources.group.is_empty() {
            return wrong("--consumer is about a --group, too");
        }
        let mut wanted = Vec::new();
        let mut resources = self.resources.all();
        if self.idempotent {
            resources.push((AclResource::Cluster, CLUSTER.to_owned()));
        }
        if resources.is_empty() {
            return wrong("about what? --topic, --group, --cluster, ...");
        }
        for (resource, name) in resources {
            let mut operations = Vec::new();
            match resource {
                AclResource::Topic => {
                    let write: &[AclOperation] = &[Write, Describe, Create];
                    operations.extend(write.iter().filter(|_| self.producer));
                    operations.extend([Read, Describe].iter().filter(|_| self.consumer));
                }
                AclResource::Group => operations.extend([Read].iter().filter(|_| self.consumer)),
                AclResource::TransactionalId => {
                    operations.extend([Write, Describe].iter().filter(|_| self.producer));
                }
                AclResource::Cluster => {
                    operations.extend([IdempotentWrite].iter().filter(|_| self.idempotent));
                }
                _ => {}
            }
            operations.extend(&self.operation);
            if operations.is_empty() {
                let kind = resource_name(resource);
                return wrong(&format!("nothing is said of what {kind} {name} is for"));
            }
            operations.sort();
            operations.dedup();
            for operation in &operations {
                check(resource, *operation)?;
            }
            wanted.extend(
                operations.into_iter().map(|operation| (resource, name.clone(), operation)),
            );
        }
        let hosts = if self.host.is_empty() { vec!["*".to_owned()] } else { self.host };
        let mut bindings = Vec::new();
        for (resource, name, operation) in wanted {
            // The cluster's name is no beginning of anything.
            let is_prefixed = self.prefixed && resource != AclResource::Cluster;
            let pattern = if is_prefixed { AclPattern::Prefixed } else { AclPattern::Literal };
            for principal in &self.principals {
                bindings.extend(hosts.iter().map(|host| AclBinding {
                    resource,
                    name: name.clone(),
                    pattern,
                    principal: principal.clone(),
                    host: host.clone(),
                    operation,
                    permission,
                }));
            }
        }
        Ok(bindings)
    }
}

impl FilterArgs {
    /// One filter per resource, or one for all.
    fn filters(self) -> Vec<AclFilter> {
        let permission = match (self.allowed, self.denied) {
            (true, _) => Some(AclPermission::Allow),
            (_, true) => Some(AclPermission::Deny),
            _ => None,
        };
        let pattern = match self.pattern {
            Pattern::Any => AclPatternFilter::Any,
            Pattern::Match => AclPatternFilter::Match,
            Pattern::Literal => AclPatternFilter::Only(AclPattern::Literal),
            Pattern::Prefixed => AclPatternFilter::Only(AclPattern::Prefixed),
        };
        let of_all = AclFilter::default()
            .with_pattern(pattern)
            .with_principal(self.principal)
            .with_host(self.host)
            .with_operation(self.operation)
            .with_permission(permission);
        let resources = self.resources.all();
        if resources.is_empty() {
            return vec![of_all];
        }
        let filter =
            |(resource, name)| of_all.clone().with_resource(Some(resource)).with_name(Some(name));
        resources.into_iter().map(filter).collect()
    }
}

/// Runs `thalweg acl`.
pub fn run(args: AclArgs) -> ExitCode {
    crate::client::run(async {
        match args.command {
            AclCommand::List(filter) => {
                list(CommandContext::open(&args.client).await?, filter).await
            }
            AclCommand::Allow(bind) => {
                let bindings = bind.bindings(AclPermission::Allow)?;
                create(CommandContext::open(&args.client).await?, bindings).await
            }
            AclCommand::Deny(bind) => {
                let bindings = bind.bindings(AclPermission::Deny)?;
                create(CommandContext::open(&args.client).await?, bindings).await
            }
            AclCommand::Delete { filter, all, yes } => {
                let filters = filter.filters();
                if all == (filters != [AclFilter::default()]) {
                    let why = "which? Something to match, or else --all";
                    return Err(CliError::Usage(why.into()));
                }
                delete(CommandContext::open(&args.client).await?, filters, yes).await
            }
        }
    })
}

fn text(binding: &AclBinding) -> String {
    let AclBinding { name, principal, host, .. } = binding;
    let permission = permission_name(binding.permission);
    let operation = operation_name(binding.operation);
    let resource = resource_name(binding.resource);
    let pattern = pattern_name(binding.pattern);
    format!("{permission} {principal} from {host}: {operation} on {resource} {name} ({pattern})")
}

fn as_json(binding: &AclBinding) -> Value {
    json!({
        "resource": resource_name(binding.resource),
        "name": binding.name,
        "pattern": pattern_name(binding.pattern),
        "principal": binding.principal,
        "host": binding.host,
        "operation": operation_name(binding.operation),
        "permission": permission_name(binding.permission),
    })
}

/// What all of the filters find, once.
async fn find(
    session: &CommandContext,
    filters: Vec<AclFilter>,
) -> Result<Vec<AclBinding>, CliError> {
    let mut found = Vec::new();
    for filter in filters {
        found.extend(session.admin.describe_acls(filter).await?);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

async fn list(mut session: CommandContext, filter: FilterArgs) -> Result<(), CliError> {
    let found = find(&session, filter.filters()).await?;
    if session.json() {
        session.out.json(&found.iter().map(as_json).collect())?;
        return session.out.finish();
    }
    let mut table = Table::new([
        ("RESOURCE", Align::Left),
        ("NAME", Align::Left),
        ("PATTERN", Align::Left),
        ("PRINCIPAL", Align::Left),
        ("HOST", Align::Left),
        ("OPERATION", Align::Left),
        ("PERMISSION", Align::Left),
    ]);
    for binding in found {
        table.row([
            resource_name(binding.resource),
            binding.name,
            pattern_name(binding.pattern),
            binding.principal,
            binding.host,
            operation_name(binding.operation),
            permission_name(binding.permission),
        ]);
    }
    session.out.table_of("such rules", &table)?;
    session.out.finish()
}

async fn create(session: CommandContext, bindings: Vec<AclBinding>) -> Result<(), CliError> {
    let results = session.admin.create_acls(bindings).await.into_iter().collect();
    report(session, Tally::default(), results, "")
}

/// Says what became of each binding.
fn report(
    mut session: CommandContext,
    mut tally: Tally,
    results: Vec<(AclBinding, Result<(), AdminError>)>,
    done: &str,
) -> Result<(), CliError> {
    let mut all = Vec::new();
    for (binding, result) in results {
        let failure = result.as_ref().err().map(ToString::to_string);
        let is_done = tally.take(text(&binding), result).is_some();
        if is_done && !session.json() {
            session.out.line(&format!("{done}{}", text(&binding)))?;
        }
        let mut value = as_json(&binding);
        value["error"] = json!(failure);
        all.push(value);
    }
    session.conclude(tally, all)
}

async fn delete(
    mut session: CommandContext,
    filters: Vec<AclFilter>,
    yes: bool,
) -> Result<(), CliError> {
    let found = find(&session, filters.clone()).await?;
    if found.is_empty() {
        return Err(CliError::NotFound("nothing matches".into()));
    }
    if !yes {
        for binding in &found {
            session.out.line(&text(binding))?;
        }
        session.out.finish()?;
        let count = found.len();
        return Err(CliError::Usage(format!("this would delete these {count}: say --yes")));
    }
    let mut tally = Tally::default();
    let mut results = Vec::new();
    for (filter, result) in session.admin.delete_acls(filters).await {
        match result {
            Ok(found) => results.extend(found),
            Err(error) => tally.failed(format!("what matches {}", filter_text(&filter)), &error),
        }
    }
    report(session, tally, results, "deleted: ")
}

/// What a filter is about, for messages.
fn filter_text(filter: &AclFilter) -> String {
    let resource = filter.resource.map_or_else(|| "all resources".to_owned(), resource_name);
    [Some(&resource), filter.name.as_ref(), filter.principal.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bind: BindArgs,
    }

    fn bound(line: &[&str]) -> Result<Vec<String>, CliError> {
        let line = Line::try_parse_from(["x"].iter().chain(line)).unwrap();
        let bindings = line.bind.bindings(AclPermission::Allow)?;
        Ok(bindings.iter().map(text).collect())
    }

    #[test]
    fn roles_are_what_kafka_takes_them_for() {
        let found = bound(&["User:a", "--consumer", "--topic", "t", "--group", "g"]).unwrap();
        let expected = [
            "Allow User:a from *: Read on Topic t (Literal)",
            "Allow User:a from *: Describe on Topic t (Literal)",
            "Allow User:a from *: Read on Group g (Literal)",
        ];
        assert_eq!(found, expected);
        let line = ["User:a", "--producer", "--topic", "t-", "--prefixed", "--idempotent"];
        let found = bound(&line).unwrap();
        let expected = [
            "Allow User:a from *: Write on Topic t- (Prefixed)",
            "Allow User:a from *: Create on Topic t- (Prefixed)",
            "Allow User:a from *: Describe on Topic t- (Prefixed)",
            "Allow User:a from *: IdempotentWrite on Cluster kafka-cluster (Literal)",
        ];
        assert_eq!(found, expected);
        let line = ["User:a", "User:b", "-o", "alter-configs", "--cluster", "--host", "10.0.0.1"];
        assert_eq!(bound(&line).unwrap().len(), 2);
    }

    #[test]
    fn what_says_too_little_is_wrong_usage() {
        for line in [
            &["User:a", "--topic", "t"][..],
            &["User:a", "--producer"],
            &["User:a", "--consumer", "--topic", "t"],
            &["User:a", "-o", "read"],
            &["User:a", "--producer", "--topic", "t", "--group", "g"],
            &["User:a", "-o", "write", "--group", "g"],
            &["User:a", "-o", "read,describe", "--topic", "t", "--cluster"],
        ] {
            assert!(matches!(bound(line), Err(CliError::Usage(_))), "{line:?}");
        }
        assert!(parse_operation("fly").is_err() && parse_principal("alice").is_err());
        assert_eq!(parse_operation("DESCRIBE_CONFIGS"), Ok(AclOperation::DescribeConfigs));
    }
}
