//! The discoveries that people added, and the statements on them.

use std::fmt;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use super::raise;
use crate::sqlite::{Failure, time};
use crate::{StoreError, random};

/// People type these; ten thousand is a lifetime of decisions, and all of them fit in memory.
pub const MAX_DISCOVERIES: usize = 10_000;

/// What a discovery tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// How things are done here.
    Pattern,
    /// What must or must not be.
    Rule,
    /// What was chosen.
    Decision,
    /// What is or was wrong.
    Issue,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Pattern, Self::Rule, Self::Decision, Self::Issue];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Rule => "rule",
            Self::Decision => "decision",
            Self::Issue => "issue",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A discovery that somebody added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredDiscovery {
    /// Made by whoever adds it, from what it says: the same discovery has the same id.
    pub id: String,
    pub kind: Kind,
    pub title: Option<String>,
    pub content: String,
    pub module: Option<String>,
    /// Who added it, or the file it was imported from.
    pub source: String,
    pub session: Option<String>,
    pub added_at: Timestamp,
    pub tags: Vec<String>,
}

const COLUMNS: &str = "id, kind, title, content, module, source, session, added_at, tags";

pub(super) fn add(tx: &Transaction<'_>, discoveries: &[StoredDiscovery]) -> Result<usize, Failure> {
    let mut added = 0;
    for new in discoveries {
        let tags = serde_json::to_string(&new.tags).expect("strings are always JSON");
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
        raise(tx, "discoveries")?;
    }
    Ok(added)
}

pub(super) fn list(connection: &Connection) -> Result<Vec<StoredDiscovery>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM discovery ORDER BY added_at DESC, id");
    let rows = connection
        .prepare_cached(&sql)?
        .query_map([], from_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(super) fn find(connection: &Connection, id: &str) -> Result<StoredDiscovery, Failure> {
    let prefix = random::normalize(id);
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

pub(super) fn remove(tx: &Transaction<'_>, id: &str) -> Result<StoredDiscovery, Failure> {
    let discovery = find(tx, id)?;
    tx.query_row("DELETE FROM discovery WHERE id = $1 RETURNING id", [&discovery.id], |_| Ok(()))
        .optional()?;
    raise(tx, "discoveries")?;
    Ok(discovery)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredDiscovery> {
    let kind: String = row.get("kind")?;
    let tags: String = row.get("tags")?;
    Ok(StoredDiscovery {
        id: row.get("id")?,
        kind: Kind::from_name(&kind)
            .ok_or_else(|| broken(format!("{kind} is no kind of discovery")))?,
        title: row.get("title")?,
        content: row.get("content")?,
        module: row.get("module")?,
        source: row.get("source")?,
        session: row.get("session")?,
        added_at: time(row.get("added_at")?)?,
        tags: serde_json::from_str(&tags).map_err(|error| broken(error.to_string()))?,
    })
}

fn broken(reason: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, reason.into())
}
