//! What the kernel counted on the sockets of this process.

use std::process::Command;

/// Bytes received on all TCP connections that are open; `None` without the command `ss`.
///
/// It takes some milliseconds, so it is for right before and right after the window.
pub fn received() -> Option<u64> {
    let output = Command::new("ss").args(["-tinpOH"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(received_in(&text, std::process::id()))
}

/// Of one process, in the output of `ss` with one connection a line.
fn received_in(text: &str, process: u32) -> u64 {
    let owner = format!("pid={process},");
    text.lines()
        .filter(|line| line.contains(&owner))
        .filter_map(|line| {
            let word = line.split_whitespace().find_map(|w| w.strip_prefix("bytes_received:"))?;
            word.parse::<u64>().ok()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn bytes_of_this_process_are_counted() {
        let before = received();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut into, _) = listener.accept().unwrap();
        out.write_all(&[7; 12_345]).unwrap();
        into.read_exact(&mut [0; 12_345]).unwrap();
        // Where there is no `ss`, there is nothing to count.
        if let (Some(before), Some(after)) = (before, received()) {
            assert_eq!(after - before, 12_345);
        }
        assert_eq!(received_in("ESTAB pid=12, bytes_received:5\nx pid=1, bytes_received:7", 1), 7);
    }
}
