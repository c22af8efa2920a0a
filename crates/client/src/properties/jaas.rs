//! `sasl.jaas.config`: a login module of Java's, and its options.

/// A login module and its options.
#[derive(PartialEq, Eq)]
pub(super) struct Jaas {
    pub module: String,
    pub options: Vec<(String, String)>,
}

/// Names of options that may be shown. Behind a quote or a space at the wrong place, a piece of a password
/// stands where a name is expected.
const NAMES: [&str; 8] =
    ["username", "password", "tokenauth", "debug", "useKeyTab", "storeKey", "keyTab", "principal"];

/// How an error calls an option.
pub(super) fn shown_option(name: &str) -> &str {
    match NAMES.iter().find(|known| **known == name) {
        Some(known) => known,
        None => "one of its options",
    }
}

/// Reads `Module required name="value" ... ;`, one module only, as Kafka does. The reason of an error
/// never shows a value, nor a name that is not known.
pub(super) fn parse(text: &str) -> Result<Jaas, String> {
    let mut tokens = Tokens { rest: text.chars().peekable() };
    let module = tokens.next()?.ok_or("is empty")?.into_word("a login module")?;
    let flag = tokens.next()?.ok_or("ends behind the login module")?.into_word("required")?;
    let flags = ["required", "requisite", "sufficient", "optional"];
    if !flags.iter().any(|known| flag.eq_ignore_ascii_case(known)) {
        return Err("must have 'required' behind the login module".into());
    }
    let mut options = Vec::new();
    loop {
        match tokens.next()? {
            None => return Err("does not end with ';'".into()),
            Some(Token::End) => break,
            Some(name) => {
                let name = name.into_word("the name of an option")?;
                match tokens.next()? {
                    Some(Token::Equals) => {}
                    _ => return Err(format!("has no '=' behind {}", shown_option(&name))),
                }
                let shown = shown_option(&name);
                let value = tokens.next()?.ok_or_else(|| format!("has no value for {shown}"))?;
                let value = value.into_word(&format!("a value for {shown}"))?;
                options.push((name, value));
            }
        }
    }
    match tokens.next()? {
        None => Ok(Jaas { module, options }),
        Some(_) => Err("has something behind ';': one login module is possible".into()),
    }
}

enum Token {
    Word(String),
    Equals,
    End,
}

impl Token {
    fn into_word(self, wanted: &str) -> Result<String, String> {
        match self {
            Token::Word(word) => Ok(word),
            Token::Equals => Err(format!("has '=' where {wanted} should be")),
            Token::End => Err(format!("has ';' where {wanted} should be")),
        }
    }
}

struct Tokens<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
}

impl Tokens<'_> {
    fn next(&mut self) -> Result<Option<Token>, String> {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(first) = self.rest.next() else { return Ok(None) };
        match first {
            '=' => Ok(Some(Token::Equals)),
            ';' => Ok(Some(Token::End)),
            '"' | '\'' => self.quoted(first).map(Some),
            first => {
                let mut word = String::from(first);
                let in_word = |c: &char| !c.is_whitespace() && !matches!(c, '=' | ';' | '"' | '\'');
                while let Some(c) = self.rest.next_if(in_word) {
                    word.push(c);
                }
                Ok(Some(Token::Word(word)))
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Token, String> {
        let mut word = String::new();
        loop {
            match self.rest.next() {
                None => return Err("has a quote that is not closed".into()),
                Some('\\') => match self.rest.next() {
                    None => return Err("has a quote that is not closed".into()),
                    Some('n') => word.push('\n'),
                    Some('t') => word.push('\t'),
                    Some('r') => word.push('\r'),
                    Some(other) => word.push(other),
                },
                Some(c) if c == quote => return Ok(Token::Word(word)),
                Some(c) => word.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_options() {
        let jaas = "a.b.Module required\n username=\"al\\\"ice\" password='p=;w' debug=true;";
        let Ok(jaas) = parse(jaas) else { panic!("not read") };
        assert_eq!(jaas.module, "a.b.Module");
        let options = [("username", "al\"ice"), ("password", "p=;w"), ("debug", "true")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(jaas.options, options);
    }

    #[test]
    fn errors_show_no_secrets() {
        for bad in [
            "",
            "Module",
            "Module maybe;",
            "Module required password=\"secret\"",
            "Module required password=\"secret",
            "Module required password \"secret\";",
            "Module required =;",
            "Module required; Other required password=secret;",
            // A space or a quote in the password ends it, and what follows is read as a name.
            "Module required username=a password=my secret;",
            "Module required username=a password=\"my\"secret\";",
            "Module required username=a password=my secret",
            "Module required username=a password=my secret==;",
            "secret required;",
        ] {
            let Err(error) = parse(bad) else { continue };
            assert!(!error.contains("secret"), "{error}");
        }
        for bad in ["", "Module", "Module required password=my secret;", "Module required a=;"] {
            let error = parse(bad).err().unwrap_or_else(|| panic!("{bad}"));
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
