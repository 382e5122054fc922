//! Patterns and globs of every kind, most of them made from the text they are tried on.

use std::fs;

use crate::sample::{Dice, Sample};

#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) pattern: String,
    pub(crate) case_sensitive: bool,
    pub(crate) glob: Option<String>,
}

pub(crate) struct Patterns {
    lines: Vec<String>,
    words: Vec<String>,
    globs: Vec<String>,
}

impl Patterns {
    pub(crate) fn new(sample: &Sample) -> Self {
        let tree = tree::Tree::new(&sample.root(), guard::DenyList::default()).unwrap();
        let (mut lines, mut words, mut globs) = (Vec::new(), Vec::new(), Vec::new());
        for entry in tree.list().entries {
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
            globs.extend(globs_for(&entry.path));
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

    pub(crate) fn query(&mut self, dice: &mut Dice) -> Query {
        let pattern = self.pattern(dice, 0);
        self.asked(pattern, dice)
    }

    /// A query for one of these words, or any other.
    pub(crate) fn query_near(&mut self, words: &[String], dice: &mut Dice) -> Query {
        if words.is_empty() || dice.below(3) == 0 {
            return self.query(dice);
        }
        let word = escaped(dice.one_of(words).as_str());
        let pattern =
            dice.one_of(&[word.clone(), format!("{word}$"), format!(r"\w*{word}")]).clone();
        self.asked(pattern, dice)
    }

    fn asked(&self, pattern: String, dice: &mut Dice) -> Query {
        let glob = (dice.below(4) == 0).then(|| dice.one_of(&self.globs).clone());
        // What the schema refuses is another test's matter.
        let pattern = pattern.chars().take(200).collect();
        Query { pattern, case_sensitive: dice.below(2) == 0, glob }
    }

    fn pattern(&self, dice: &mut Dice, depth: usize) -> String {
        let kinds = if depth < 2 { 20 } else { 12 };
        match dice.below(kinds) {
            0..=3 => escaped(&self.piece(dice)),
            4 | 5 => self.word(dice),
            6 => format!(r"\b{}\b", self.word(dice)),
            7 => swapped_case(&self.word(dice)),
            // Part of a literal replaced by what matches it and more.
            8 => {
                let word = dice.one_of(&self.words).clone();
                let at = dice.below(word.chars().count());
                let any =
                    *dice.one_of(&[".", r"\w", "[a-z]", "[^ ]", r"\S", "[[:alpha:]]", r"\p{L}"]);
                let part = |(place, c): (usize, char)| {
                    if place == at { any.to_owned() } else { escaped(&c.to_string()) }
                };
                word.chars().enumerate().map(part).collect()
            }
            9 => (*dice.one_of(&[
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
            10 => format!(r"^\s*{}", self.word(dice)),
            11 => format!(r"{}\W*$", self.word(dice)),
            12 | 13 => {
                let parts: Vec<_> =
                    (0..2 + dice.below(3)).map(|_| self.pattern(dice, depth + 1)).collect();
                format!("({})", parts.join("|"))
            }
            14 | 15 => {
                let between = *dice.one_of(&[".*", r"\s+", ".{0,10}", r"\W", "", "[^a-z]*?"]);
                format!(
                    "{}{between}{}",
                    self.pattern(dice, depth + 1),
                    self.pattern(dice, depth + 1)
                )
            }
            16 | 17 => {
                let times = *dice.one_of(&["?", "*", "+", "{2}", "{1,3}", "{2,}", "+?", "{0}"]);
                format!("(?:{}){times}", self.pattern(dice, depth + 1))
            }
            18 => {
                format!("(?:{})?{}", self.pattern(dice, depth + 1), self.pattern(dice, depth + 1))
            }
            // Often no pattern at all: then both must refuse it.
            _ => self.piece(dice),
        }
    }

    fn word(&self, dice: &mut Dice) -> String {
        escaped(dice.one_of(&self.words).as_str())
    }

    /// A piece of some line.
    fn piece(&self, dice: &mut Dice) -> String {
        let characters: Vec<char> = dice.one_of(&self.lines).chars().collect();
        let start = dice.below(characters.len());
        let length = 1 + dice.below(24);
        characters.into_iter().skip(start).take(length).collect()
    }
}

fn globs_for(path: &str) -> Vec<String> {
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
    // The name of a file may be no glob.
    globs
        .into_iter()
        .filter(|glob| !glob.contains(['[', '{', '\\']) && !glob.starts_with('/'))
        .collect()
}

fn escaped(text: &str) -> String {
    let special = |c: &char| {
        c.is_ascii_punctuation()
            && !matches!(
                c,
                '_' | '"' | '\'' | '%' | ',' | ';' | ':' | '@' | '`' | '=' | '!' | '/' | '<' | '>'
            )
    };
    text.chars().flat_map(|c| special(&c).then_some('\\').into_iter().chain([c])).collect()
}

fn swapped_case(text: &str) -> String {
    text.chars()
        .map(
            |c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            },
        )
        .collect()
}
