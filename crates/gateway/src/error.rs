//! Why a gateway cannot be set up.

use runtime::CatalogError;

use crate::{LockFileError, OverlayFileError};

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("two upstreams are called `{0}`; a name belongs to one only")]
    DuplicateUpstream(String),
    #[error(transparent)]
    Overlay(#[from] OverlayFileError),
    #[error(transparent)]
    Lock(#[from] LockFileError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}
