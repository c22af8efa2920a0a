//! Who may do what, who has which password, and who is limited how: `thalweg acl`, `thalweg user`,
//! `thalweg quota`.

pub mod acl;
mod password;
pub mod quota;
pub mod user;
