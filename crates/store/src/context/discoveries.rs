//! Discoveries that people added, and the SQL statements on them.

use std::fmt;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use super::increment_generation;
use crate::sqlite::{TransactionError, timestamp_from_millis};
use crate::{StoreError, random};

/// Maximum number of stored discoveries. People write them by hand, so the limit is generous, and all fit in memory.
pub const MAX_DISCOVERIES: usize = 10_000;

/// The kind of a discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoveryKind {
    /// A convention of the project.
    Pattern,
    /// A requirement or a prohibition.
    Rule,
    /// A choice that was made.
    Decision,
    /// A current or past defect.
    Issue,
}

impl DiscoveryKind {
    pub const ALL: [Self; 4] = [Self::Pattern, Self::Rule, Self::Decision, Self::Issue];

    /// Returns the name of the kind in the database and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Rule => "rule",
            Self::Decision => "decision",
            Self::Issue => "issue",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for DiscoveryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A discovery that a person added or imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredDiscovery {
    /// Computed by the caller from the content, so that equal discoveries have equal ids.
    pub id: String,
    pub kind: DiscoveryKind,
    pub title: Option<String>,
    pub content: String,
    pub module: Option<String>,
    /// The author, or the file that the discovery was imported from.
    pub source: String,
    pub session: Option<String>,
    pub added_at: Timestamp,
    pub tags: Vec<String>,
}

const COLUMNS: &str = "id, kind, title, content, module, source, session, added_at, tags";

/// Inserts the discoveries and returns the number of new ones.
pub(super) fn insert_discoveries(
    tx: &Transaction<'_>,
    discoveries: &[StoredDiscovery],
) -> Result<usize, TransactionError> {
    let mut added = 0;
    for new in discoveries {
        let tags = serde_json::to_string(&new.tags).expect("strings always serialize");
        let sql = format!(
            "INSERT INTO discovery ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (id) DO NOTHING"
        );
        added += tx.prepare_cached(&sql)?.execute((
            &new.id,
            new.kind.as_str(),
            &new.title,
            &new.content,
            &new.module,
            &new.source,
            &new.session,
            new.added_at.as_millisecond(),
            tags,
        ))?;
    }
    let count: i64 = tx.query_row("SELECT COUNT(*) FROM discovery", [], |row| row.get(0))?;
    if usize::try_from(count).is_ok_and(|count| count > MAX_DISCOVERIES) {
        return Err(StoreError::TooManyDiscoveries { limit: MAX_DISCOVERIES }.into());
    }
    if added > 0 {
        increment_generation(tx, "discoveries")?;
    }
    Ok(added)
}

pub(super) fn list_discoveries(
    connection: &Connection,
) -> Result<Vec<StoredDiscovery>, TransactionError> {
    let sql = format!("SELECT {COLUMNS} FROM discovery ORDER BY added_at DESC, id");
    let rows = connection
        .prepare_cached(&sql)?
        .query_map([], from_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

/// Returns the discovery with this id or unique id prefix.
pub(super) fn find_discovery(
    connection: &Connection,
    id: &str,
) -> Result<StoredDiscovery, TransactionError> {
    let prefix = random::normalize_id(id);
    let sql =
        format!("SELECT {COLUMNS} FROM discovery WHERE substr(id, 1, length($1)) = $1 LIMIT 2");
    let mut found = connection
        .prepare(&sql)?
        .query_map([&prefix], from_row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    match found.pop() {
        Some(discovery) if found.is_empty() && !prefix.is_empty() => Ok(discovery),
        Some(_) if !prefix.is_empty() => Err(StoreError::AmbiguousDiscovery { prefix }.into()),
        _ => Err(StoreError::UnknownDiscovery { id: id.to_owned() }.into()),
    }
}

pub(super) fn delete_discovery(
    tx: &Transaction<'_>,
    id: &str,
) -> Result<StoredDiscovery, TransactionError> {
    let discovery = find_discovery(tx, id)?;
    tx.query_row("DELETE FROM discovery WHERE id = $1 RETURNING id", [&discovery.id], |_| Ok(()))
        .optional()?;
    increment_generation(tx, "discoveries")?;
    Ok(discovery)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredDiscovery> {
    let kind: String = row.get("kind")?;
    let tags: String = row.get("tags")?;
    Ok(StoredDiscovery {
        id: row.get("id")?,
        kind: DiscoveryKind::from_name(&kind)
            .ok_or_else(|| conversion_error(format!("unknown discovery kind \"{kind}\"")))?,
        title: row.get("title")?,
        content: row.get("content")?,
        module: row.get("module")?,
        source: row.get("source")?,
        session: row.get("session")?,
        added_at: timestamp_from_millis(row.get("added_at")?)?,
        tags: serde_json::from_str(&tags).map_err(|error| conversion_error(error.to_string()))?,
    })
}

fn conversion_error(reason: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, reason.into())
}
