//! How good the answers of a search are: nDCG@10 and MRR@10 where the right ones are known, beside semble.
//!
//! Documents are cut, indexed, embedded and ranked by the crates of the product, as its index does it. Vectors are kept
//! under `target/bench/vectors`, so that a second run is quick. Weights were chosen on one half of the queries, with the
//! other in view; figures are given for both. Only sets that were never looked at are a clean check.

mod collection;
mod measure;
mod projects;
mod semble;
mod systems;
mod vectors;

use std::path::PathBuf;

use anyhow::Result;
use collection::Collection;
use measure::{Figures, HALVES};
use systems::{SYSTEMS, Systems};
use vectors::Embeddings;

use super::peers::Peers;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder with the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data/search")]
    data: PathBuf,
    /// semble's `benchmarks/annotations`; without it they are cloned from semble's repository
    #[arg(long, value_name = "DIR")]
    annotations: Option<PathBuf>,
    /// Run semble on the same files
    #[arg(long)]
    semble: bool,
    /// Only collections whose name begins so
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Show each query below this nDCG@10, with what was found instead
    #[arg(long, value_name = "NDCG")]
    worst: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let wanted = |name: &str| args.only.as_deref().is_none_or(|only| name.starts_with(only));
    let peers = args.semble.then(Peers::install).transpose()?;
    let embeddings = Embeddings::new()?;
    let mut tables = Vec::new();
    for name in collection::sets(&args.data)?.iter().filter(|name| wanted(name)) {
        let collection = Collection::read(&args.data, name)?;
        tables.push(measured(&collection, &embeddings, peers.as_ref(), args.worst)?);
    }
    for project in
        projects::all(args.annotations.as_deref())?.iter().filter(|project| wanted(project.name))
    {
        let collection = project.collection()?;
        tables.push(measured(&collection, &embeddings, peers.as_ref(), args.worst)?);
    }
    print(&tables, args.semble);
    Ok(())
}

/// The figures of one collection: one for each system, then those of semble.
struct Table {
    name: String,
    is_project: bool,
    figures: Vec<Figures>,
}

fn measured(
    collection: &Collection,
    embeddings: &Embeddings,
    peers: Option<&Peers>,
    worst: Option<f64>,
) -> Result<Table> {
    let systems = Systems::new(collection, embeddings)?;
    let mut figures: Vec<Figures> = SYSTEMS
        .iter()
        .map(|system| measure::figures(collection, |index| systems.answer(*system, index)))
        .collect();
    if let Some(below) = worst {
        systems.print_worst(below);
    }
    if let Some(peers) = peers {
        let answers = semble::answers(peers, collection)?;
        figures.push(measure::figures(collection, |index| answers[index].clone()));
    }
    let name = collection.name.clone();
    println!(
        "{name}: {} queries, {} documents",
        collection.queries.len(),
        collection.documents.len()
    );
    Ok(Table { name, is_project: collection.is_project, figures })
}

fn print(tables: &[Table], with_semble: bool) {
    let names =
        SYSTEMS.iter().map(|system| system.name()).chain(with_semble.then_some("semble 0.7"));
    let names: Vec<&str> = names.collect();
    let projects: Vec<&Table> = tables.iter().filter(|table| table.is_project).collect();
    for half in HALVES {
        println!("\nnDCG@10 / MRR@10, {}\n", half.name());
        println!("| set | queries | {} |", names.join(" | "));
        println!("|---|---:|{}", "---:|".repeat(names.len()));
        for table in tables {
            print_row(&table.name, &table.figures.iter().map(|f| f.of(half)).collect::<Vec<_>>());
        }
        if projects.len() > 1 {
            let all: Vec<_> = (0..names.len())
                .map(|system| {
                    Figures::together(projects.iter().map(|table| &table.figures[system]))
                })
                .collect();
            print_row("all projects", &all.iter().map(|f| f.of(half)).collect::<Vec<_>>());
        }
    }
}

fn print_row(name: &str, figures: &[measure::Mean]) {
    let queries = figures.first().map_or(0, |figure| figure.queries);
    let shown: Vec<String> =
        figures.iter().map(|f| format!("{:.3} / {:.3}", f.ndcg, f.mrr)).collect();
    println!("| {name} | {queries} | {} |", shown.join(" | "));
}
