//! Whatever is done to a log, the check finds it and names the line.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use store::audit::{self, Finding, Kind, Report};
use tempfile::TempDir;

use crate::audit::{log, messages};

const LINES: usize = 12;

/// The lines of a good log, without newlines, and its head.
static GOOD: LazyLock<(Vec<Vec<u8>>, Vec<u8>)> = LazyLock::new(|| {
    let temp = TempDir::new().unwrap();
    let text = fs::read(log(&temp, LINES as u64)).unwrap();
    let lines: Vec<_> =
        text.trim_ascii_end().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    assert_eq!(lines.len(), LINES);
    (lines, fs::read(temp.path().join("audit.head")).unwrap())
});

fn verify(text: &[u8]) -> Report {
    let temp = TempDir::new().unwrap();
    verify_at(temp.path(), text)
}

fn verify_at(folder: &Path, text: &[u8]) -> Report {
    fs::write(folder.join("audit.jsonl"), text).unwrap();
    fs::write(folder.join("audit.head"), &GOOD.1).unwrap();
    audit::verify(folder.join("audit.jsonl")).unwrap()
}

fn text(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().copied().chain(*b"\n")).collect()
}

/// Whether a finding of this kind covers this line (or, for missing lines, this number).
fn names(report: &Report, kind: Kind, n: usize) -> bool {
    let covers = |finding: &Finding| {
        let first = if kind == Kind::Missing { finding.seq } else { finding.line };
        first.is_some_and(|first| (first..first + finding.count).contains(&(n as u64)))
    };
    report
        .problems
        .iter()
        .chain(&report.notes)
        .any(|finding| finding.kind == kind && covers(finding))
}

/// Two files a case: the disk, not the check, bounds how many there can be.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn a_flipped_byte_is_found(line in 1..=LINES, at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let mut lines = GOOD.0.clone();
        let at = at.index(lines[line - 1].len());
        lines[line - 1][at] ^= flip;
        let report = verify(&text(&lines));
        prop_assert!(!report.ok);
        prop_assert!(names(&report, Kind::Changed, line), "{:?}", messages(&report));
        // A new newline makes two lines of one; any other flip concerns that one line alone.
        if lines[line - 1][at] != b'\n' {
            prop_assert_eq!(report.problems.len(), 1, "{:?}", messages(&report));
        }
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_lost_newline_is_found(line in 1..LINES, byte in any::<u8>()) {
        prop_assume!(byte != b'\n');
        let mut bytes = text(&GOOD.0);
        let at = text(&GOOD.0[..line]).len() - 1;
        bytes[at] = byte;
        let report = verify(&bytes);
        prop_assert!(!report.ok);
        prop_assert!(names(&report, Kind::Changed, line), "{:?}", messages(&report));
    }

    #[test]
    fn removed_lines_are_found(first in 1..=LINES, count in 1..=LINES) {
        let last = (first + count - 1).min(LINES);
        let mut lines = GOOD.0.clone();
        lines.drain(first - 1..last);
        let report = verify(&text(&lines));
        prop_assert_eq!(report.problems.len(), 1, "{:?}", messages(&report));
        prop_assert!(names(&report, Kind::Missing, first) && names(&report, Kind::Missing, last));
    }

    #[test]
    fn a_copied_line_is_found(line in 1..=LINES, at in 1..=LINES + 1) {
        let mut lines = GOOD.0.clone();
        lines.insert(at - 1, lines[line - 1].clone());
        let report = verify(&text(&lines));
        // Beside its original a copy cannot be told from it: the second counts as inserted.
        let at = if at == line { line + 1 } else { at };
        prop_assert_eq!(report.problems.len(), 1, "{:?}", messages(&report));
        prop_assert!(names(&report, Kind::Inserted, at), "{:?}", messages(&report));
    }

    #[test]
    fn an_invented_line_is_found(at in 1..=LINES + 1, seq in 0..=2 * LINES, valid in any::<bool>()) {
        let mut lines = GOOD.0.clone();
        let invented = match valid {
            true => format!(r#"{{"seq":{seq},"prev":"sha256:{}"}}"#, "1".repeat(64)),
            false => "nonsense".into(),
        };
        lines.insert(at - 1, invented.into_bytes());
        let report = verify(&text(&lines));
        // After the end nothing tells a forged continuation from a line whose link was changed.
        let changed = at > LINES && (names(&report, Kind::Changed, LINES) || names(&report, Kind::Missing, LINES + 1));
        prop_assert!(names(&report, Kind::Inserted, at) || changed, "{:?}", messages(&report));
    }

    #[test]
    fn two_swapped_lines_are_found(one in 1..=LINES, other in 1..=LINES) {
        prop_assume!(one != other);
        let mut lines = GOOD.0.clone();
        lines.swap(one - 1, other - 1);
        let report = verify(&text(&lines));
        let named = |n| names(&report, Kind::Reordered, n);
        prop_assert!(named(one) || named(other), "{:?}", messages(&report));
        prop_assert!(report.problems.iter().all(|finding| finding.kind == Kind::Reordered), "{:?}", messages(&report));
        prop_assert!(report.problems.len() <= 3, "{:?}", messages(&report));
    }

    #[test]
    fn a_moved_block_is_found(from in 1..=LINES, count in 1..=LINES, to in any::<prop::sample::Index>()) {
        let mut lines = GOOD.0.clone();
        let block: Vec<_> = lines.drain(from - 1..(from + count - 1).min(LINES)).collect();
        let to = to.index(lines.len() + 1);
        prop_assume!(to != from - 1);
        lines.splice(to..to, block);
        let report = verify(&text(&lines));
        prop_assert!(!report.ok);
        prop_assert!(report.problems.iter().all(|finding| finding.kind == Kind::Reordered), "{:?}", messages(&report));
    }

    #[test]
    fn a_cut_end_is_found_and_survives_the_next_start(at in any::<prop::sample::Index>()) {
        let bytes = text(&GOOD.0);
        let at = at.index(bytes.len());
        let temp = TempDir::new().unwrap();
        let report = verify_at(temp.path(), &bytes[..at]);
        let whole = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let torn = at > 0 && bytes[at - 1] != b'\n';
        prop_assert_eq!(names(&report, Kind::Torn, whole + 1), torn, "{:?}", messages(&report));
        // A line that lacks only its newline is kept.
        let kept = whole + usize::from(torn && bytes[at] == b'\n');
        prop_assert_eq!(report.ok, kept == LINES);
        for missing in kept + 1..=LINES {
            prop_assert!(names(&report, Kind::Missing, missing), "{:?}", messages(&report));
        }

        let path = temp.path().join("audit.jsonl");
        drop(audit::AuditLog::open(&path).unwrap());
        prop_assert!(fs::read(&path).unwrap().starts_with(&text(&GOOD.0[..kept])));
        let report = audit::verify(&path).unwrap();
        prop_assert_eq!(names(&report, Kind::Tampered, kept + 1), kept < LINES);
        prop_assert_eq!(names(&report, Kind::Repaired, kept + 2), torn && kept == whole);
        prop_assert_eq!(report.problems.len(), usize::from(kept < LINES));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let temp = TempDir::new().unwrap();
        verify_at(temp.path(), &bytes);
        let path = temp.path().join("audit.jsonl");
        drop(audit::AuditLog::open(&path).unwrap());
        prop_assert!(!audit::verify(&path).unwrap().ok);
    }
}

#[test]
fn several_findings_are_all_named() {
    let mut lines = GOOD.0.clone();
    lines[1][20] ^= 1;
    lines.remove(4);
    lines.swap(6, 8);
    lines[10] = b"nonsense".to_vec();
    let report = verify(&text(&lines));
    insta::assert_json_snapshot!(report.problems);
}

#[test]
fn two_changed_neighbours_are_both_mentioned() {
    let mut lines = GOOD.0.clone();
    for line in &mut lines[3..=4] {
        let at = line.windows(5).position(|part| part == b"alice").unwrap();
        line[at] = b'm';
    }
    let report = verify(&text(&lines));
    assert_eq!(
        messages(&report),
        ["line 5 was changed after it was written; it no longer vouches for line 4"]
    );
}
