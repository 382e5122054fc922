//! Checks one server: [`target`] resolves the server, [`drafts`] writes draft overlays for its tools.

pub mod drafts;
pub mod target;
