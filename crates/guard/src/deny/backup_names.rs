//! Names of backup copies: `tls.key.bak`, `.env~`, `#id_rsa#`, `Copy of wallet.dat` hold what the original holds.
//!
//! The decorations are removed one after the other, so that `prod.env.old.gz` is recognized too.

/// Maximum decorations of one name that are removed.
const MAX_DECORATIONS: usize = 6;

/// Endings that mark a copy, an archive or an encoded form of a file.
const BACKUP_SUFFIXES: &[&str] = &[
    "~",
    ".bak",
    ".backup",
    ".bck",
    ".bkp",
    ".bk",
    ".old",
    ".orig",
    ".original",
    ".save",
    ".saved",
    ".sav",
    ".prev",
    ".previous",
    ".copy",
    ".cpy",
    ".tmp",
    ".temp",
    ".new",
    ".swp",
    ".swo",
    ".swn",
    ".dpkg-old",
    ".dpkg-dist",
    ".dpkg-new",
    ".rpmsave",
    ".rpmnew",
    ".rpmorig",
    ".ucf-old",
    ".rej",
    ".disabled",
    ".off",
    ".gz",
    ".bz2",
    ".xz",
    ".zst",
    ".lz4",
    ".z",
    ".zip",
    ".7z",
    ".rar",
    ".tar",
    ".tgz",
    ".b64",
    ".base64",
];

/// Endings that mark a copy when they follow the name without a dot, before or without an extension.
const INNER_SUFFIXES: [&str; 8] =
    ["-backup", "_backup", "-copy", "_copy", " copy", "-old", "_old", "-bak"];

/// Calls `is_match` with the folded name and with the names that it may be a copy of, until one matches. Returns true if
/// one did.
pub fn any_original(name: &str, mut is_match: impl FnMut(&str) -> bool) -> bool {
    if is_match(name) {
        return true;
    }
    let mut name = name;
    let mut owned;
    for _ in 0..MAX_DECORATIONS {
        let Some(original) = strip_decoration(name) else {
            break;
        };
        if is_match(original) {
            return true;
        }
        // The swap file of `id_rsa` is `.id_rsa.swp`.
        if let Some(hidden) = original.strip_prefix('.').filter(|_| name.contains(".sw"))
            && is_match(hidden)
        {
            return true;
        }
        name = original;
    }
    if let Some(original) = strip_inner_decoration(name) {
        owned = original;
        if is_match(&owned) {
            return true;
        }
        if let Some(inner) = strip_inner_decoration(&owned) {
            owned = inner;
            return is_match(&owned);
        }
    }
    false
}

/// Returns the name without one decoration at its beginning or end.
fn strip_decoration(name: &str) -> Option<&str> {
    let stripped = BACKUP_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
    let stripped = stripped.or_else(|| strip_number(name));
    let stripped = stripped.or_else(|| {
        let inner = name.strip_prefix('#')?;
        Some(inner.strip_suffix('#').unwrap_or(inner))
    });
    let stripped = stripped
        .or_else(|| name.strip_prefix(".#"))
        .or_else(|| name.strip_prefix("copy of "))
        .or_else(|| name.strip_prefix("backup of "))
        .or_else(|| name.strip_prefix("~$"));
    stripped.filter(|original| !original.is_empty())
}

/// Removes a number or date after a dot or dash: `.1`, `.2024-01-15`, `-20240115`, `.~1`.
fn strip_number(name: &str) -> Option<&str> {
    let kept = name.trim_end_matches(|c: char| c.is_ascii_digit() || "-_.:~t ".contains(c));
    let at = kept.len() + name[kept.len()..].find(['.', '-', '_', ' '])?;
    let has_digit = name[at..].bytes().any(|byte| byte.is_ascii_digit());
    has_digit.then_some(&name[..at])
}

/// Removes a decoration before the extension: `id_rsa (1)`, `prod-backup.env`, `tls copy.key`, `wallet_2024.dat`.
fn strip_inner_decoration(name: &str) -> Option<String> {
    let (stem, extension) = match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    };
    let numbered = stem.strip_suffix(')').and_then(|stem| {
        let (before, number) = stem.rsplit_once('(')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| before.trim_end())
    });
    let stem = numbered
        .or_else(|| INNER_SUFFIXES.iter().find_map(|suffix| stem.strip_suffix(suffix)))
        .or_else(|| strip_number(stem))?;
    (!stem.is_empty()).then(|| format!("{stem}{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_copies_of_a_file() {
        for copy in [
            "id_rsa",
            "id_rsa~",
            "id_rsa.bak",
            "id_rsa.old.gz",
            "id_rsa.1",
            "id_rsa.2024-01-15",
            "#id_rsa#",
            ".#id_rsa",
            "copy of id_rsa",
            ".id_rsa.swp",
            "id_rsa (1)",
            "id_rsa copy",
            "id_rsa-backup",
            "id_rsa.bak.bak.bak.zip",
            "id_rsa_20240115",
            "id_rsa.~1~",
            "id_rsa.tar.gz",
            "id_rsa.12345",
            "copy of id_rsa (2).bak",
            "id_rsa.b64",
        ] {
            assert!(any_original(copy, |name| name == "id_rsa"), "{copy}");
        }
        for other in ["id_rsa.rs", "my_id_rsa", "id_rsa.pub", "bak", "~", "1", ".1", "id_rsa.md"] {
            assert!(!any_original(other, |name| name == "id_rsa"), "{other}");
        }
        assert!(any_original("tls-backup.key", |name| name == "tls.key"));
        assert!(any_original("my_ed25519.2024-01-15", |name| name == "my_ed25519"));
        assert!(any_original("prod (3).env.gz", |name| name == "prod.env"));
    }
}
