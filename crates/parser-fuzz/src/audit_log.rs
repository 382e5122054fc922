//! Audit logs under fixed keys: reading, verification, checkpoints and repair.
//!
//! An input is several files in one: a line `%% NAME` begins the file with this name. `%% relink` instead of the first one
//! numbers all lines and computes chain and heads with the key, so that changed lines are reached beyond the chain. Bytes
//! without such a line are the current file.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::audit::{
    self, AuditCall, AuditKeyLocation, AuditLog, AuditOptions, AuditOutcome, AuditRotation,
    CheckpointEvidence, CheckpointKey, OtlpWriter, VerificationFindingKind, VerificationReport,
    VerifiedLog,
};

use crate::scratch::with_folder;

/// Files that an input may contain, closed files first.
const NAMES: [&str; 6] = [
    "audit.000001.jsonl",
    "audit.000002.jsonl",
    "audit.jsonl",
    "audit.head",
    "keys/mark",
    "checkpoints.jsonl",
];
const RELINK: &str = "relink";
const SECRET: [u8; 32] = [1; 32];
/// Key of an earlier time, which signs lines up to sequence number 4 only.
const RETIRED_SECRET: [u8; 32] = [2; 32];
const CHAIN: &str = "chain";
const SEAL_SECRET: [u8; 32] = [3; 32];

/// Reads, verifies and repairs a log. What verification finds in lines that a head protects, a repair does not hide.
pub(crate) fn check_audit_log(data: &[u8]) {
    let files = parse_files(data);
    with_folder(|folder| {
        write_files(folder, &files);
        let log = folder.join("audit.jsonl");
        read_log(&log);
        let before = verify(&log);
        compare_with_checkpoints(folder, &log);
        let Some(appended) = append_call(&log) else { return };
        let after = verify(&log);
        if let Some(before) = before {
            let after = after.expect("a repaired log can be verified");
            assert!(!is_found(&before) || !after.ok, "{:?} {:?}", before.problems, after.notes);
        }
        let last = audit::read_last_records(&log, 1).expect("the log can be read");
        assert_eq!(last.last().map(|record| &record.entry), Some(&appended));
        let content = fs::read(&log).expect("the log can be read");
        drop(open_log(&log).expect("a repaired log can be opened"));
        assert_eq!(fs::read(&log).expect("the log can be read"), content, "repaired twice");
    });
}

/// Returns the content of each file, in the order of [`NAMES`].
fn parse_files(data: &[u8]) -> BTreeMap<usize, Vec<u8>> {
    let mut files: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    let (mut is_relinked, mut current) = (false, 2);
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        let name = line.strip_prefix(b"%% ").and_then(|name| std::str::from_utf8(name).ok());
        match name.map(str::trim_end) {
            Some(RELINK) => is_relinked = true,
            Some(name) if NAMES.contains(&name) => {
                current = NAMES.iter().position(|it| *it == name).unwrap_or_default();
                files.entry(current).or_default();
            }
            _ => files.entry(current).or_default().extend_from_slice(line),
        }
    }
    if is_relinked {
        relink(&mut files);
    }
    files
}

/// Numbers and links the lines of all files, and writes the heads of the last one.
fn relink(files: &mut BTreeMap<usize, Vec<u8>>) {
    let (mut key, mut seq, mut hash) = (ForgeKey::new(&SECRET), 0_u64, vec![0; 32]);
    let retired = ForgeKey::new(&RETIRED_SECRET);
    let mut previous = Value::Null;
    for at in 0..3 {
        let Some(content) = files.get_mut(&at) else { continue };
        let mut text = Vec::new();
        for line in content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(Value::Object(mut line)) = serde_json::from_slice(line) else {
                text.extend_from_slice(line);
                text.push(b'\n');
                continue;
            };
            seq += 1;
            line.insert("seq".into(), seq.into());
            if line.contains_key("previous") && !previous.is_null() {
                line.insert("previous".into(), previous.clone());
            }
            line.remove("prev");
            // The retired key protects nothing after the line in which it announces the other one.
            if line.get("key").is_some_and(|id| *id == retired.id) {
                key = ForgeKey::new(&RETIRED_SECRET);
            }
            line.insert("prev".into(), key.link(&hash).into());
            if line.get("event").is_some_and(|event| event == "key") {
                key = ForgeKey::new(&SECRET);
            }
            let line = Value::Object(line).to_string();
            hash = Sha256::digest(&line).to_vec();
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        let digest = format!("sha256:{}", encode(&Sha256::digest(&text)));
        previous = json!({"file": at + 1, "seq": seq, "bytes": text.len(), "sha256": digest});
        *content = text;
    }
    let head = key.head(seq, &hash);
    files.insert(3, head.clone());
    files.insert(4, head);
}

fn write_files(folder: &Path, files: &BTreeMap<usize, Vec<u8>>) {
    let keys = folder.join("keys");
    fs::create_dir_all(&keys).expect("a writable folder");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).expect("our folder");
    for (at, content) in files {
        fs::write(folder.join(NAMES[*at]), content).expect("a writable file");
    }
    let (current, retired) = (ForgeKey::new(&SECRET), ForgeKey::new(&RETIRED_SECRET));
    let created = "2026-03-01T12:00:00Z";
    let text = json!({
        "version": 1, "chain": CHAIN, "current": current.id, "keys": [
            {"id": retired.id, "key": encode(&RETIRED_SECRET), "created": created, "retired": 4},
            {"id": current.id, "key": encode(&SECRET), "created": created},
        ],
    });
    write_private(&keys.join("keys.json"), &text);
    let text = json!({"version": 1, "created": created, "key": encode(&SEAL_SECRET)});
    write_private(&keys.join("seal-key.json"), &text);
}

fn write_private(path: &Path, content: &Value) {
    fs::write(path, content.to_string()).expect("a writable file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("our file");
}

fn key_location(log: &Path) -> AuditKeyLocation {
    AuditKeyLocation::new(log.with_file_name("keys"))
}

fn read_log(log: &Path) {
    let mut otlp = OtlpWriter::new(std::io::sink(), "0");
    for record in audit::read_records(log).into_iter().flatten().flatten() {
        otlp.add_record(&record).expect("a sink takes everything");
    }
    otlp.finish().expect("a sink takes everything");
    drop((audit::read_last_records(log, 3), audit::compute_tool_stats(log, None)));
}

/// Returns `None` if the log cannot be read.
fn verify(log: &Path) -> Option<VerificationReport> {
    let report = audit::verify_log(log, &key_location(log)).ok()?;
    assert_eq!(report.ok, report.problems.is_empty() && report.unlisted == 0, "{report:?}");
    Some(report)
}

/// Returns true if a line that a key protects was changed, removed or moved.
fn is_found(report: &VerificationReport) -> bool {
    use VerificationFindingKind as Kind;
    let is_change = |kind| matches!(kind, Kind::Changed | Kind::Inserted | Kind::Reordered);
    // Behind the last line, damage may be that of a crash.
    let mut problems = report.problems.iter().filter(|it| is_change(it.kind));
    problems.any(|it| it.file.is_some())
}

fn compare_with_checkpoints(folder: &Path, log: &Path) {
    let keys = key_location(log);
    let Ok(Some(signer)) = audit::CheckpointSigner::open(&keys, None) else { return };
    let key: CheckpointKey = signer.public_key();
    let checkpoints = audit::read_checkpoints(&folder.join("checkpoints.jsonl"));
    let Ok(checkpoints) = checkpoints else { return };
    let Ok(verified) = VerifiedLog::verify(log, &keys) else { return };
    let rotation = AuditRotation { keep_files: Some(1), ..AuditRotation::default() };
    let now = "2026-11-01T12:00:00Z".parse().expect("a time");
    let evidence =
        CheckpointEvidence { checkpoints: &checkpoints, key: &key, rotation: &rotation, now };
    let mut logs = [verified];
    if audit::verify_checkpoints(&mut logs, &evidence).is_ok() {
        let [log] = logs;
        let summary = log.report.checkpoints.expect("it was compared");
        assert!(summary.proven_through == 0 || summary.checkpoints > 0);
    }
}

fn open_log(log: &Path) -> Result<AuditLog, store::StoreError> {
    AuditLog::open(log, &AuditOptions::new(key_location(log)))
}

/// Repairs the log and appends a call. Returns its entry, or `None` if the log cannot be opened.
fn append_call(log: &Path) -> Option<audit::AuditEntry> {
    let writer = open_log(log).ok()?;
    let call = AuditCall {
        time: "2026-03-01T12:00:00Z".parse().expect("a time"),
        caller: "alice".into(),
        client: None,
        tool: Some("hello".into()),
        contract: None,
        arguments: None,
        approval: None,
        outcome: AuditOutcome::Ok,
        code: None,
        duration_us: 1,
        result_bytes: 2,
        trace: None,
        secrets: None,
        call: None,
    };
    writer.append(call.clone());
    drop(writer);
    Some(audit::AuditEntry::Call(call))
}

/// The key with which lines and heads are forged, by the description in docs/audit.md.
struct ForgeKey {
    id: String,
    lines: Vec<u8>,
    heads: Vec<u8>,
}

impl ForgeKey {
    fn new(secret: &[u8]) -> Self {
        let derive = |purpose: &str| mac(secret, &[purpose.as_bytes()]);
        Self {
            id: encode(&derive("vouch audit 1: key id")[..8]),
            lines: derive("vouch audit 1: lines"),
            heads: derive("vouch audit 1: heads"),
        }
    }

    fn link(&self, hash: &[u8]) -> String {
        format!("hmac:{}:{}", self.id, encode(&mac(&self.lines, &[hash])))
    }

    fn head(&self, seq: u64, hash: &[u8]) -> Vec<u8> {
        let signed = format!("{seq:020} {} {} ", self.id, encode(hash));
        let digest = mac(&self.heads, &[CHAIN.as_bytes(), b"\0", signed.as_bytes()]);
        format!("{signed}{}\n", encode(&digest)).into_bytes()
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
