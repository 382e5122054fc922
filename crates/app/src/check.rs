//! Checking one server: [`target`] decides which server is meant, [`drafts`] writes draft overlays for its tools.

pub mod drafts;
pub mod target;
