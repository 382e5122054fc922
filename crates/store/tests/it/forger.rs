//! A log as an attacker sees it, and the code to forge one. It is independent of the code under test, and follows
//! docs/audit.md.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The lines of each file of a log, oldest file first.
pub(crate) type LogLines = Vec<Vec<Value>>;

/// All files of a log and its keys, by path.
#[derive(Clone, Debug)]
pub(crate) struct DiskImage(BTreeMap<PathBuf, Vec<u8>>);

impl DiskImage {
    /// Reads the files of a log and the folder `keys` beside it.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        for part in ["", "keys"] {
            for entry in fs::read_dir(folder.join(part)).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_file() {
                    let name = Path::new(part).join(entry.file_name());
                    files.insert(name, fs::read(entry.path()).unwrap());
                }
            }
        }
        Self(files)
    }

    /// Writes the files into a new folder, and returns it.
    pub(crate) fn restore(&self) -> TempDir {
        let temp = TempDir::new().unwrap();
        let keys = temp.path().join("keys");
        fs::create_dir(&keys).unwrap();
        fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).unwrap();
        self.write(temp.path());
        temp
    }

    /// Writes the files into a folder that has a folder of keys.
    pub(crate) fn write(&self, folder: &Path) {
        for (name, content) in &self.0 {
            let path = folder.join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    pub(crate) fn get(&self, name: &str) -> &[u8] {
        &self.0[Path::new(name)]
    }

    pub(crate) fn set(&mut self, name: &str, content: Vec<u8>) {
        self.0.insert(name.into(), content);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(Path::new(name)).unwrap();
    }

    /// Returns the names of the files of the log, oldest first.
    pub(crate) fn log_names(&self) -> Vec<String> {
        let names = self.0.keys().filter_map(|name| name.to_str());
        let mut names: Vec<_> =
            names.filter(|name| name.ends_with(".jsonl")).map(str::to_owned).collect();
        names.sort_by_key(|name| (name == "audit.jsonl", name.clone()));
        names
    }

    pub(crate) fn lines(&self) -> LogLines {
        let parse = |name: &String| {
            let text = std::str::from_utf8(self.get(name)).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        self.log_names().iter().map(parse).collect()
    }

    /// Replaces the files of the log.
    pub(crate) fn set_lines(&mut self, lines: &LogLines) {
        for (name, lines) in self.log_names().into_iter().zip(lines) {
            self.set(&name, to_text(lines).into_bytes());
        }
    }

    /// Returns the secret of the current key, and the id of the chain.
    pub(crate) fn key(&self) -> ForgeKey {
        let file: Value = serde_json::from_slice(self.get("keys/keys.json")).unwrap();
        let keys = file["keys"].as_array().unwrap();
        let current = keys.iter().find(|key| key["id"] == file["current"]).unwrap();
        let secret = decode(current["key"].as_str().unwrap());
        ForgeKey::new(&secret, file["chain"].as_str().unwrap())
    }
}

pub(crate) fn to_text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A key with which a chain is computed.
pub(crate) struct ForgeKey {
    id: String,
    lines: Vec<u8>,
    heads: Vec<u8>,
    chain: String,
}

impl ForgeKey {
    pub(crate) fn new(secret: &[u8], chain: &str) -> Self {
        let derive = |purpose: &str| mac(secret, &[purpose.as_bytes()]);
        Self {
            id: encode(&derive("vouch audit 1: key id")[..8]),
            lines: derive("vouch audit 1: lines"),
            heads: derive("vouch audit 1: heads"),
            chain: chain.to_owned(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn chain(&self) -> &str {
        &self.chain
    }

    /// Returns the key with the id of another one.
    pub(crate) fn with_id_of(self, other: &Self) -> Self {
        Self { id: other.id.clone(), ..self }
    }

    /// Numbers and links all lines, corrects what files say about the one before, and returns the last line.
    pub(crate) fn link(&self, files: &mut LogLines) -> (u64, Vec<u8>) {
        let (mut seq, mut hash) = (0, vec![0; 32]);
        let mut previous = Value::Null;
        for (number, lines) in (1_u64..).zip(files.iter_mut()) {
            for (at, line) in lines.iter_mut().enumerate() {
                seq += 1;
                line["seq"] = seq.into();
                if line["event"] == "chain" || line["event"] == "file" {
                    if line.get("key").is_some() {
                        line["key"] = self.id.clone().into();
                    }
                    if at == 0 && !previous.is_null() {
                        line["previous"] = previous.clone();
                    }
                }
                let digest = encode(&mac(&self.lines, &[&hash]));
                set_prev(line, format!("hmac:{}:{digest}", self.id));
                hash = Sha256::digest(line.to_string().as_bytes()).to_vec();
            }
            let text = to_text(lines);
            let digest = encode(&Sha256::digest(text.as_bytes()));
            previous = json!({
                "file": number, "seq": seq, "bytes": text.len(), "sha256": format!("sha256:{digest}"),
            });
        }
        (seq, hash)
    }

    /// Appends a line without number and digest, and returns the last line. There must be one before it.
    pub(crate) fn append(&self, lines: &mut Vec<Value>, mut line: Value) -> (u64, Vec<u8>) {
        let last = lines.last().unwrap();
        let seq = last["seq"].as_u64().unwrap() + 1;
        let digest = encode(&mac(&self.lines, &[&Sha256::digest(last.to_string())]));
        line["seq"] = seq.into();
        set_prev(&mut line, format!("hmac:{}:{digest}", self.id));
        let hash = Sha256::digest(line.to_string()).to_vec();
        lines.push(line);
        (seq, hash)
    }

    /// Returns the content of a head file for a last line.
    pub(crate) fn head(&self, seq: u64, hash: &[u8]) -> Vec<u8> {
        let signed = format!("{seq:020} {} {} ", self.id, encode(hash));
        let digest = mac(&self.heads, &[self.chain.as_bytes(), b"\0", signed.as_bytes()]);
        format!("{signed}{}\n", encode(&digest)).into_bytes()
    }
}

/// Sets the last field of a line.
pub(crate) fn set_prev(line: &mut Value, prev: String) {
    let fields = line.as_object_mut().unwrap();
    fields.shift_remove("prev");
    fields.insert("prev".into(), prev.into());
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
