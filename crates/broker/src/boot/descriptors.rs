//! How the process's descriptors are shared out, by the limit in force (`RLIMIT_NOFILE`): what the
//! logs need is set aside, and connections get the rest. A port that anybody can open connections to
//! must not decide whether a log can be written.

/// For the listeners, the runtime, signals, `/metrics`, and files of the metadata.
const OTHERS: usize = 40;
/// For each log directory: its lock, and what rolls, flushes, reads and checkpoints open for a moment.
const PER_DIRECTORY: usize = 24;
/// Log files of a directory that are held open for later, at least and at most. As many again may be
/// held by answers on their way to readers.
const FILES_MIN: usize = 16;
const FILES_MAX: usize = 16 << 10;
/// Connections without which a broker is of no use.
const CONNECTIONS_MIN: usize = 32;

/// Who gets how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Log files held open, for each directory.
    pub(crate) files_per_dir: usize,
    pub(crate) connections: usize,
}

impl Shares {
    /// The shares of a limit (`None` for no limit); says how many descriptors there should be if
    /// they are too few.
    pub(crate) fn of(limit: Option<u64>, dirs: usize) -> Result<Shares, usize> {
        let fixed = OTHERS + PER_DIRECTORY * dirs;
        let needed = fixed + 2 * FILES_MIN * dirs + CONNECTIONS_MIN;
        let Some(limit) = limit else {
            return Ok(Shares { files_per_dir: FILES_MAX, connections: usize::MAX });
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if limit < needed {
            return Err(needed);
        }
        // A fifth to be held open, and a fifth in answers.
        let files = ((limit - fixed) / 5 / dirs.max(1)).clamp(FILES_MIN, FILES_MAX);
        Ok(Shares { files_per_dir: files, connections: limit - fixed - 2 * files * dirs })
    }
}

/// The limit of this process.
pub(crate) fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_limit_and_never_exceed_it() {
        for dirs in [1, 2, 10] {
            let needed = Shares::of(Some(1), dirs).unwrap_err();
            assert_eq!(Shares::of(Some(needed as u64 - 1), dirs), Err(needed));
            for limit in [needed, 1_024, 4_096, 65_536, 1 << 20] {
                let Ok(shares) = Shares::of(Some(limit as u64), dirs) else { continue };
                let files = 2 * shares.files_per_dir * dirs;
                let all = OTHERS + PER_DIRECTORY * dirs + files + shares.connections;
                assert_eq!(all, limit, "{dirs} directories");
                assert!(shares.connections >= CONNECTIONS_MIN, "{shares:?}");
            }
        }
        assert_eq!(Shares::of(Some(128), 1), Ok(Shares { files_per_dir: 16, connections: 32 }));
        assert_eq!(Shares::of(Some(1 << 20), 1).unwrap().files_per_dir, FILES_MAX);
        assert_eq!(Shares::of(None, 1).unwrap().connections, usize::MAX);
    }
}
