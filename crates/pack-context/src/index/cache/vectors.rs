//! Reads and writes the table `vectors`.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{ContentCache, ContentKey, current_day};

impl ContentCache {
    /// Deletes all rows of a model.
    pub(crate) fn delete_vectors(&self, model: &ContentKey) {
        self.with_connection("delete vectors", |connection| {
            connection.execute("DELETE FROM vectors WHERE model = ?1", [model])
        });
    }

    /// Returns the stored row of each text; `None` for a text without one.
    pub(crate) fn read_vectors(
        &self,
        model: &ContentKey,
        keys: &[ContentKey],
    ) -> Vec<Option<Vec<u8>>> {
        self.with_connection("read vectors", |connection| {
            let mut find = connection
                .prepare_cached("SELECT row, used FROM vectors WHERE model = ?1 AND key = ?2")?;
            let mut rows = Vec::with_capacity(keys.len());
            let mut outdated = Vec::new();
            for key in keys {
                let row: Option<(Vec<u8>, i64)> = find
                    .query_row(params![model, key], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                rows.push(row.map(|(row, used)| {
                    if used != current_day() {
                        outdated.push(*key);
                    }
                    row
                }));
            }
            drop(find);
            // Failing to update the dates does not affect the rows that were read.
            mark_used_today(connection, model, &outdated).ok();
            Ok(rows)
        })
        .unwrap_or_else(|| vec![None; keys.len()])
    }

    pub(crate) fn add_vectors(&self, model: &ContentKey, rows: &[(ContentKey, Vec<u8>)]) {
        self.with_connection("write vectors", |connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut insert = tx.prepare_cached(
                "INSERT OR IGNORE INTO vectors (model, key, used, row) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (key, row) in rows {
                insert.execute(params![model, key, current_day(), row])?;
            }
            drop(insert);
            tx.commit()
        });
    }
}

/// Sets the last use of these rows to today.
fn mark_used_today(
    connection: &mut Connection,
    model: &ContentKey,
    keys: &[ContentKey],
) -> rusqlite::Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut update =
        tx.prepare_cached("UPDATE vectors SET used = ?3 WHERE model = ?1 AND key = ?2")?;
    for key in keys {
        update.execute(params![model, key, current_day()])?;
    }
    drop(update);
    tx.commit()
}
