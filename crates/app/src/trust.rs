//! Project trust: what a folder's files may do before and after its user has run `vouch trust`.
//!
//! ```text
//!  vouch.toml ──► safe_half: allowlist of keys that can only restrict ──► untrusted and changed folders
//!      │              └─► what was left out: FolderPower
//!      └────────► everything ──► trusted folders: TrustRecord = FolderEvidence
//!
//!  $XDG_DATA_HOME/vouch/trust/     0700, default ~/.local/share
//!    <key of path>.json            0600, one TrustRecord
//!    .lock                         held while a trusted file and its record change
//! ```
//!
//! A record names the folder by path and identity, and holds the digest of every file that grants power. A folder whose
//! files differ from its record counts as untrusted until its user agrees again. Nothing in the folder can write a record.
//!
//! This module decides; it neither prints nor prompts. It does not look at what a trusted program does: that is the
//! sandbox. Start at `FolderTrust::judge`.

mod change;
mod compiler;
mod evidence;
mod file_access;
mod folder;
mod power;
mod record;
mod safe_half;
mod writes;

pub use change::TrustChange;
pub(crate) use file_access::{
    FileOwner, check_output_folder, read_config_file, read_contained_file,
};
pub use file_access::{read_text_file, resolve_write_path};
pub use folder::{FolderTrust, TrustState};
pub(crate) use folder::{TrustMode, TrustSubject};
pub use power::{FolderPower, PowerKind, format_all_powers, format_powers, summarize_powers};
pub use record::{ListedRecord, RecordStatus, TrustRecord, TrustStore, TrustStoreError};
pub(crate) use safe_half::split_table;
