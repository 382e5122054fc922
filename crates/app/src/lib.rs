//! Everything between the command line and the crates that do the work: configuration, assembly and serving.
//!
//! ```text
//!  cli (flags, printing, exit codes)
//!   └─► app: config ──► project, upstreams, campaign ──► serving
//!             └─► the library crates, which read no environment and print nothing
//! ```
//!
//! This crate reads the environment and the project's files. It never prints: text for people goes through
//! [`context::NoticeSink`], failures are returned as [`failure::Failure`]. It does not know the command line.
//!
//! Start at [`config::load_settings`], which turns all configuration layers into [`config::Settings`], and at
//! [`project::assemble_project`], which assembles tools, store and pipeline from them.

pub mod ask;
pub mod audit_seal;
pub mod call_arguments;
pub mod campaign;
pub mod check;
pub mod clients;
pub mod config;
pub mod context;
pub mod doctor;
pub mod env;
pub mod failure;
pub mod flag_pairs;
pub mod project;
pub mod serving;
pub mod solc;
pub mod state_migration;
pub mod telemetry;
pub mod traces;
pub mod trust;
pub mod upstreams;
