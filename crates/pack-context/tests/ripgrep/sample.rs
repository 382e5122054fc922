//! A small tree of real files plus deliberately awkward ones, and a seeded random number generator.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Maximum size of a sampled file; larger files would only slow the test down.
const MAX_BYTES: u64 = 20_000;

/// Deterministic random number generator (splitmix64).
pub(crate) struct SeededRng(u64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }

    pub(crate) fn choose<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

pub(crate) struct SampleTree {
    folder: TempDir,
}

impl SampleTree {
    /// Copies about `count` random files from below `source`, with their relative paths.
    pub(crate) fn copy_from(source: &Path, count: usize, rng: &mut SeededRng) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sample = Self { folder };
        fs::create_dir(sample.root()).unwrap();
        let all = list_files(source);
        assert!(
            !all.is_empty(),
            "{} has no files; run `cargo xtask test --only search`",
            source.display()
        );
        for _ in 0..count {
            let path = rng.choose(&all);
            let target = sample.root().join(path.strip_prefix(source).unwrap());
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(path, target).unwrap();
        }
        sample.add_awkward_files();
        sample
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn add_awkward_files(&self) {
        let folder = self.root().join("awkward");
        fs::create_dir_all(folder.join("deep/er")).unwrap();
        let write = |name: &str, content: &[u8]| fs::write(folder.join(name), content).unwrap();
        write("crlf.txt", b"first line\r\nsecond Error line\r\n\r\nthe end\r\n");
        write("no_newline.txt", b"return value;\nimport everything");
        write("empty.txt", b"");
        write("blank.txt", b"\n\n\n");
        write("invalid.txt", b"caf\xe9 and self\n\xff\xfe\xfd return\nplain line\n");
        write("nul.bin", b"return before\nself\0return after\n");
        write("bom.txt", "\u{feff}import first\nreturn self".as_bytes());
        write(
            "unicode.txt",
            "ſelf Kelvin \u{212a}elvin größe GRÖSSE Größe\nδοκιμή ΔΟΚΙΜΉ\n日本語 return\n🦀 self\n"
                .as_bytes(),
        );
        let wide = |text: &str, bytes: fn(u16) -> [u8; 2]| {
            text.encode_utf16().flat_map(bytes).collect::<Vec<_>>()
        };
        write("utf16le.txt", &wide("\u{feff}return self\r\nimport größe\r\n", u16::to_le_bytes));
        write("utf16be.txt", &wide("\u{feff}return self\nimport größe\n", u16::to_be_bytes));
        let long = format!("{}return self{}\nshort\n", "x ".repeat(30_000), "y".repeat(20_000));
        write("long.txt", long.as_bytes());
        write("deep/er/secret_plan.txt", b"return denied\n");
        write("deep/er/Name with spaces [1].txt", b"return self\n");
        write("deep/.hidden", b"return hidden\n");
        symlink("..", folder.join("deep/up")).unwrap();
        symlink("itself", folder.join("itself")).unwrap();
        symlink("crlf.txt", folder.join("link.txt")).unwrap();
        for name in ["build", "dist", "node_modules"] {
            fs::create_dir_all(folder.join("deep").join(name)).unwrap();
            fs::write(folder.join("deep").join(name).join("x.txt"), "return excluded\n").unwrap();
        }
    }
}

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> =
            fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (kind, path) = (entry.file_type().unwrap(), entry.path());
            let name = entry.file_name().to_string_lossy().to_lowercase();
            // The tools read plain source code with such names, which rules for ripgrep cannot express.
            let is_named_secret = name.contains("secret") || name.contains("credential");
            let hidden = name.starts_with('.') || is_named_secret;
            if kind.is_dir() && !hidden {
                folders.push(path);
            } else if kind.is_file() && !hidden && entry.metadata().unwrap().len() <= MAX_BYTES {
                found.push(path);
            }
        }
    }
    found
}
