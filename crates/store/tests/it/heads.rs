//! What the heads of a log say about its last line: every combination that a crash or an adversary leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use store::audit::{self, AuditEntry, AuditLogEvent, VerificationReport};
use tempfile::TempDir;

use crate::audit::{call_record, messages, open_log, verify, write_log};
use crate::forger::{DiskImage, encode};

/// Distance of two slots of a head file.
const STRIDE: usize = 512;

/// A head in a slot: the sequence number of a line, and whether it names its content or another one.
#[derive(Clone, Copy, Debug)]
enum Head {
    Of(u64),
    Other(u64),
}

use Head::{Of, Other};

type Slots = [Option<Head>; 3];

/// A log of five lines whose heads the test writes.
struct HeadScene {
    temp: TempDir,
    log: PathBuf,
}

static IMAGE: LazyLock<DiskImage> = LazyLock::new(|| {
    let temp = TempDir::new().unwrap();
    write_log(&temp, 4);
    DiskImage::read(temp.path())
});

impl HeadScene {
    fn new() -> Self {
        let temp = IMAGE.restore();
        Self { log: temp.path().join("audit.jsonl"), temp }
    }

    /// Returns the content of a head file with these slots.
    fn encode(&self, slots: impl IntoIterator<Item = Option<Head>>) -> Vec<u8> {
        let key = DiskImage::read(self.temp.path()).key();
        let text = fs::read_to_string(&self.log).unwrap();
        let lines: Vec<_> = text.lines().map(|line| Sha256::digest(line).to_vec()).collect();
        let mut content = vec![];
        for (slot, head) in slots.into_iter().enumerate() {
            let Some(head) = head else { continue };
            content.resize(slot * STRIDE, 0);
            content.extend(match head {
                Of(0) => key.head(0, &[0; 32]),
                Of(seq) => key.head(seq, &lines[usize::try_from(seq).unwrap() - 1]),
                Other(seq) => key.head(seq, &[7; 32]),
            });
        }
        content
    }

    fn set(&self, name: &str, content: &[u8]) {
        fs::write(self.temp.path().join(name), content).unwrap();
    }

    fn set_heads(&self, head: Slots, mark: Slots) {
        self.set("audit.head", &self.encode(head));
        self.set("keys/mark", &self.encode(mark));
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.temp.path().join(name)).unwrap();
    }

    fn verify(&self) -> VerificationReport {
        verify(&self.log).unwrap()
    }

    /// Starts a writer and returns the events that it records.
    fn restart(&self) -> Vec<AuditLogEvent> {
        let before = list_events(&self.log).len();
        drop(open_log(&self.log).unwrap());
        list_events(&self.log).split_off(before)
    }
}

fn list_events(log: &Path) -> Vec<AuditLogEvent> {
    let entries = audit::read_records(log).unwrap().map(|record| record.unwrap().entry);
    let events = entries.filter_map(|entry| match entry {
        AuditEntry::Event { event, .. } => Some(event),
        AuditEntry::Call(_) | AuditEntry::Intent(_) => None,
    });
    events.collect()
}

/// Returns the event without the hash of the head.
fn describe(event: &AuditLogEvent) -> String {
    match event {
        AuditLogEvent::HeadMismatch { head_seq, last_seq, .. } => {
            format!("mismatch {head_seq} {}", last_seq.unwrap())
        }
        AuditLogEvent::Unsynced { head_seq, last_seq } => format!("unsynced {head_seq} {last_seq}"),
        AuditLogEvent::Discarded { after_seq, .. } => format!("discarded {after_seq}"),
        AuditLogEvent::HeadMissing => "head missing".to_owned(),
        AuditLogEvent::MarkMissing => "mark missing".to_owned(),
        event => format!("{event:?}"),
    }
}

/// Checks what verification says about heads, and what the next start records.
fn check(head: Slots, mark: Slots, expected: &[&str], recorded: &[&str]) {
    let scene = HeadScene::new();
    scene.set_heads(head, mark);
    let report = scene.verify();
    assert_eq!(messages(&report), expected, "head {head:?}, mark {mark:?}");
    let events: Vec<_> = scene.restart().iter().map(describe).collect();
    assert_eq!(events, recorded, "head {head:?}, mark {mark:?}");
    // What was a problem stays one, and what was none becomes none.
    let after = scene.verify();
    assert_eq!(after.ok, report.ok, "head {head:?}, mark {mark:?}: {:?}", messages(&after));
    assert!(scene.restart().is_empty(), "it is recorded once");
}

#[test]
fn heads_that_a_crash_leaves_are_accepted() {
    let all = [Some(Of(5)), Some(Of(4)), Some(Of(5))];
    for head in [
        all,
        [Some(Of(4)), Some(Of(5)), Some(Of(5))],
        [Some(Of(4)), Some(Of(5)), Some(Of(4))],
        [Some(Of(5)), None, None],
        [None, Some(Of(5)), None],
    ] {
        for mark in [all, [Some(Of(5)), None, None], [None, Some(Of(5)), None]] {
            check(head, mark, &[], &[]);
        }
        check(head, [Some(Of(4)), None, None], &[], &[]);
        check(head, [Some(Of(3)), Some(Of(4)), None], &[], &[]);
    }
    for [head, mark] in [[4, 4], [4, 3], [1, 1], [1, 0], [0, 0]] {
        check([Some(Of(head)), None, Some(Of(5))], [Some(Of(mark)), None, None], &[], &[]);
        check([Some(Of(head)), None, None], [Some(Of(mark)), None, None], &[], &[]);
    }
}

#[test]
fn head_that_is_older_than_its_copy_is_reported() {
    for (head, mark) in [(4, 5), (1, 2), (0, 1), (0, 5)] {
        check(
            [Some(Of(head)), None, Some(Of(5))],
            [Some(Of(mark)), None, None],
            &["audit.head was replaced by an older one"],
            &["head missing"],
        );
    }
}

#[test]
fn head_after_the_last_line_is_reported() {
    let five = [Some(Of(5)), None, None];
    let missing = ["the last 2 lines are missing"];
    check([Some(Other(7)), None, None], five, &missing, &["mismatch 7 5"]);
    check([Some(Of(5)), Some(Other(7)), None], five, &missing, &["mismatch 7 5"]);
    check([Some(Other(7)), Some(Of(5)), Some(Of(5))], five, &missing, &["mismatch 7 5"]);
    let one = ["the last line is missing"];
    check([Some(Other(6)), None, None], five, &one, &["mismatch 6 5"]);
    // Only the copy names it.
    check(
        five,
        [Some(Other(7)), None, None],
        &["audit.head was replaced by an older one", "the last 2 lines are missing"],
        &["mismatch 7 5", "head missing"],
    );
}

#[test]
fn head_of_another_content_is_reported() {
    let changed = ["line 5 was changed after it was written"];
    let five = [Some(Of(5)), None, None];
    check([Some(Other(5)), None, None], [Some(Of(4)), None, None], &changed, &["mismatch 5 5"]);
    check([Some(Other(5)), None, None], [Some(Other(5)), None, None], &changed, &["mismatch 5 5"]);
    // One of the two copies is enough.
    check([Some(Of(4)), Some(Other(5)), None], five, &changed, &["mismatch 5 5"]);
    check(five, [Some(Of(4)), Some(Other(5)), None], &changed, &["mismatch 5 5"]);
}

#[test]
fn lines_that_only_the_live_head_names_are_a_note() {
    for count in 1..=3 {
        let lines = if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
        let note = format!(
            "{lines} after seq 5 are gone before they were synced: by a power failure, or removed"
        );
        let seq = 5 + count;
        let events = format!("unsynced {seq} 5");
        check(
            [Some(Of(5)), Some(Of(4)), Some(Other(seq))],
            [Some(Of(5)), None, None],
            &[&note],
            &[&events],
        );
    }
}

/// A power failure may leave an older content of a line that was not synced. The head names the newer one.
#[test]
fn unsynced_line_that_the_live_head_contradicts_is_set_aside() {
    let scene = HeadScene::new();
    scene.set_heads([Some(Of(4)), None, Some(Other(5))], [Some(Of(4)), None, None]);
    assert_eq!(messages(&scene.verify()), ["line 5 was changed after it was written"]);
    let events: Vec<_> = scene.restart().iter().map(describe).collect();
    assert_eq!(events, ["unsynced 5 4", "discarded 4"]);
    let report = scene.verify();
    assert!(report.ok, "{:?}", messages(&report));
}

#[test]
fn missing_and_changed_heads_are_reported() {
    type Change = fn(&HeadScene);
    let cases: [(Change, &[&str], &[&str]); 8] = [
        (|scene| scene.remove("audit.head"), &["audit.head is missing"], &["head missing"]),
        (|scene| scene.set("audit.head", b""), &["audit.head was changed"], &["head missing"]),
        (
            |scene| scene.set("audit.head", &scene.encode([None, None, Some(Of(5))])),
            &["audit.head was changed"],
            &["head missing"],
        ),
        (
            |scene| scene.remove("keys/mark"),
            &["the mark in the key folder is missing"],
            &["mark missing"],
        ),
        (
            |scene| scene.set("keys/mark", b""),
            &["the mark in the key folder was changed"],
            &["mark missing"],
        ),
        (
            |scene| scene.set("keys/mark", &scene.encode([None, None, Some(Of(5))])),
            &["the mark in the key folder was changed"],
            &["mark missing"],
        ),
        (
            |scene| {
                scene.remove("keys/mark");
                scene.remove("audit.head");
            },
            &["audit.head is missing", "the mark in the key folder is missing"],
            &["head missing", "mark missing"],
        ),
        (
            // The log is still complete, so only the heads tell.
            |scene| scene.set_heads([Some(Of(4)), None, None], [None, None, None]),
            &["the mark in the key folder was changed"],
            &["mark missing"],
        ),
    ];
    for (case, (change, expected, recorded)) in cases.into_iter().enumerate() {
        let scene = HeadScene::new();
        change(&scene);
        assert_eq!(messages(&scene.verify()), expected, "case {case}");
        let events: Vec<_> = scene.restart().iter().map(describe).collect();
        assert_eq!(events, recorded, "case {case}");
        assert!(!scene.verify().ok, "case {case}");
    }
}

/// Each part of a slot counts: a slot with anything else in it is ignored.
#[test]
fn damaged_slot_is_ignored() {
    let scene = HeadScene::new();
    let valid = scene.encode([Some(Of(5)), None, None]);
    let length = valid.len();
    assert_eq!(length, 20 + 1 + 16 + 1 + 64 + 1 + 64 + 1);
    for at in 0..length {
        let mut head = valid.clone();
        head[at] ^= 1;
        scene.set("audit.head", &head);
        assert_eq!(messages(&scene.verify()), ["audit.head was changed"], "byte {at}");
    }
    for kept in [0, 1, length - 65, length - 1] {
        scene.set("audit.head", &valid[..kept]);
        assert_eq!(messages(&scene.verify()), ["audit.head was changed"], "{kept} bytes");
    }
    scene.set("audit.head", &valid);
    assert!(scene.verify().ok);
}

/// Only the copy in the key folder is out of reach for who can write to the state directory.
#[test]
fn live_head_of_the_copy_counts() {
    let note =
        "1 line after seq 5 are gone before they were synced: by a power failure, or removed";
    let five = [Some(Of(5)), None, None];
    check(five, [Some(Of(5)), None, Some(Other(6))], &[note], &["unsynced 6 5"]);
    check(five, [Some(Of(5)), None, Some(Of(4))], &[], &[]);
}

/// Acknowledged lines were on the disk, so no power failure removes them.
#[test]
fn acknowledged_line_that_is_missing_is_reported() {
    let five = [Some(Of(5)), None, None, None];
    let later = [Some(Of(5)), None, None, Some(Other(7))];
    let other = [Some(Of(4)), None, None, Some(Other(5))];
    let earlier = [Some(Of(5)), None, None, Some(Of(4))];
    let changed = "line 5 was changed after it was written";
    for (head, mark, expected, recorded) in [
        (later, five, "the last 2 lines are missing", "mismatch 7 5"),
        (five, later, "the last 2 lines are missing", "mismatch 7 5"),
        (other, five, changed, "mismatch 5 5"),
        (five, other, changed, "mismatch 5 5"),
    ] {
        let scene = HeadScene::new();
        scene.set("audit.head", &scene.encode(head));
        scene.set("keys/mark", &scene.encode(mark));
        let found = messages(&scene.verify());
        assert!(found.contains(&expected.to_owned()), "{found:?}");
        let events: Vec<_> = scene.restart().iter().map(describe).collect();
        assert_eq!(events[0], recorded, "{events:?}");
        assert!(!scene.verify().ok);
    }
    // A power failure may leave an earlier one.
    for (head, mark) in [(earlier, five), (five, earlier), (earlier, earlier)] {
        let scene = HeadScene::new();
        scene.set("audit.head", &scene.encode(head));
        scene.set("keys/mark", &scene.encode(mark));
        assert!(scene.verify().ok && scene.restart().is_empty());
    }
}

/// A head file has four slots; what follows does not count.
#[test]
fn fifth_slot_is_ignored() {
    let scene = HeadScene::new();
    for name in ["audit.head", "keys/mark"] {
        let mut content = scene.encode([Some(Of(5)), None, Some(Of(5))]);
        content.resize(4 * STRIDE, 0);
        content.extend(scene.encode([Some(Other(9)), None, None]));
        scene.set(name, &content);
    }
    assert!(scene.verify().ok);
    assert!(scene.restart().is_empty());
}

/// A head that cannot be read is an error, not a missing one: a writer would replace it.
#[test]
fn head_that_cannot_be_read_is_an_error() {
    for name in ["audit.head", "keys/mark"] {
        let scene = HeadScene::new();
        let path = scene.temp.path().join(name);
        fs::rename(&path, scene.temp.path().join("other")).unwrap();
        std::os::unix::fs::symlink(scene.temp.path().join("other"), &path).unwrap();
        assert!(verify(&scene.log).is_err(), "{name}");
        assert!(open_log(&scene.log).is_err(), "{name}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(verify(&scene.log).is_err(), "{name}");
    }
}

/// The digest of a head covers the chain, so the head of another log with the same key does not count.
#[test]
fn head_of_another_chain_is_ignored() {
    let scene = HeadScene::new();
    let keys = scene.temp.path().join("keys/keys.json");
    let mut file: serde_json::Value = serde_json::from_slice(&fs::read(&keys).unwrap()).unwrap();
    let own = fs::read(&keys).unwrap();
    file["chain"] = "another".into();
    fs::write(&keys, file.to_string()).unwrap();
    let foreign = scene.encode([Some(Of(5)), None, None]);
    fs::write(&keys, own).unwrap();
    scene.set("audit.head", &foreign);
    assert_eq!(messages(&scene.verify()), ["audit.head was changed"]);
}

/// The two synced slots are written in turn, so that a torn write leaves the head before it.
#[test]
fn synced_heads_are_written_in_turn() {
    let scene = HeadScene::new();
    let read_slots = |name: &str| {
        let content = fs::read(scene.temp.path().join(name)).unwrap();
        let slots = content.chunks(STRIDE).map(|slot| {
            let seq = slot.get(..20).and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
            seq.unwrap_or(0_u64)
        });
        slots.collect::<Vec<_>>()
    };
    for name in ["audit.head", "keys/mark"] {
        scene.set(name, &scene.encode([Some(Of(4)), Some(Of(5)), None]));
    }
    let mut newest = 1;
    for seq in 6..10 {
        let log = open_log(&scene.log).unwrap();
        log.append(call_record(seq));
        drop(log);
        newest = 1 - newest;
        for name in ["audit.head", "keys/mark"] {
            let slots = read_slots(name);
            assert_eq!((slots[newest], slots[1 - newest]), (seq, seq - 1), "{name}: {slots:?}");
        }
        assert_eq!(read_slots("audit.head")[2], seq);
    }
}

#[test]
fn head_beyond_the_highest_number_is_ignored() {
    let scene = HeadScene::new();
    let highest = 1_u64 << 53;
    let missing = format!("the last {} lines are missing", highest - 5);
    for (seq, expected) in [(highest, missing), (highest + 1, String::new())] {
        let head = scene.encode([Some(Of(5)), Some(Other(seq)), None]);
        scene.set("audit.head", &head);
        assert_eq!(messages(&scene.verify()).join(" "), expected);
    }
}

/// A head file of an earlier version has one line: 20 digits and a hash, without a key.
#[test]
fn legacy_head_beyond_the_highest_number_is_ignored() {
    let hash = encode(&[7; 32]);
    let highest = 1_u64 << 53;
    for (seq, expected) in [
        (highest, format!("the log is missing: it had {highest} lines")),
        (highest + 1, String::new()),
        (u64::MAX, String::new()),
    ] {
        let temp = TempDir::new().unwrap();
        let log = temp.path().join("audit.jsonl");
        fs::write(temp.path().join("audit.head"), format!("{seq:020} sha256:{hash}\n")).unwrap();
        let report = verify(&log).unwrap();
        assert_eq!(messages(&report).join(" "), expected, "{seq}");
    }
}

#[test]
fn rotated_key_signs_the_heads() {
    let scene = HeadScene::new();
    let options = crate::audit::audit_options(&scene.log);
    let rotation = audit::rotate_key(&scene.log, &options).unwrap();
    let expected = |slot: &[u8]| {
        let text = String::from_utf8_lossy(slot).into_owned();
        text.starts_with(&format!("{:020} {} ", 6, rotation.after))
    };
    let head = fs::read(scene.temp.path().join("audit.head")).unwrap();
    let mark = fs::read(scene.temp.path().join("keys/mark")).unwrap();
    for content in [head, mark] {
        assert!(expected(&content[2 * STRIDE..]), "the live head");
        assert_eq!(content.chunks(STRIDE).take(2).filter(|slot| expected(slot)).count(), 1);
    }
    assert!(scene.verify().ok);
}

/// A log that is gone together with one of its heads is not a new one.
#[test]
fn removed_log_is_not_taken_for_a_new_one() {
    for (name, recorded) in [("audit.head", "head missing"), ("keys/mark", "mark missing")] {
        let scene = HeadScene::new();
        scene.remove("audit.jsonl");
        scene.remove(name);
        drop(open_log(&scene.log).unwrap());
        let events: Vec<_> = list_events(&scene.log).iter().skip(1).map(describe).collect();
        assert_eq!(events, ["mismatch 5 0", recorded]);
        assert!(!scene.verify().ok);
    }
}

/// Damage after the synced head is debris of a crash, unless an intact line shows that it is not: one that is out of place
/// without damage before it, one that is older than the synced head, or one under no key of the log.
#[test]
fn only_what_a_crash_can_leave_is_debris() {
    let plain = format!(r#"{{"seq":7,"prev":"sha256:{}"}}"#, "1".repeat(64));
    let foreign = format!(r#"{{"seq":7,"prev":"hmac:{}:{}"}}"#, "1".repeat(16), "1".repeat(64));
    let image = String::from_utf8(IMAGE.get("audit.jsonl").to_vec()).unwrap();
    let lines: Vec<_> = image.lines().collect();
    for (added, is_debris) in [
        (vec!["nonsense", lines[4]], true),
        (vec!["nonsense", "more"], true),
        (vec!["nonsense", lines[3]], true),
        (vec!["nonsense", lines[2]], false),
        (vec!["nonsense", lines[1]], false),
        (vec!["nonsense", &plain], false),
        (vec!["nonsense", &foreign], false),
        (vec![lines[4]], false),
        (vec![lines[4], "nonsense"], false),
    ] {
        let scene = HeadScene::new();
        let head = [Some(Of(3)), None, Some(Of(5))];
        scene.set_heads(head, [Some(Of(3)), None, None]);
        scene.set("audit.jsonl", format!("{image}{}\n", added.join("\n")).as_bytes());
        drop(open_log(&scene.log).unwrap());
        let report = scene.verify();
        assert_eq!(report.ok, is_debris, "{added:?}: {:?}", messages(&report));
        let kept = scene.temp.path().join("audit.5-1.debris");
        assert_eq!(kept.exists(), is_debris, "{added:?}");
    }
}
