//! Outlines every file below the given paths and says how long that took: `outline [--show] PATH…`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use source::{Language, outline};

fn main() -> io::Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let show = args.iter().any(|arg| arg == "--show");
    args.retain(|arg| arg != "--show");
    let mut out = io::stdout().lock();
    let (mut files, mut bytes, mut chunks, mut stopped) = (0, 0, 0, 0);
    let mut spent = Duration::ZERO;
    let mut slowest = (Duration::ZERO, PathBuf::new());
    let mut open: Vec<PathBuf> = args.iter().map(PathBuf::from).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(language) = Language::of(&path.to_string_lossy(), &text) else { continue };
        let start = Instant::now();
        let outline = outline(Some(language), &text);
        let took = start.elapsed();
        spent += took;
        files += 1;
        bytes += text.len();
        chunks += outline.chunks.len();
        stopped += usize::from(outline.stopped.is_some());
        slowest = slowest.max((took, path.clone()));
        if show {
            describe(&mut out, &path, &outline)?;
        }
    }
    let megabytes = bytes as f64 / 1e6;
    writeln!(
        out,
        "{files} files, {megabytes:.1} MB, {chunks} chunks, {stopped} not parsed to the end, {:.2} s ({:.1} MB/s), \
         slowest {:?} {}",
        spent.as_secs_f64(),
        megabytes / spent.as_secs_f64(),
        slowest.0,
        slowest.1.display(),
    )
}

fn describe(out: &mut impl Write, path: &Path, outline: &source::Outline) -> io::Result<()> {
    writeln!(out, "{} stopped {:?}", path.display(), outline.stopped)?;
    for chunk in &outline.chunks {
        let name = chunk.name.as_deref().unwrap_or("-");
        writeln!(
            out,
            "  {:>5}..{:<5} {:>5} B {:?} {name} {:?}",
            chunk.lines.start,
            chunk.lines.end,
            chunk.bytes.len(),
            chunk.kind,
            chunk.defines,
        )?;
    }
    for import in &outline.imports {
        writeln!(
            out,
            "  {} {} {} {:?}",
            import.line,
            import.kind.name(),
            import.specifier,
            import.names
        )?;
    }
    Ok(())
}
