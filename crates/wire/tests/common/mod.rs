//! What several of the wire tests share.
#![allow(dead_code)]

pub mod alloc;
pub mod facts;
pub mod forms;
