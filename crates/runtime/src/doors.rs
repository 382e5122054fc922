//! The front doors. Each turns its protocol's request into a [`crate::Call`] and the reply back; none decides anything.

pub mod http;
pub mod mcp;
pub mod openapi;
pub mod rest;
pub mod stdio;
