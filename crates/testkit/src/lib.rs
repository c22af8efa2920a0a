//! The broker inside a test process; record generators.
