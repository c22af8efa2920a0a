//! What commands say on stderr: one line each, also beside a line of progress.

use std::io::{Write as _, stderr};
use std::sync::atomic::{AtomicBool, Ordering};

/// To the beginning of the line, which is cleared.
const CLEAR: &str = "\r\x1b[2K";

/// Whether a line of progress is shown, which what is said has to replace.
static IS_PROGRESS_SHOWN: AtomicBool = AtomicBool::new(false);

/// One line on stderr, whatever is in it.
pub(super) fn say(kind: &str, text: &str) {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    clear_progress();
    // Without a stderr there is nobody to tell.
    let _ = writeln!(stderr(), "{kind}: {line}");
}

/// Says something on stderr that does not keep the command from going on.
pub fn warn(text: &str) {
    say("warning", text);
}

/// Says something on stderr that explains the output.
pub fn note(text: &str) {
    say("note", text);
}

/// Shows a line of progress in place of the one before. For terminals.
pub fn show_progress(line: &str) {
    IS_PROGRESS_SHOWN.store(true, Ordering::Relaxed);
    let mut stderr = stderr();
    let _ = write!(stderr, "{CLEAR}{line}").and_then(|()| stderr.flush());
}

/// Takes the line of progress back, if one is shown.
pub fn clear_progress() {
    if IS_PROGRESS_SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(stderr(), "{CLEAR}");
    }
}
