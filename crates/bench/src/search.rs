//! Quality of search results: nDCG@10 and MRR@10 on annotated queries, next to semble.
//!
//! Documents are cut, indexed, embedded and ranked by the crates of the product, as its index does. Vectors are cached
//! under `target/bench/vectors`, so that a second run is quick. Weights were chosen on one half of the queries, with the
//! other half visible; scores are given for both. Only data sets that were never inspected are a clean check.

mod collection;
mod measure;
mod projects;
mod semble;
mod systems;
mod vectors;

use std::path::PathBuf;

use anyhow::Result;
use collection::QueryCollection;
use measure::{HALVES, SystemScores};
use systems::{SYSTEMS, SearchSystems};
use vectors::EmbeddingCache;

use super::peers::SearchPeers;

#[derive(clap::Args)]
pub(crate) struct SearchArgs {
    /// Folder with the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data/search")]
    data: PathBuf,
    /// Folder `benchmarks/annotations` of semble; cloned from its repository by default
    #[arg(long, value_name = "DIR")]
    annotations: Option<PathBuf>,
    /// Run semble on the same files
    #[arg(long)]
    semble: bool,
    /// Measure only collections whose name starts with this
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Show each query below this nDCG@10, with its results
    #[arg(long, value_name = "NDCG")]
    worst: Option<f64>,
}

pub(crate) fn run_search_bench(args: &SearchArgs) -> Result<()> {
    let wanted = |name: &str| args.only.as_deref().is_none_or(|only| name.starts_with(only));
    let peers = args.semble.then(SearchPeers::install).transpose()?;
    let embeddings = EmbeddingCache::new()?;
    let mut tables = Vec::new();
    for name in collection::list_data_sets(&args.data)?.iter().filter(|name| wanted(name)) {
        let collection = QueryCollection::read_data_set(&args.data, name)?;
        tables.push(measure_collection(&collection, &embeddings, peers.as_ref(), args.worst)?);
    }
    for project in projects::list_projects(args.annotations.as_deref())?
        .iter()
        .filter(|project| wanted(project.name))
    {
        let collection = project.read_collection()?;
        tables.push(measure_collection(&collection, &embeddings, peers.as_ref(), args.worst)?);
    }
    print_tables(&tables, args.semble);
    Ok(())
}

/// Scores of one collection: one for each system, then those of semble.
struct ScoreTable {
    name: String,
    is_project: bool,
    figures: Vec<SystemScores>,
}

fn measure_collection(
    collection: &QueryCollection,
    embeddings: &EmbeddingCache,
    peers: Option<&SearchPeers>,
    worst: Option<f64>,
) -> Result<ScoreTable> {
    let systems = SearchSystems::new(collection, embeddings)?;
    let mut figures: Vec<SystemScores> = SYSTEMS
        .iter()
        .map(|system| {
            measure::score_system(collection, |index| systems.find_documents(*system, index))
        })
        .collect();
    if let Some(below) = worst {
        systems.print_worst(below);
    }
    if let Some(peers) = peers {
        let answers = semble::search_with_semble(peers, collection)?;
        figures.push(measure::score_system(collection, |index| answers[index].clone()));
    }
    let name = collection.name.clone();
    println!(
        "{name}: {} queries, {} documents",
        collection.queries.len(),
        collection.documents.len()
    );
    Ok(ScoreTable { name, is_project: collection.is_project, figures })
}

fn print_tables(tables: &[ScoreTable], with_semble: bool) {
    let names =
        SYSTEMS.iter().map(|system| system.name()).chain(with_semble.then_some("semble 0.7"));
    let names: Vec<&str> = names.collect();
    let projects: Vec<&ScoreTable> = tables.iter().filter(|table| table.is_project).collect();
    for half in HALVES {
        println!("\nnDCG@10 / MRR@10, {}\n", half.name());
        println!("| set | queries | {} |", names.join(" | "));
        println!("|---|---:|{}", "---:|".repeat(names.len()));
        for table in tables {
            print_row(&table.name, &table.figures.iter().map(|f| f.mean(half)).collect::<Vec<_>>());
        }
        if projects.len() > 1 {
            let all: Vec<_> = (0..names.len())
                .map(|system| {
                    SystemScores::merge(projects.iter().map(|table| &table.figures[system]))
                })
                .collect();
            print_row("all projects", &all.iter().map(|f| f.mean(half)).collect::<Vec<_>>());
        }
    }
}

fn print_row(name: &str, figures: &[measure::MeanScore]) {
    let queries = figures.first().map_or(0, |figure| figure.queries);
    let shown: Vec<String> =
        figures.iter().map(|f| format!("{:.3} / {:.3}", f.ndcg, f.mrr)).collect();
    println!("| {name} | {queries} | {} |", shown.join(" | "));
}
