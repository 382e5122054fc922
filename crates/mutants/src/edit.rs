//! Mutants of one file, and the text of the file with their switches.

use std::collections::HashSet;
use std::ops::Range;

use sha2::{Digest, Sha256};

/// One change to the code that tests should notice.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Number of the switch, computed from the fields below except `line`.
    pub(crate) id: u64,
    pub(crate) crate_name: String,
    /// Path of the file from the workspace root.
    pub(crate) file: String,
    pub(crate) function: String,
    /// What the mutant changes. Unique within the function.
    pub(crate) mutation: String,
    pub(crate) line: usize,
    /// The function around it in the original file.
    function_range: Range<usize>,
}

/// Side of an insertion: code between an opening and a closing edit stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Open,
    Close,
}

#[derive(Clone, Debug)]
struct Edit {
    mutant: u64,
    range: Range<usize>,
    side: Side,
    text: String,
}

/// The mutants of a file in the order in which they were found: outer ones before inner ones.
#[derive(Debug, Default)]
pub(crate) struct FileEdits {
    pub(crate) mutants: Vec<Mutant>,
    edits: Vec<Edit>,
    /// Where each mutant is in the original file. The mutant of a constant is at its uses, which may be in other files.
    regions: Vec<(u64, Range<usize>)>,
}

/// Description of a new mutant.
pub(crate) struct NewMutant<'a> {
    pub(crate) crate_name: &'a str,
    pub(crate) file: &'a str,
    pub(crate) function: &'a str,
    pub(crate) mutation: String,
    pub(crate) line: usize,
    pub(crate) range: Range<usize>,
    pub(crate) function_range: Range<usize>,
}

impl FileEdits {
    /// Adds a mutant and returns the number of its switch. A second mutant of a function with the same description
    /// gets a number.
    pub(crate) fn add(&mut self, new: NewMutant<'_>) -> u64 {
        let mut mutation = new.mutation.clone();
        let mut count = 1;
        while self
            .mutants
            .iter()
            .any(|old| old.function == new.function && old.mutation == mutation)
        {
            count += 1;
            mutation = format!("{} #{count}", new.mutation);
        }
        let id = compute_id(&[new.file, new.function, &mutation]);
        self.regions.push((id, new.range));
        self.mutants.push(Mutant {
            id,
            crate_name: new.crate_name.to_owned(),
            file: new.file.to_owned(),
            function: new.function.to_owned(),
            mutation,
            line: new.line,
            function_range: new.function_range,
        });
        id
    }

    /// Adds a place at which a mutant of another place acts too.
    pub(crate) fn add_use(&mut self, mutant: u64, range: &Range<usize>) {
        self.regions.push((mutant, range.clone()));
    }

    /// Returns the mutants that have a switch in this file.
    pub(crate) fn switched(&self) -> impl Iterator<Item = u64> {
        self.edits.iter().map(|edit| edit.mutant)
    }

    /// Adds text at an offset of the original file.
    pub(crate) fn insert(&mut self, mutant: u64, offset: usize, side: Side, text: String) {
        self.edits.push(Edit { mutant, range: offset..offset, side, text });
    }

    /// Adds text before and after a range of the original file.
    pub(crate) fn wrap(&mut self, mutant: u64, range: &Range<usize>, before: String, after: &str) {
        self.insert(mutant, range.start, Side::Open, before);
        self.insert(mutant, range.end, Side::Close, after.to_owned());
    }

    /// Replaces a range of the original file, such as an operator.
    pub(crate) fn replace(&mut self, mutant: u64, range: Range<usize>, text: &str) {
        self.edits.push(Edit { mutant, range, side: Side::Open, text: text.to_owned() });
    }

    /// Returns the file with the switches of all mutants but the rejected ones.
    pub(crate) fn render(&self, source: &str, rejected: &HashSet<u64>) -> SwitchedFile {
        let mut edits: Vec<(usize, &Edit)> = self
            .edits
            .iter()
            .enumerate()
            .filter(|(_, edit)| !rejected.contains(&edit.mutant))
            .collect();
        // At one offset, what ends is closed before what begins is opened, inner closings first and outer openings first.
        edits.sort_by_key(|(order, edit)| match edit.side {
            Side::Close => (edit.range.start, 0, usize::MAX - order),
            Side::Open => (edit.range.start, 1, *order),
        });
        let mut text = String::with_capacity(source.len() * 2);
        let mut offsets = Vec::with_capacity(edits.len());
        let mut position = 0;
        for (_, edit) in edits {
            text.push_str(&source[position..edit.range.start]);
            offsets.push((edit.range.start, edit.side, text.len(), edit.text.len()));
            text.push_str(&edit.text);
            position = edit.range.end;
        }
        text.push_str(&source[position..]);
        SwitchedFile { text, offsets }
    }

    /// Returns the mutants that may cause a compile error at a range of the switched file: the innermost ones around it,
    /// or all of the function.
    pub(crate) fn suspects(
        &self,
        switched: &SwitchedFile,
        error: &Range<usize>,
        rejected: &HashSet<u64>,
    ) -> Vec<u64> {
        let start = switched.original(error.start);
        let end = switched.original(error.end.saturating_sub(1)).max(start);
        let is_around = |outer: &Range<usize>| outer.start <= start && end <= outer.end;
        let active = |id: &u64| !rejected.contains(id);
        let around: Vec<_> =
            self.regions.iter().filter(|(id, region)| active(id) && is_around(region)).collect();
        if let Some(length) = around.iter().map(|(_, region)| region.len()).min() {
            let inner = around.iter().filter(|(_, region)| region.len() == length);
            return inner.map(|(id, _)| *id).collect();
        }
        let function = self.mutants.iter().filter(|mutant| is_around(&mutant.function_range));
        function.map(|mutant| mutant.id).filter(active).collect()
    }
}

/// A file with switches, and where its parts were in the original file.
pub(crate) struct SwitchedFile {
    pub(crate) text: String,
    /// Original offset, side, new offset and length of each edit.
    offsets: Vec<(usize, Side, usize, usize)>,
}

impl SwitchedFile {
    /// Returns where an offset of the switched file was in the original file.
    fn original(&self, offset: usize) -> usize {
        let count = self.offsets.partition_point(|(_, _, new, _)| *new <= offset);
        match count.checked_sub(1).map(|last| self.offsets[last]) {
            Some((original, _, new, length)) => original + offset.saturating_sub(new + length),
            None => offset,
        }
    }
}

fn compute_id(parts: &[&str]) -> u64 {
    let hash = Sha256::digest(parts.join("\0").as_bytes());
    u64::from_le_bytes(hash[..8].try_into().expect("a SHA-256 hash has 32 bytes"))
}
