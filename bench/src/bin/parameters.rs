//! Backs up a series of directories, one after another as versions of one source, with several sets of parameters, and
//! prints what each version adds: `parameters DIR... -- [NAME=VALUE[,NAME=VALUE...]]...`.
//!
//! The directories must be versions of one tree; each is renamed to one place for its turn, so that paths are the same,
//! and back. One directory alone stays where it is. In place of a directory `sh:COMMAND` changes the one before by a shell command that is run in it. Every set of
//! parameters gets a repository of its own in a temporary directory.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use copal_bench::{Failure, back_up, create};
use copal_client::backend::Backend;
use copal_client::location::Location;
use copal_client::repository::{LocalClient, Repository};
use copal_client::wait::wait;
use copal_format::pack::PackKind;
use copal_format::repository::Parameters;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let split = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let versions: Vec<PathBuf> = arguments[..split].iter().map(PathBuf::from).collect();
    let mut sets: Vec<&str> = arguments.iter().skip(split + 1).map(String::as_str).collect();
    if sets.is_empty() {
        sets.push("");
    }
    if versions.is_empty() {
        return Err("usage: parameters DIR... [-- NAME=VALUE[,NAME=VALUE...]...]".into());
    }
    println!("| parameters | version | seconds | data MB | tree MB | packs | chunks new | pages new |");
    println!("|---|---|---|---|---|---|---|---|");
    for set in sets {
        measure(set, &versions)?;
    }
    Ok(())
}

fn measure(set: &str, versions: &[PathBuf]) -> Result<(), Failure> {
    let temporary = std::env::temp_dir().join(format!("copal-parameters-{}", std::process::id()));
    let result = measure_in(&temporary, set, versions);
    std::fs::remove_dir_all(&temporary)?;
    result
}

fn measure_in(temporary: &Path, set: &str, versions: &[PathBuf]) -> Result<(), Failure> {
    std::fs::create_dir_all(temporary)?;
    let directory = temporary.join("repository");
    let backend = Backend::create(&Location::Directory(directory))?;
    let input = create(&backend, parameters(set)?)?;
    let repository = Repository::open(&backend, &input, |id| temporary.join(id.to_string()))?;
    let client = LocalClient::load_or_register(&repository, "measured")?;
    if let [only] = versions {
        println!("| {} | 1 {}", name(set), row(&repository, &client, only)?);
        return Ok(());
    }
    let place = versions[0].with_file_name("copal-measured");
    let mut version = &versions[0];
    for (number, named) in versions.iter().enumerate() {
        match named.to_str().and_then(|text| text.strip_prefix("sh:")) {
            Some(command) => {
                std::process::Command::new("sh").arg("-c").arg(command).current_dir(version).status()?;
            }
            None => version = named,
        }
        std::fs::rename(version, &place)?;
        let row = row(&repository, &client, &place);
        std::fs::rename(&place, version)?;
        println!("| {} | {} {}", name(set), number + 1, row?);
    }
    Ok(())
}

fn name(set: &str) -> &str {
    if set.is_empty() { "default" } else { set }
}

fn row(repository: &Repository, client: &LocalClient, place: &Path) -> Result<String, Failure> {
    let started = Instant::now();
    let outcome = back_up(repository, client, place)?;
    let seconds = started.elapsed().as_secs_f64();
    let view = wait(copal_jobs::view::read(repository.store().as_ref()))?;
    let megabytes = |kind: PackKind| {
        let packs = view.state.packs.values().filter(|pack| pack.kind == kind);
        packs.map(|pack| pack.length).sum::<u64>() as f64 / 1e6
    };
    Ok(format!(
        "| {seconds:.1} | {:.1} | {:.2} | {} | {} | {} |",
        megabytes(PackKind::Data),
        megabytes(PackKind::Tree),
        view.state.packs.len(),
        outcome.tally.chunks_new,
        outcome.tally.pages_new,
    ))
}

fn parameters(set: &str) -> Result<Parameters, Failure> {
    let mut parameters = Parameters::default();
    for pair in set.split(',').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or("a parameter is NAME=VALUE")?;
        if name == "zstd_level" {
            parameters.zstd_level = value.parse()?;
            continue;
        }
        let value = value.parse::<copal_cli::Size>()?.0 as u32;
        let field = match name {
            "chunk_min" => &mut parameters.chunk_min,
            "chunk_average" => &mut parameters.chunk_average,
            "chunk_max" => &mut parameters.chunk_max,
            "block_target" => &mut parameters.block_target,
            "tree_block_target" => &mut parameters.tree_block_target,
            "pack_target" => &mut parameters.pack_target,
            "tree_pack_target" => &mut parameters.tree_pack_target,
            "inline_max" => &mut parameters.inline_max,
            "leaf_fanout" => &mut parameters.leaf_fanout,
            "inner_fanout" => &mut parameters.inner_fanout,
            "page_min" => &mut parameters.page_min,
            "page_max" => &mut parameters.page_max,
            other => return Err(format!("there is no parameter {other}").into()),
        };
        *field = value;
    }
    parameters.check()?;
    Ok(parameters)
}
