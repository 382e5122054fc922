//! Tests of the store through its public interface: one module for each thing it keeps.

mod approvals;
mod folder;
mod keys;
mod support;
