//! The rows of `vectors`.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{Cache, Key, today};

impl Cache {
    /// Drops all rows of a model.
    pub(crate) fn forget_vectors(&self, model: &Key) {
        self.run("drop vectors of", |connection| {
            connection.execute("DELETE FROM vectors WHERE model = ?1", [model])
        });
    }

    /// The stored row of each text, None where there is none.
    pub(crate) fn vectors(&self, model: &Key, keys: &[Key]) -> Vec<Option<Vec<u8>>> {
        self.run("read vectors of", |connection| {
            let mut find = connection
                .prepare_cached("SELECT row, used FROM vectors WHERE model = ?1 AND key = ?2")?;
            let mut rows = Vec::with_capacity(keys.len());
            let mut aged = Vec::new();
            for key in keys {
                let row: Option<(Vec<u8>, i64)> = find
                    .query_row(params![model, key], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                rows.push(row.map(|(row, used)| {
                    if used != today() {
                        aged.push(*key);
                    }
                    row
                }));
            }
            drop(find);
            // A date that cannot be noted now takes nothing from what was read.
            touch(connection, model, &aged).ok();
            Ok(rows)
        })
        .unwrap_or_else(|| vec![None; keys.len()])
    }

    pub(crate) fn add_vectors(&self, model: &Key, rows: &[(Key, Vec<u8>)]) {
        self.run("write vectors to", |connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut insert = tx.prepare_cached(
                "INSERT OR IGNORE INTO vectors (model, key, used, row) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (key, row) in rows {
                insert.execute(params![model, key, today(), row])?;
            }
            drop(insert);
            tx.commit()
        });
    }
}

/// Notes that these rows were used today.
fn touch(connection: &mut Connection, model: &Key, keys: &[Key]) -> rusqlite::Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut touch =
        tx.prepare_cached("UPDATE vectors SET used = ?3 WHERE model = ?1 AND key = ?2")?;
    for key in keys {
        touch.execute(params![model, key, today()])?;
    }
    drop(touch);
    tx.commit()
}
