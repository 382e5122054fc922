//! What no other server may write: the configuration, the pins, the overlays and our state. Who can write them decides
//! what is admitted.

use std::path::{Path, PathBuf};

use super::FILE_NAME;
use super::gateway::Gateway;
use super::place::Place;
use super::private::real;

#[derive(Clone, Debug)]
pub struct Kept {
    /// Each as people know it, and where it really is.
    files: Vec<(String, PathBuf)>,
    /// Which is not to be read either.
    state: (String, PathBuf),
}

impl Kept {
    pub(super) fn new(place: Place<'_>, gateway: &Gateway, state_folder: &Path) -> Self {
        let root = place.root;
        let named = |path: &Path| {
            (path.strip_prefix(root).unwrap_or(path).display().to_string(), real(path))
        };
        let config = place.source.map_or_else(|| root.join(FILE_NAME), |file| file.path.clone());
        let files = [&config, &gateway.lock, &gateway.contracts].map(|path| named(path)).to_vec();
        Self { files, state: named(state_folder) }
    }

    /// Why a server cannot be let write this path, if it cannot.
    pub(crate) fn no_writing(&self, grant: &Path) -> Option<String> {
        let path = real(grant);
        let all = || self.files.iter().chain([&self.state]);
        if let Some((name, _)) = all().find(|(_, kept)| path != *kept && path.starts_with(kept)) {
            return Some(format!("it lies in {name}, which no server may write"));
        }
        let covered: Vec<_> = all()
            .filter(|(_, kept)| kept.starts_with(&path))
            .map(|(name, _)| name.as_str())
            .collect();
        (!covered.is_empty()).then(|| {
            format!(
                "it covers {}, which no server may write; grant a folder that holds none of it",
                covered.join(", ")
            )
        })
    }

    /// Why a server cannot be let read this path. What is around the state can be granted: the state is left out.
    pub(crate) fn no_reading(&self, grant: &Path) -> Option<String> {
        let (name, kept) = &self.state;
        real(grant)
            .starts_with(kept)
            .then(|| format!("it lies in {name}, which no server may read"))
    }
}
