//! Panels of the screen. Each is drawn from the model alone.

pub(super) mod coverage;
pub(super) mod events;
pub(super) mod outcomes;
pub(super) mod workers;
