//! Names of backup copies: `tls.key.bak`, `.env~`, `#id_rsa#`, `Copy of wallet.dat` hold what the original holds.
//!
//! The decorations are removed one after the other, so that `prod.env.old.gz` is recognized too.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::patterns::ShapeSet;

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

/// The shapes of [`BACKUP_SUFFIXES`] without their dots.
static SUFFIX_SHAPES: LazyLock<ShapeSet> = LazyLock::new(|| {
    let mut shapes = ShapeSet::default();
    BACKUP_SUFFIXES.iter().for_each(|suffix| shapes.insert(&suffix[1..]));
    shapes
});

/// Returns true if `is_match` is true for the folded name or for one of the names that it may be a copy of.
pub fn matches_copy(name: &str, mut is_match: impl FnMut(&str) -> bool) -> bool {
    let mut found = is_match(name);
    for_each_original(name, |original| found = found || is_match(&original));
    found
}

/// Calls `visit` with the names that a name may be a copy of.
pub(super) fn for_each_original<'n>(name: &'n str, mut visit: impl FnMut(Cow<'n, str>)) {
    let mut name = name;
    for _ in 0..MAX_DECORATIONS {
        let Some(original) = strip_decoration(name) else {
            break;
        };
        visit(original.into());
        // The swap file of `id_rsa` is `.id_rsa.swp`.
        if let Some(hidden) = original.strip_prefix('.').filter(|_| name.contains(".sw")) {
            visit(hidden.into());
        }
        name = original;
    }
    if let Some(original) = strip_inner_decoration(name) {
        let inner = strip_inner_decoration(&original);
        visit(original.into());
        if let Some(inner) = inner {
            visit(inner.into());
        }
    }
}

/// Returns the name without one decoration at its beginning or end.
fn strip_decoration(name: &str) -> Option<&str> {
    let stripped = strip_suffix(name).or_else(|| strip_number(name));
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

/// Removes one of [`BACKUP_SUFFIXES`]: a tilde, or the last dot and what follows it.
fn strip_suffix(name: &str) -> Option<&str> {
    if let Some(original) = name.strip_suffix('~') {
        return Some(original);
    }
    let at = name.bytes().rposition(|byte| byte == b'.')?;
    let (original, suffix) = name.split_at(at);
    let is_listed = SUFFIX_SHAPES.may_have(&suffix[1..]) && BACKUP_SUFFIXES.contains(&suffix);
    is_listed.then_some(original)
}

/// Removes a number or date after a dot or dash: `.1`, `.2024-01-15`, `-20240115`, `.~1`.
fn strip_number(name: &str) -> Option<&str> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"-_.:~t ".contains(byte);
    let bytes = name.as_bytes();
    let kept = bytes.iter().rposition(|byte| !is_part(byte)).map_or(0, |at| at + 1);
    let is_separator = |byte: &u8| matches!(byte, b'.' | b'-' | b'_' | b' ');
    let at = kept + bytes[kept..].iter().position(is_separator)?;
    let has_digit = bytes[at..].iter().any(u8::is_ascii_digit);
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
    fn suffixes_begin_with_their_only_dot() {
        for suffix in BACKUP_SUFFIXES {
            assert!(*suffix == "~" || suffix.rfind('.') == Some(0), "{suffix}");
            assert_eq!(strip_suffix(&format!("a.b{suffix}")), Some("a.b"), "{suffix}");
        }
        for name in ["a", "a.b", "a.bakx", "a.dpkg-olds", ""] {
            assert_eq!(strip_suffix(name), None, "{name}");
        }
    }

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
            "id_rsa-old-backup",
        ] {
            assert!(matches_copy(copy, |name| name == "id_rsa"), "{copy}");
        }
        for other in ["id_rsa.rs", "my_id_rsa", "id_rsa.pub", "bak", "~", "1", ".1", "id_rsa.md"] {
            assert!(!matches_copy(other, |name| name == "id_rsa"), "{other}");
        }
        assert!(matches_copy("tls-backup.key", |name| name == "tls.key"));
        assert!(matches_copy("my_ed25519.2024-01-15", |name| name == "my_ed25519"));
        assert!(matches_copy("prod (3).env.gz", |name| name == "prod.env"));
        assert!(matches_copy(".env-backup", |name| name == ".env"));
        for other in ["id_rsa-_", "id_rsa (a)", "id_rsa (1a)"] {
            assert!(!matches_copy(other, |name| name == "id_rsa"), "{other}");
        }
        for name in [".bak", "~", "#", "copy of ", ".1"] {
            assert!(!matches_copy(name, str::is_empty), "{name}");
        }
        assert!(!matches_copy(".id_rsa.bak", |name| name == "id_rsa"), "no swap file");
        assert!(matches_copy("notes.key.bak", |name| name.ends_with(".bak")), "the name itself");
        let decorated = |count| format!("id_rsa{}", ".bak".repeat(count));
        assert!(matches_copy(&decorated(MAX_DECORATIONS), |name| name == "id_rsa"));
        assert!(!matches_copy(&decorated(MAX_DECORATIONS + 1), |name| name == "id_rsa"));
    }
}
