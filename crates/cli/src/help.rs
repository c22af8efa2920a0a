//! Examples and exit codes of every command, as its `--help` shows them.
//!
//! Invariant: each command that help shows has one entry here, and each entry is one of these commands.
//! The tests walk all commands, and parse each example.

use clap::Command;

/// Exit codes of every command that talks to a cluster, and of those that read files.
const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done in part, what failed is on stderr; 4 what was \
asked for is not there.";

#[cfg(feature = "serve")]
const SERVE_CODES: &str = "\
Exit codes: 0 stopped in good order; 1 did not start, or failed; 2 wrong usage or configuration; 3 stopped \
before everything was on the disk. With --dry-run: 0 nothing is in the way; 1 the start would be refused, or with \
--strict something is not honoured; 2 wrong usage or configuration; 3 not everything could be checked.";

#[cfg(feature = "serve")]
const CHECK_CODES: &str = "\
Exit codes: 0 nothing is in the way; 1 the start would be refused, or with --strict something is not honoured; 2 \
wrong usage or configuration; 3 not everything could be checked.";

/// A command by its words, and its examples, a shell command each.
type Entry = (&'static str, &'static [&'static str]);

const EXAMPLES: &[Entry] = &[
    (
        "",
        &[
            #[cfg(feature = "serve")]
            "thalweg serve                       # a broker at 127.0.0.1:9092",
            "thalweg topic create orders --partitions 3",
            "echo hello | thalweg produce orders",
            "thalweg consume orders -o beginning -e",
            "thalweg group describe billing",
        ],
    ),
    #[cfg(feature = "serve")]
    (
        "serve",
        &[
            "thalweg serve --data /var/lib/thalweg --listen 0.0.0.0:9092",
            "thalweg serve --set num.partitions=3 --metrics 127.0.0.1:9100",
            "thalweg serve --config server.properties --dry-run",
        ],
    ),
    #[cfg(feature = "serve")]
    ("migrate", &["thalweg migrate check --config server.properties"]),
    #[cfg(feature = "serve")]
    (
        "migrate check",
        &[
            "thalweg migrate check --config server.properties",
            "thalweg migrate check --config server.properties --json | jq .reassignment > plan.json",
        ],
    ),
    (
        "produce",
        &[
            "echo hello | thalweg produce greetings",
            "thalweg produce orders -K : < orders.txt             # key:value on each line",
            "thalweg produce pictures -k logo --file logo.png     # a whole file as one record",
            "thalweg consume a -o beginning -e --json | thalweg produce b --json     # a copy",
            "thalweg produce orders --transaction < orders.txt    # all of them, or none",
        ],
    ),
    (
        "consume",
        &[
            "thalweg consume orders -o beginning -e               # all there is, then stop",
            "thalweg consume orders -o -10 -f '%p:%o %k=%s\\n'     # the last ten of each partition, then what comes",
            "thalweg consume orders -o @-15m --json               # the last quarter of an hour, and on, as JSON",
            "thalweg consume orders -o @2026-11-27 --until @2026-11-28",
            "thalweg consume orders --isolation read_committed -o beginning -e    # no open or aborted transactions",
            "thalweg consume -G billing '^orders.*'               # as a member of a group, all topics that match",
        ],
    ),
    (
        "topic",
        &[
            "thalweg topic list 'orders-*'                # names may have * and ?, quoted for the shell",
        ],
    ),
    ("topic list", &["thalweg topic list", "thalweg topic list 'orders-*' --long"]),
    ("topic create", &["thalweg topic create orders -p 12 -r 3 --config retention.ms=86400000"]),
    (
        "topic describe",
        &["thalweg topic describe orders --offsets", "thalweg topic describe --under-replicated"],
    ),
    (
        "topic alter",
        &["thalweg topic alter orders -p 24 --set retention.ms=1000 --delete segment.bytes"],
    ),
    ("topic delete", &["thalweg topic delete orders", "thalweg topic delete 'test-*' --yes"]),
    ("topic producers", &["thalweg topic producers orders --partition 0"]),
    ("config", &["thalweg config describe topic orders"]),
    (
        "config describe",
        &[
            "thalweg config describe topic orders",
            "thalweg config describe broker 1 --all",
            "thalweg config describe topic orders --config retention.ms --synonyms --documentation",
        ],
    ),
    (
        "config alter",
        &[
            "thalweg config alter topic orders --set retention.ms=1000 --delete segment.bytes",
            "thalweg config alter broker --all-brokers --set log.cleaner.threads=2",
        ],
    ),
    ("config list", &["thalweg config list topic"]),
    ("group", &["thalweg group describe billing"]),
    (
        "group list",
        &["thalweg group list --state Empty", "thalweg group list --regex 'billing-.*'"],
    ),
    ("group describe", &["thalweg group describe billing", "thalweg group describe --all --state"]),
    ("group why", &["thalweg group why billing", "thalweg group why billing --last 10 --json"]),
    (
        "group delete",
        &["thalweg group delete billing", "thalweg group delete --regex 'test-.*' --yes"],
    ),
    (
        "group reset-offsets",
        &[
            "thalweg group reset-offsets billing --topic orders --to-earliest --execute",
            "thalweg group reset-offsets billing --all-topics --by-duration PT1H",
            "thalweg group reset-offsets billing --all-topics --to-current --export saved.csv",
        ],
    ),
    ("group delete-offsets", &["thalweg group delete-offsets billing --topic orders:0,1"]),
    (
        "group remove-members",
        &[
            "thalweg group remove-members billing --instance worker-3",
            "thalweg group remove-members billing --all",
        ],
    ),
    ("transactions", &["thalweg transactions list --state Ongoing"]),
    (
        "transactions list",
        &[
            "thalweg transactions list",
            "thalweg transactions list --state Ongoing --longer-than 5m",
            "thalweg transactions list --id-pattern 'billing-.*'",
        ],
    ),
    ("transactions describe", &["thalweg transactions describe billing-0 billing-1"]),
    (
        "transactions abort",
        &[
            "thalweg transactions abort --topic orders --partition 0 --start-offset 4711",
            "thalweg transactions abort --topic orders --partition 0 --producer-id 7 --producer-epoch 0 \
             --coordinator-epoch -1",
        ],
    ),
    (
        "transactions find-hanging",
        &[
            "thalweg transactions find-hanging --broker 1",
            "thalweg transactions find-hanging --topic orders --longer-than 1h",
        ],
    ),
    ("transactions fence", &["thalweg transactions fence billing-0"]),
    ("cluster", &["thalweg cluster describe"]),
    ("cluster describe", &["thalweg cluster describe", "thalweg cluster describe --brief --json"]),
    ("cluster features", &["thalweg cluster features"]),
    (
        "cluster update-features",
        &["thalweg cluster update-features metadata.version=4.4 --validate-only"],
    ),
    ("cluster quorum", &["thalweg cluster quorum"]),
    ("cluster brokers", &["thalweg cluster brokers 1 --json"]),
    ("cluster unregister", &["thalweg cluster unregister 3"]),
    ("cluster unregister-controller", &["thalweg cluster unregister-controller --id 3001"]),
    ("cluster log-dirs", &["thalweg cluster log-dirs --broker 1 --replicas"]),
    ("cluster move-replica", &["thalweg cluster move-replica 1 orders:0 /disks/b"]),
    (
        "cluster reassign",
        &[
            "thalweg cluster reassign --partition orders:0=2,3,1",
            "thalweg cluster reassign --file plan.json",
            "thalweg cluster reassign --cancel orders:0",
        ],
    ),
    ("cluster reassignments", &["thalweg cluster reassignments"]),
    (
        "cluster elect-leaders",
        &[
            "thalweg cluster elect-leaders --all",
            "thalweg cluster elect-leaders orders:0 --unclean",
        ],
    ),
    ("acl", &["thalweg acl list"]),
    (
        "acl list",
        &[
            "thalweg acl list --topic orders --pattern match",
            "thalweg acl list --principal User:alice",
        ],
    ),
    (
        "acl allow",
        &[
            "thalweg acl allow User:alice --consumer --topic orders --group billing",
            "thalweg acl allow User:bob --producer --topic audit- --prefixed",
            "thalweg acl allow User:eve --operation describe --cluster",
        ],
    ),
    ("acl deny", &["thalweg acl deny 'User:*' --operation write --topic audit- --prefixed"]),
    ("acl delete", &["thalweg acl delete --principal User:alice --yes"]),
    ("user", &["thalweg user list"]),
    ("user list", &["thalweg user list", "thalweg user list alice --json"]),
    (
        "user set-password",
        &[
            "thalweg user set-password alice                 # asks for it",
            "thalweg user set-password alice --password-file alice.txt --mechanism SCRAM-SHA-256 --mechanism \
             SCRAM-SHA-512",
        ],
    ),
    (
        "user delete",
        &["thalweg user delete alice", "thalweg user delete alice --mechanism SCRAM-SHA-256"],
    ),
    ("quota", &["thalweg quota list"]),
    ("quota list", &["thalweg quota list", "thalweg quota list --user alice"]),
    (
        "quota alter",
        &[
            "thalweg quota alter --user alice --set producer_byte_rate=1048576",
            "thalweg quota alter --default-client-id --set request_percentage=50",
            "thalweg quota alter --ip 10.0.0.7 --delete connection_creation_rate",
        ],
    ),
    ("log", &["thalweg log dump data/orders-0/00000000000000000000.log"]),
    (
        "log dump",
        &[
            "thalweg log dump data/orders-0/00000000000000000000.log --print-data",
            "thalweg log dump data/__consumer_offsets-0/*.log --print-data --json",
        ],
    ),
    (
        "log delete-records",
        &[
            "thalweg log delete-records orders:0=1000 orders:1=-1",
            "thalweg log delete-records --file offsets.json",
        ],
    ),
    ("bench", &["thalweg bench produce --seconds 10"]),
    (
        "bench produce",
        &[
            "thalweg bench produce --seconds 30 --partitions 6 --connections 12 --recreate",
            "thalweg bench produce --records 5m --record-size 100 --compression lz4 --rate 200000",
        ],
    ),
    (
        "bench fetch",
        &[
            "thalweg bench fetch --topic bench",
            "thalweg bench fetch --from latest --seconds 30 --json",
        ],
    ),
    ("bench latency", &["thalweg bench latency --rate 5000 --seconds 60 --warmup-seconds 5"]),
    ("bench client", &["thalweg bench client poll --records 1m"]),
    (
        "bench client poll",
        &["thalweg bench client poll --records 1m --max-records 10 --mode classic"],
    ),
    ("bench client pause", &["thalweg bench client pause --partitions 10 --paused 9"]),
    ("bench client stream", &["thalweg bench client stream --records 200k --rate 20k"]),
    ("bench client write", &["thalweg bench client write --records 1m --payload values.bin"]),
    ("bench client transact", &["thalweg bench client transact --producers 10 --rate 100"]),
    ("bench client copy", &["thalweg bench client copy --to copy --records 1m"]),
    ("bench client moves", &["thalweg bench client moves --every-ms 10"]),
    (
        "bench group",
        &[
            "thalweg bench group --members 100 --scenario join",
            "thalweg bench group --members 100 --protocol consumer --scenario storm --duration 60 --json",
        ],
    ),
    (
        "completions",
        &["thalweg completions bash > ~/.local/share/bash-completion/completions/thalweg"],
    ),
];

fn exit_codes(path: &str) -> &'static str {
    match path {
        #[cfg(feature = "serve")]
        "serve" => SERVE_CODES,
        #[cfg(feature = "serve")]
        "migrate" | "migrate check" => CHECK_CODES,
        _ => EXIT_CODES,
    }
}

fn examples(path: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(known, _)| *known == path)?;
    let title = if examples.len() == 1 { "Example:" } else { "Examples:" };
    let lines = examples.iter().map(|example| format!("\n  {example}"));
    Some(format!("{title}{}", lines.collect::<String>()))
}

/// Adds examples and exit codes to a command, and to all below it.
pub fn complete(command: Command) -> Command {
    complete_at(command, "")
}

fn complete_at(command: Command, path: &str) -> Command {
    let own = command.get_after_help().map(ToString::to_string);
    let parts = [examples(path), own, Some(exit_codes(path).to_owned())];
    let text: Vec<String> = parts.into_iter().flatten().collect();
    let command = command.after_help(text.join("\n\n"));
    command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        complete_at(below, path.trim_start())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::command;

    /// Calls `look` with every command that help shows, and its words.
    fn walk(command: &Command, path: &str, look: &mut impl FnMut(&Command, &str)) {
        look(command, path);
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            walk(below, format!("{path} {}", below.get_name()).trim_start(), look);
        }
    }

    #[test]
    fn every_command_has_an_example_and_exit_codes() {
        let mut seen = BTreeSet::new();
        walk(&command(), "", &mut |command, path| {
            let mut command = command.clone();
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                for text in ["\nExample", "\nExit codes: 0 "] {
                    assert_eq!(help.matches(text).count(), 1, "'{path}' {text}: {help}");
                }
                let words = format!("\n  thalweg {path}");
                let is_after = |part: &str| part.contains(&format!("| thalweg {path}"));
                assert!(help.contains(words.trim_end()) || is_after(&help), "'{path}': {help}");
            }
            seen.insert(path.to_owned());
        });
        let known: BTreeSet<String> = EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(known, seen);
        assert_eq!(EXAMPLES.len(), known.len(), "an entry is there twice");
    }

    /// The words of a shell command, which is as simple as examples are.
    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let (mut word, mut is_quoted, mut is_word) = (String::new(), false, false);
        for c in text.chars() {
            match c {
                '\'' => (is_quoted, is_word) = (!is_quoted, true),
                ' ' if !is_quoted => {
                    if std::mem::take(&mut is_word) {
                        words.push(std::mem::take(&mut word));
                    }
                }
                '#' if !is_quoted && !is_word => break,
                c => {
                    word.push(c);
                    is_word = true;
                }
            }
        }
        if is_word {
            words.push(word);
        }
        words
    }

    #[test]
    fn every_example_parses() {
        for (path, examples) in EXAMPLES {
            for example in *examples {
                let all = words(example);
                let parts = all.split(|word| word == "|");
                let mut is_own = false;
                for part in parts.filter(|part| part.first().is_some_and(|word| word == "thalweg"))
                {
                    let end = part.iter().position(|word| word == "<" || word == ">");
                    let part = &part[..end.unwrap_or(part.len())];
                    is_own |= part[1..].join(" ").starts_with(path);
                    let parsed = command().try_get_matches_from(part);
                    assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                }
                assert!(is_own, "'{example}' is not of {path}");
            }
        }
    }

    /// A heading goes to every argument behind it.
    #[test]
    fn arguments_stand_below_their_own_headings() {
        let connection =
            ["bootstrap_server", "command_config", "properties", "client_id", "timeout", "json"];
        walk(&command(), "", &mut |command, path| {
            for argument in command.get_arguments() {
                if argument.get_help_heading() == Some("Connection") {
                    let id = argument.get_id().as_str();
                    assert!(connection.contains(&id), "{path}: {id}");
                }
            }
        });
    }
}
