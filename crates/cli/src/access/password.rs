//! A password that somebody types.
//!
//! Invariant: once [`ask`] has ended the terminal shows what is typed, as it did before; also
//! where the user gives up with Ctrl-C, or the process is told to end. Ctrl-Z is the shell's
//! business.

use std::future::pending;
use std::io::{self, BufRead, Write as _};
use std::os::fd::AsFd;
use std::pin::Pin;

use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Longest line that is taken for a password. A terminal gives one byte more at most, and drops
/// what is behind that.
const LINE_MAX: usize = 4_094;

/// Waits for the user to give up, by Ctrl-C or another signal that would end the process. Once a
/// terminal was asked nothing else does: this has to be waited for, beside what is done next.
pub(super) type GivenUp = Pin<Box<dyn Future<Output = ()>>>;

/// The first line of standard input. On a terminal `prompt` asks for it, and what is typed is not
/// shown. `None` if the user gave up instead.
///
/// Dropped before it has ended, it leaves a thread behind that waits for the line.
///
/// # Errors
/// What keeps the line from being read.
pub(super) async fn ask(prompt: &str) -> io::Result<(Option<String>, GivenUp)> {
    let stdin = io::stdin();
    if !isatty(stdin.as_fd()) {
        return Ok((first_line(stdin.lock()).map(Some)?, Box::pin(pending())));
    }
    let mut given_up: GivenUp = Box::pin(given_up()?);
    let hidden = Hidden::new(stdin)?;
    let mut stderr = io::stderr();
    // Without a stderr nobody is asked, and it is read all the same.
    let _ = stderr.write_all(prompt.as_bytes()).and_then(|()| stderr.flush());
    let (sender, line) = oneshot::channel();
    // Nothing ends the wait for a line, so the thread is left alone where the user gives up: the
    // process ends then.
    std::thread::spawn(move || sender.send(first_line(io::stdin().lock())));
    let line = tokio::select! {
        line = line => Some(line.unwrap_or_else(|_| Err(io::Error::other("nothing was read")))),
        () = &mut given_up => None,
    };
    drop(hidden);
    // The line's own end was not shown either.
    let _ = stderr.write_all(b"\n");
    Ok((line.transpose()?, given_up))
}

/// Waits for what would end the process, and leave the terminal as it is. From this call on, which
/// is before it is waited for, none of it does.
fn given_up() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = quit.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// The first line, without its end.
pub(super) fn first_line(from: impl BufRead) -> io::Result<String> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut line = Vec::new();
    let most = LINE_MAX + "\r\n".len();
    from.take(most as u64).read_until(b'\n', &mut line)?;
    while line.pop_if(|last| matches!(last, b'\r' | b'\n')).is_some() {}
    if line.len() > LINE_MAX {
        return Err(wrong(format!("the line is longer than {LINE_MAX} bytes")));
    }
    String::from_utf8(line).map_err(|_| wrong("the line is not UTF-8".into()))
}

/// A terminal that does not show what is typed, until this is dropped.
struct Hidden<T: AsFd> {
    terminal: T,
    before: Termios,
}

impl<T: AsFd> Hidden<T> {
    fn new(terminal: T) -> io::Result<Hidden<T>> {
        let before = tcgetattr(&terminal)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        let hidden = Hidden { terminal, before };
        // What was typed before it was asked for was seen, and does not count.
        tcsetattr(&hidden.terminal, OptionalActions::Flush, &modes)?;
        Ok(hidden)
    }
}

impl<T: AsFd> Drop for Hidden<T> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing any more.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_without_its_end() {
        let longest = "x".repeat(LINE_MAX);
        for (text, line) in [
            ("a b \nc", "a b "),
            ("a\r\n", "a"),
            ("a", "a"),
            ("", ""),
            (&format!("{longest}\r\n"), &longest),
        ] {
            assert_eq!(first_line(text.as_bytes()).unwrap(), line);
        }
        // A part of it would be another password.
        assert!(first_line(format!("{longest}x\n").as_bytes()).is_err());
        for long in ["x", "\u{20ac}"].map(|letter| letter.repeat(10 * LINE_MAX)) {
            let error = first_line(long.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("longer"), "{error}");
        }
        assert!(first_line(&b"\xff\n"[..]).is_err());
        assert_eq!(first_line(&b"a\n\xff\n"[..]).unwrap(), "a");
    }
}
