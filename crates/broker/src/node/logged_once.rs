//! A message that is logged when it is new, and not with every attempt.

/// The message that was logged last.
#[derive(Debug, Default)]
pub(crate) struct LoggedOnce(String);

impl LoggedOnce {
    /// Whether a message differs from the last one; it is the last one then.
    pub(crate) fn is_news(&mut self, message: &str) -> bool {
        if self.0 == message {
            return false;
        }
        message.clone_into(&mut self.0);
        true
    }

    /// The next message is news, whatever it is.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_news_once_until_another_one_comes() {
        let mut logged = LoggedOnce::default();
        let news = ["a", "a", "b", "a"].map(|message| logged.is_news(message));
        assert_eq!(news, [true, false, true, true]);
        logged.clear();
        assert!(logged.is_news("a"));
    }
}
