//! Verification detects any manipulation of a log and names the affected lines.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use store::audit::{VerificationFinding, VerificationFindingKind, VerificationReport};
use tempfile::TempDir;

use crate::audit::{messages, open_log, verify as verify_log, write_log};

const LINES: usize = 12;

/// A file beside the log: its name and content.
type OtherFile = (&'static str, Vec<u8>);

/// The lines of a valid log, without newlines, and its other files.
static VALID_LOG: LazyLock<(Vec<Vec<u8>>, Vec<OtherFile>)> = LazyLock::new(|| {
    let temp = TempDir::new().unwrap();
    let text = fs::read(write_log(&temp, LINES as u64 - 1)).unwrap();
    let lines: Vec<_> =
        text.trim_ascii_end().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    assert_eq!(lines.len(), LINES);
    let others = ["audit.head", "keys/keys.json", "keys/mark"];
    let others = others.map(|name| (name, fs::read(temp.path().join(name)).unwrap()));
    (lines, others.into())
});

fn verify(text: &[u8]) -> VerificationReport {
    let temp = TempDir::new().unwrap();
    verify_at(temp.path(), text)
}

fn verify_at(folder: &Path, text: &[u8]) -> VerificationReport {
    fs::write(folder.join("audit.jsonl"), text).unwrap();
    let keys = folder.join("keys");
    fs::create_dir_all(&keys).unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).unwrap();
    for (name, content) in &VALID_LOG.1 {
        fs::write(folder.join(name), content).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    verify_log(&folder.join("audit.jsonl")).unwrap()
}

fn join_lines(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().copied().chain(*b"\n")).collect()
}

/// Returns true if a finding of this kind covers line `n`, or sequence number `n` for missing lines.
fn has_finding(report: &VerificationReport, kind: VerificationFindingKind, n: usize) -> bool {
    let covers = |finding: &VerificationFinding| {
        let first =
            if kind == VerificationFindingKind::Missing { finding.seq } else { finding.line };
        first.is_some_and(|first| (first..first + finding.count).contains(&(n as u64)))
    };
    report
        .problems
        .iter()
        .chain(&report.notes)
        .any(|finding| finding.kind == kind && covers(finding))
}

/// Each case writes two files, so the disk limits the number of cases, not the verification.
fn case_config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(case_config(1_000))]

    #[test]
    fn detects_flipped_byte(line in 1..=LINES, at in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let mut lines = VALID_LOG.0.clone();
        let at = at.index(lines[line - 1].len());
        lines[line - 1][at] ^= flip;
        let report = verify(&join_lines(&lines));
        prop_assert!(!report.ok);
        prop_assert!(has_finding(&report, VerificationFindingKind::Changed, line), "{:?}", messages(&report));
        // A new newline splits the line in two; any other flip affects only this line.
        if lines[line - 1][at] != b'\n' {
            // The id of the key in the first line has nothing to be compared with, so it may also be reported as missing.
            let is_first = line == 1 && report.problems.iter().all(|it| it.line == Some(1));
            prop_assert!(report.problems.len() == 1 || is_first, "{:?}", messages(&report));
        }
    }
}

proptest! {
    #![proptest_config(case_config(200))]

    #[test]
    fn detects_replaced_newline(line in 1..LINES, byte in any::<u8>()) {
        prop_assume!(byte != b'\n');
        let mut bytes = join_lines(&VALID_LOG.0);
        let at = join_lines(&VALID_LOG.0[..line]).len() - 1;
        bytes[at] = byte;
        let report = verify(&bytes);
        prop_assert!(!report.ok);
        prop_assert!(has_finding(&report, VerificationFindingKind::Changed, line), "{:?}", messages(&report));
    }

    #[test]
    fn detects_removed_lines(first in 1..=LINES, count in 1..=LINES) {
        let last = (first + count - 1).min(LINES);
        let mut lines = VALID_LOG.0.clone();
        lines.drain(first - 1..last);
        let report = verify(&join_lines(&lines));
        prop_assert_eq!(report.problems.len(), 1, "{:?}", messages(&report));
        prop_assert!(has_finding(&report, VerificationFindingKind::Missing, first) && has_finding(&report, VerificationFindingKind::Missing, last));
    }

    #[test]
    fn detects_copied_line(line in 1..=LINES, at in 1..=LINES + 1) {
        let mut lines = VALID_LOG.0.clone();
        lines.insert(at - 1, lines[line - 1].clone());
        let report = verify(&join_lines(&lines));
        // A copy next to its original is indistinguishable from it, so the second one counts as inserted.
        let at = if at == line { line + 1 } else { at };
        prop_assert_eq!(report.problems.len(), 1, "{:?}", messages(&report));
        prop_assert!(has_finding(&report, VerificationFindingKind::Inserted, at), "{:?}", messages(&report));
    }

    #[test]
    fn detects_forged_line(at in 1..=LINES + 1, seq in 0..=2 * LINES, valid in any::<bool>()) {
        let mut lines = VALID_LOG.0.clone();
        let forged = match valid {
            true => format!(r#"{{"seq":{seq},"prev":"sha256:{}"}}"#, "1".repeat(64)),
            false => "nonsense".into(),
        };
        lines.insert(at - 1, forged.into_bytes());
        let report = verify(&join_lines(&lines));
        // At the end, a forged line is indistinguishable from a line whose chain fields were changed.
        let changed = at > LINES && (has_finding(&report, VerificationFindingKind::Changed, LINES) || has_finding(&report, VerificationFindingKind::Changed, at) || has_finding(&report, VerificationFindingKind::Missing, LINES + 1));
        prop_assert!(has_finding(&report, VerificationFindingKind::Inserted, at) || changed, "{:?}", messages(&report));
    }

    #[test]
    fn detects_swapped_lines(one in 1..=LINES, other in 1..=LINES) {
        prop_assume!(one != other);
        let mut lines = VALID_LOG.0.clone();
        lines.swap(one - 1, other - 1);
        let report = verify(&join_lines(&lines));
        let named = |n| has_finding(&report, VerificationFindingKind::Reordered, n);
        prop_assert!(named(one) || named(other), "{:?}", messages(&report));
        prop_assert!(report.problems.iter().all(|finding| finding.kind == VerificationFindingKind::Reordered), "{:?}", messages(&report));
        prop_assert!(report.problems.len() <= 3, "{:?}", messages(&report));
    }

    #[test]
    fn detects_moved_block(from in 1..=LINES, count in 1..=LINES, to in any::<prop::sample::Index>()) {
        let mut lines = VALID_LOG.0.clone();
        let block: Vec<_> = lines.drain(from - 1..(from + count - 1).min(LINES)).collect();
        let to = to.index(lines.len() + 1);
        prop_assume!(to != from - 1);
        lines.splice(to..to, block);
        let report = verify(&join_lines(&lines));
        prop_assert!(!report.ok);
        prop_assert!(report.problems.iter().all(|finding| finding.kind == VerificationFindingKind::Reordered), "{:?}", messages(&report));
    }

    #[test]
    fn detects_truncated_log_before_and_after_restart(at in any::<prop::sample::Index>()) {
        let bytes = join_lines(&VALID_LOG.0);
        let at = at.index(bytes.len());
        let temp = TempDir::new().unwrap();
        let report = verify_at(temp.path(), &bytes[..at]);
        let whole = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let torn = at > 0 && bytes[at - 1] != b'\n';
        prop_assert_eq!(has_finding(&report, VerificationFindingKind::Torn, whole + 1), torn, "{:?}", messages(&report));
        // A line that lacks only its newline is not removed.
        let kept = whole + usize::from(torn && bytes[at] == b'\n');
        prop_assert_eq!(report.ok, kept == LINES);
        for missing in kept + 1..=LINES {
            prop_assert!(has_finding(&report, VerificationFindingKind::Missing, missing), "{:?}", messages(&report));
        }

        let path = temp.path().join("audit.jsonl");
        drop(open_log(&path).unwrap());
        prop_assert!(fs::read(&path).unwrap().starts_with(&join_lines(&VALID_LOG.0[..kept])));
        let report = verify_log(&path).unwrap();
        // Without any line left, the log begins with a new first line.
        let next = kept + 1 + usize::from(kept == 0);
        prop_assert_eq!(has_finding(&report, VerificationFindingKind::Tampered, next), kept < LINES);
        prop_assert_eq!(has_finding(&report, VerificationFindingKind::Repaired, next + 1), torn && kept == whole);
        prop_assert_eq!(report.problems.len(), usize::from(kept < LINES));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let temp = TempDir::new().unwrap();
        verify_at(temp.path(), &bytes);
        let path = temp.path().join("audit.jsonl");
        drop(open_log(&path).unwrap());
        prop_assert!(!verify_log(&path).unwrap().ok);
    }
}

#[test]
fn reports_all_findings() {
    let mut lines = VALID_LOG.0.clone();
    lines[1][20] ^= 1;
    lines.remove(4);
    lines.swap(6, 8);
    lines[10] = b"nonsense".to_vec();
    let report = verify(&join_lines(&lines));
    insta::assert_json_snapshot!(report.problems);
}

#[test]
fn reports_both_changed_neighbors() {
    let mut lines = VALID_LOG.0.clone();
    for line in &mut lines[3..=4] {
        let at = line.windows(5).position(|part| part == b"alice").unwrap();
        line[at] = b'm';
    }
    let report = verify(&join_lines(&lines));
    assert_eq!(
        messages(&report),
        ["line 5 was changed after it was written; line 4 can no longer be verified"]
    );
}

/// Returns the line with another value of a field, without a new digest.
fn edit_field(line: &[u8], field: &str, value: serde_json::Value) -> Vec<u8> {
    let mut line: serde_json::Value = serde_json::from_slice(line).unwrap();
    line[field] = value;
    line.to_string().into_bytes()
}

#[test]
fn changed_sequence_number_is_named() {
    for line in 1..=LINES {
        for seq in [0, line - 1, line + 1, line + 2, line + 5, 1000] {
            let mut lines = VALID_LOG.0.clone();
            lines[line - 1] = edit_field(&lines[line - 1], "seq", seq.into());
            let report = verify(&join_lines(&lines));
            let expected = format!("line {line} was changed after it was written");
            assert_eq!(messages(&report), [expected], "seq {seq}");
        }
    }
}

#[test]
fn changed_content_is_named_with_its_neighbors() {
    for line in 2..=LINES {
        let mut lines = VALID_LOG.0.clone();
        lines[line - 1] = edit_field(&lines[line - 1], "caller", "mallory".into());
        let report = verify(&join_lines(&lines));
        assert_eq!(messages(&report), [format!("line {line} was changed after it was written")]);
        let finding = &report.problems[0];
        assert_eq!((finding.seq, finding.count), (Some(line as u64), 1));
        assert_eq!((report.lines, report.last_seq), (LINES as u64, LINES as u64));
        // Without its digest, it is no longer a record.
        lines[line - 1] = edit_field(&lines[line - 1], "prev", "sha256:0".into());
        let report = verify(&join_lines(&lines));
        let expected = format!(
            "line {line} was changed after it was written and is no longer an audit record"
        );
        assert_eq!(messages(&report), [expected]);
        assert_eq!(report.problems[0].seq, Some(line as u64));
    }
}

/// Above a thousand findings, the rest is counted, so that a log that was rewritten completely needs little memory.
#[test]
fn findings_are_limited() {
    let count = 1_500;
    let nonsense = b"nonsense\n".repeat(count);
    let report = verify(&[join_lines(&VALID_LOG.0), nonsense.clone()].concat());
    assert!(!report.ok);
    assert_eq!((report.problems.len(), report.unlisted), (1_000, 500));
    assert!(report.problems.iter().all(|it| it.kind == VerificationFindingKind::Inserted));
    // The same line again and again is one run, other strays are one each.
    let copies = [join_lines(&VALID_LOG.0), VALID_LOG.0[3].clone(), b"\n".to_vec()].concat();
    let report = verify(&copies);
    assert_eq!(messages(&report), ["line 13 (seq 4) was inserted"]);
    let mut many = join_lines(&VALID_LOG.0);
    for at in 0..1_200 {
        many.extend([&VALID_LOG.0[3 + at % 2 * 2][..], b"\n"].concat());
    }
    let report = verify(&many);
    assert_eq!((report.problems.len(), report.unlisted), (1_000, 200));
}

/// Consecutive lines out of place are one finding.
#[test]
fn run_of_lines_is_one_finding() {
    let mut lines = VALID_LOG.0.clone();
    let block: Vec<_> = lines[3..6].to_vec();
    lines.extend(block);
    assert_eq!(
        messages(&verify(&join_lines(&lines))),
        ["3 lines from line 13 (seq 4 to 6) were inserted"]
    );
    let mut lines = VALID_LOG.0.clone();
    let block: Vec<_> = lines.drain(3..6).collect();
    lines.extend(block);
    assert_eq!(
        messages(&verify(&join_lines(&lines))),
        ["3 lines from line 10 (seq 4 to 6) were reordered"]
    );
    let mut lines = VALID_LOG.0.clone();
    lines.drain(3..6);
    let report = verify(&join_lines(&lines));
    assert_eq!(messages(&report), ["lines between seq 3 and seq 7 are missing"]);
    let finding = &report.problems[0];
    assert_eq!((finding.seq, finding.line, finding.count), (Some(4), Some(4), 3));
}

/// A forged number does not use up the numbers of later lines, which would then not count.
#[test]
fn forged_number_is_not_continued() {
    for (name, has_heads) in
        [("audit.jsonl", true), ("audit.jsonl", false), ("audit.000001.jsonl", true)]
    {
        let temp = tempfile::TempDir::new().unwrap();
        let log = write_log(&temp, 3);
        let text = fs::read_to_string(&log).unwrap();
        let forged = text.replace(r#"{"seq":4,"#, r#"{"seq":9007199254740992,"#);
        assert_ne!(text, forged);
        fs::remove_file(&log).unwrap();
        fs::write(temp.path().join(name), forged).unwrap();
        if !has_heads {
            fs::remove_file(temp.path().join("audit.head")).unwrap();
            fs::remove_file(temp.path().join("keys/mark")).unwrap();
        }
        drop(open_log(&log).unwrap());
        write_log(&temp, 1);
        let last = store::audit::read_last_records(&log, 1).unwrap();
        assert!(last[0].seq < 10, "{name}: {}", last[0].seq);
        assert!(!verify_log(&log).unwrap().ok, "{name}");
        let content = fs::read(&log).unwrap();
        drop(open_log(&log).unwrap());
        assert_eq!(fs::read(&log).unwrap(), content, "{name}: it is repaired once");
    }
}
