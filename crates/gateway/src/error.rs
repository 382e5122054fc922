//! Errors of setting up a gateway.

use runtime::CatalogError;

use crate::{LockFileError, OverlayFileError};

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("duplicate upstream name `{0}`")]
    DuplicateUpstream(String),
    #[error(transparent)]
    Overlay(#[from] OverlayFileError),
    #[error(transparent)]
    Lock(#[from] LockFileError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}
