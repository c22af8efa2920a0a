//! What commands print: tables for people, JSON for programs.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde_json::Value;

use super::error::CliError;
use super::stderr::note;

/// Standard output, buffered; who stops reading it ends the command without a word.
pub struct Out {
    to: BufWriter<StdoutLock<'static>>,
}

impl Out {
    /// Standard output, for as long as this lives.
    pub fn new() -> Out {
        Out { to: BufWriter::new(io::stdout().lock()) }
    }

    /// One line.
    pub fn line(&mut self, text: &str) -> Result<(), CliError> {
        writeln!(self.to, "{text}").map_err(|error| CliError::output(&error))
    }

    /// A value, indented.
    pub fn json(&mut self, value: &Value) -> Result<(), CliError> {
        serde_json::to_writer_pretty(&mut self.to, value)
            .map_err(|error| CliError::output(&error.into()))?;
        self.line("")
    }

    /// A table; nothing where it has no rows.
    pub fn table(&mut self, table: &Table) -> Result<(), CliError> {
        table.write(&mut self.to).map_err(|error| CliError::output(&error))
    }

    /// A table of what was asked for; where it has no rows a note on stderr says so, of `what`.
    pub fn table_of(&mut self, what: &str, table: &Table) -> Result<(), CliError> {
        if table.rows.is_empty() {
            note(&format!("there are no {what}"));
        }
        self.table(table)
    }

    /// Hands over what is buffered; call it last, as a failure in dropping is not heard.
    pub fn finish(mut self) -> Result<(), CliError> {
        self.flush()
    }

    /// Hands over what is buffered.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.to.flush().map_err(|error| CliError::output(&error))
    }
}

/// To which side of its column a cell goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a header, in columns as wide as they have to be.
#[derive(Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = (&'static str, Align)>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row, with a cell per column. What would break a line is shown escaped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().map(printable).collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let header: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut widths = vec![0; self.columns.len()];
        for row in std::iter::once(&header).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in std::iter::once(&header).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), width) in row.iter().zip(&self.columns).zip(&widths) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                let padding = " ".repeat(width - cell.chars().count().min(*width));
                match align {
                    Align::Left => line.extend([cell.as_str(), &padding]),
                    Align::Right => line.extend([&padding, cell.as_str()]),
                }
            }
            writeln!(to, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A cell that stays on its line and cannot talk to the terminal; `-` for an empty one.
fn printable(cell: String) -> String {
    if cell.is_empty() {
        return "-".to_owned();
    }
    if !cell.chars().any(char::is_control) {
        return cell;
    }
    cell.chars().fold(String::new(), |mut text, c| {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let mut table =
            Table::new([("NAME", Align::Left), ("N", Align::Right), ("X", Align::Left)]);
        let mut text = Vec::new();
        table.write(&mut text).unwrap();
        assert!(text.is_empty());
        table.row(["längst".into(), "1".into(), String::new()]);
        table.row(["a\n\u{1b}".into(), "100".into(), "x".into()]);
        table.write(&mut text).unwrap();
        let expected = "NAME         N  X\nlängst       1  -\na\\n\\u{1b}  100  x\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
