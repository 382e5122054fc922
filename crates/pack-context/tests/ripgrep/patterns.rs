//! Generates patterns and globs of every kind, mostly from the text they are tried on.

use std::fs;

use crate::sample::{SampleTree, SeededRng};

#[derive(Clone, Debug)]
pub(crate) struct GrepQuery {
    pub(crate) pattern: String,
    pub(crate) case_sensitive: bool,
    pub(crate) glob: Option<String>,
}

pub(crate) struct PatternGenerator {
    lines: Vec<String>,
    words: Vec<String>,
    globs: Vec<String>,
}

impl PatternGenerator {
    pub(crate) fn new(sample: &SampleTree) -> Self {
        let tree = tree::FileTree::new(&sample.root(), guard::DenyList::default()).unwrap();
        let (mut lines, mut words, mut globs) = (Vec::new(), Vec::new(), Vec::new());
        for entry in tree.list_files().entries {
            let content = fs::read(sample.root().join(&*entry.path)).unwrap();
            let text = String::from_utf8_lossy(&content).into_owned();
            let usual = text.lines().filter(|line| line.len() < 300 && !line.contains('\0'));
            for line in usual.step_by(7) {
                lines.push(line.to_owned());
                let word = |word: &&str| word.chars().count() > 2;
                words.extend(
                    line.split(|c: char| !c.is_alphanumeric() && c != '_')
                        .find(word)
                        .map(str::to_owned),
                );
            }
            globs.extend(globs_for_path(&entry.path));
        }
        for glob in [
            "*",
            "**",
            "*.*",
            "**/*.{rs,py,js}",
            "!*.md",
            "!awkward",
            "!deep/",
            "[a-m]*",
            "?*.txt",
            "*.[jt]s",
        ] {
            globs.extend(std::iter::repeat_n(glob.to_owned(), 20));
        }
        for glob in [
            "[a",
            "{a,b",
            "a/**/",
            "src",
            "*/*",
            "**/er/*",
            "awkward/**/*.txt",
            "!**/*.py",
            "\\*.rs",
            "*.RS",
        ] {
            globs.extend(std::iter::repeat_n(glob.to_owned(), 5));
        }
        Self { lines, words, globs }
    }

    pub(crate) fn random_query(&mut self, rng: &mut SeededRng) -> GrepQuery {
        let pattern = self.random_pattern(rng, 0);
        self.with_random_options(pattern, rng)
    }

    /// Returns a query for one of these words, or sometimes any other query.
    pub(crate) fn random_query_for(&mut self, words: &[String], rng: &mut SeededRng) -> GrepQuery {
        if words.is_empty() || rng.below(3) == 0 {
            return self.random_query(rng);
        }
        let word = escape_regex(rng.choose(words).as_str());
        let pattern =
            rng.choose(&[word.clone(), format!("{word}$"), format!(r"\w*{word}")]).clone();
        self.with_random_options(pattern, rng)
    }

    fn with_random_options(&self, pattern: String, rng: &mut SeededRng) -> GrepQuery {
        let glob = (rng.below(4) == 0).then(|| rng.choose(&self.globs).clone());
        // The schema rejects longer patterns; another test covers that.
        let pattern = pattern.chars().take(200).collect();
        GrepQuery { pattern, case_sensitive: rng.below(2) == 0, glob }
    }

    fn random_pattern(&self, rng: &mut SeededRng, depth: usize) -> String {
        let kinds = if depth < 2 { 20 } else { 12 };
        match rng.below(kinds) {
            0..=3 => escape_regex(&self.random_substring(rng)),
            4 | 5 => self.random_word(rng),
            6 => format!(r"\b{}\b", self.random_word(rng)),
            7 => swap_case(&self.random_word(rng)),
            // A literal with one character replaced by a class that matches it.
            8 => {
                let word = rng.choose(&self.words).clone();
                let at = rng.below(word.chars().count());
                let any =
                    *rng.choose(&[".", r"\w", "[a-z]", "[^ ]", r"\S", "[[:alpha:]]", r"\p{L}"]);
                let part = |(place, c): (usize, char)| {
                    if place == at { any.to_owned() } else { escape_regex(&c.to_string()) }
                };
                word.chars().enumerate().map(part).collect()
            }
            9 => (*rng.choose(&[
                "^$",
                "^",
                "$",
                r"\S+$",
                r"^\s*$",
                ".",
                "",
                r"\d{3,}",
                r"[A-Z]{4}",
                r"\p{Greek}+",
                "größe",
                "δοκιμή",
                r"\bK\w+",
                "[kK]elvin",
                "ſelf",
                r"(?-u:\xff)",
                r"\u{1F980}",
                "[^\\x00-\\x7F]",
                r"\r$",
                r"\A\w+",
                r"\z",
                "(?-i)Self",
                "(?i)SELF",
                "(?x) ret urn # comment",
                r"\x{212a}",
                "[ſ-ƀ]",
                r"\w{20,}",
                "return|import|self",
            ]))
            .to_owned(),
            10 => format!(r"^\s*{}", self.random_word(rng)),
            11 => format!(r"{}\W*$", self.random_word(rng)),
            12 | 13 => {
                let parts: Vec<_> =
                    (0..2 + rng.below(3)).map(|_| self.random_pattern(rng, depth + 1)).collect();
                format!("({})", parts.join("|"))
            }
            14 | 15 => {
                let between = *rng.choose(&[".*", r"\s+", ".{0,10}", r"\W", "", "[^a-z]*?"]);
                format!(
                    "{}{between}{}",
                    self.random_pattern(rng, depth + 1),
                    self.random_pattern(rng, depth + 1)
                )
            }
            16 | 17 => {
                let times = *rng.choose(&["?", "*", "+", "{2}", "{1,3}", "{2,}", "+?", "{0}"]);
                format!("(?:{}){times}", self.random_pattern(rng, depth + 1))
            }
            18 => {
                format!(
                    "(?:{})?{}",
                    self.random_pattern(rng, depth + 1),
                    self.random_pattern(rng, depth + 1)
                )
            }
            // Often an invalid pattern, which both must reject.
            _ => self.random_substring(rng),
        }
    }

    fn random_word(&self, rng: &mut SeededRng) -> String {
        escape_regex(rng.choose(&self.words).as_str())
    }

    /// Returns a random substring of a line.
    fn random_substring(&self, rng: &mut SeededRng) -> String {
        let characters: Vec<char> = rng.choose(&self.lines).chars().collect();
        let start = rng.below(characters.len());
        let length = 1 + rng.below(24);
        characters.into_iter().skip(start).take(length).collect()
    }
}

fn globs_for_path(path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let top = path.split('/').next().unwrap_or(path);
    let globs = [
        format!("*.{ending}"),
        name.to_owned(),
        format!("{top}/**"),
        format!("{folder}/*.{ending}"),
        format!("!{folder}"),
        format!("**/{name}"),
    ];
    // A file name may be an invalid glob.
    globs
        .into_iter()
        .filter(|glob| !glob.contains(['[', '{', '\\']) && !glob.starts_with('/'))
        .collect()
}

fn escape_regex(text: &str) -> String {
    let special = |c: &char| {
        c.is_ascii_punctuation()
            && !matches!(
                c,
                '_' | '"' | '\'' | '%' | ',' | ';' | ':' | '@' | '`' | '=' | '!' | '/' | '<' | '>'
            )
    };
    text.chars().flat_map(|c| special(&c).then_some('\\').into_iter().chain([c])).collect()
}

fn swap_case(text: &str) -> String {
    text.chars()
        .map(
            |c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            },
        )
        .collect()
}
