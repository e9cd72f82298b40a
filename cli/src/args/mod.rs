//! Args: the command line, read once into typed values.
//!
//! Every text here is what `--help` shows; `docs/cli.md` is the same in full, and a test holds the two together.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub mod backup;
mod calendar;
pub mod check;
pub mod client;
pub mod copy;
pub mod forget;
pub mod global;
pub mod import;
pub mod key;
pub mod look;
pub mod mount;
pub mod mover;
pub mod pattern;
pub mod policy;
pub mod profile;
pub mod repository;
pub mod restore;
pub mod run;
pub mod schedule;
pub mod serve;
pub mod spec;
pub mod values;
pub mod watch;

#[cfg(test)]
mod tests;

/// Encrypted, deduplicated backups that any number of machines write at once.
///
/// First steps:
///
///   copal -r /mnt/backup init
///   copal -r /mnt/backup backup ~/Documents
///   copal -r /mnt/backup restore latest --target /tmp/restored
///
/// Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done, but some entries could not be read or written (each is named);
/// 4 damage found; 5 the backup is not accepted (yet); 10 no repository there; 11 the same profile is
/// being run already; 12 wrong passphrase; 130 interrupted.
#[derive(Parser, Debug)]
#[command(name = "copal", version, verbatim_doc_comment, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true, max_term_width = 110)]
pub struct CommandLine {
    #[command(flatten)]
    pub global: global::Global,
    #[command(subcommand)]
    pub command: Command,
}

impl CommandLine {
    /// Reads the words of a command line, the program's name first. The name alone asks for help, also where variables
    /// stand for some options.
    pub fn read(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        if words.len() <= 1 {
            Self::command().mut_args(|option| option.env(Resettable::Reset)).try_get_matches_from(&words)?;
        }
        let command = || Self::command().mut_args(without_empty).mut_subcommands(|below| below.mut_args(without_empty));
        // Only a help or an error shows what is brief. Making it builds all commands, which every start would wait for.
        let matches = command().try_get_matches_from(&words);
        let mut matches = matches.or_else(|_| brief(command()).try_get_matches_from(words))?;
        Self::from_arg_matches_mut(&mut matches)
    }

    /// The commands for manual pages: each with its own options.
    pub fn for_manual() -> clap::Command {
        brief(Self::command())
    }

    /// The help on a command, or on the options that every command takes; none if there is no such topic.
    pub fn help_on(topic: &[String]) -> Option<String> {
        if topic == ["options"] {
            let options = global::Global::augment_args(clap::Command::new("copal"));
            return Some(options.disable_help_flag(true).help_template("{all-args}").render_long_help().to_string());
        }
        let mut command = brief(Self::command());
        for name in topic {
            command = command.find_subcommand(name)?.clone();
        }
        Some(command.render_long_help().to_string())
    }
}

/// The command line with a help of each command that shows only its own options, and says where the others are.
fn brief(mut command: clap::Command) -> clap::Command {
    fn each(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|option| if option.is_global_set() { option.hide(true) } else { option });
        command.after_help(GLOBAL_OPTIONS).mut_subcommands(each)
    }
    // Building hands the global options down.
    command.build();
    command.mut_subcommands(each)
}

const GLOBAL_OPTIONS: &str = "Options of all commands (repository, passphrase, output): copal help options";

/// A variable that is set to nothing is not set.
pub(crate) fn without_empty(option: Arg) -> Arg {
    let is_empty = option.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    if is_empty { option.env(Resettable::Reset) } else { option }
}

#[derive(Args, Debug)]
pub struct Help {
    /// The command; "options" are those that every command takes [default: all commands].
    #[arg(value_name = "COMMAND")]
    pub topic: Vec<String>,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Create a repository.
    ///
    /// Asks for a passphrase twice and prints a recovery code once: write it down. Whoever loses the passphrase, the
    /// recovery code and every key file loses the backups. With --key-file FILE, also writes a new key file there, for
    /// runs without a person at the keyboard.
    Init(repository::Init),
    /// Save files and directories as a new snapshot.
    ///
    /// Reads only what changed since the last snapshot of the same host and paths, and stores only what the repository
    /// does not have yet. On a machine that the repository does not know, the passphrase registers the machine.
    Backup(Box<backup::Backup>),
    /// Do what profiles of the configuration say: back up, copy, forget, prune, check.
    ///
    /// Each profile is run once, and never twice at a time. A profile ends at its first act that fails, and the next one
    /// follows. The exit code is the worst one.
    Run(run::Run),
    /// Look at the configuration of "run".
    #[command(subcommand, arg_required_else_help = true)]
    Config(run::Configuration),
    /// Have the system run profiles of the configuration by the clock.
    #[command(subcommand, arg_required_else_help = true)]
    Schedule(schedule::Schedule),
    /// Move a volume for a scheduler of a cluster: calls that may be repeated, with one line of JSON each.
    #[command(subcommand, arg_required_else_help = true)]
    Mover(mover::Mover),
    /// Save what other programs have written.
    #[command(subcommand, arg_required_else_help = true)]
    Import(import::Import),
    /// List snapshots.
    Snapshots(look::Snapshots),
    /// List the content of a directory in a snapshot.
    Ls(look::Ls),
    /// Find entries by name in snapshots.
    Find(look::Find),
    /// Show what differs between two snapshots.
    Diff(look::Diff),
    /// Write a file's content, or a directory as an archive, to standard output.
    Dump(look::Dump),
    /// Restore files and directories from a snapshot.
    ///
    /// SNAPSHOT:PATH puts PATH's content directly into the target; SNAPSHOT alone recreates the full paths below it.
    Restore(restore::Restore),
    /// Write a snapshot into one file, encrypted with a passphrase of its own.
    ///
    /// The file is a repository with this one snapshot and the reader in it: "copal -r FILE restore latest" reads it, and so does
    /// the reader. With --format it is an archive without encryption.
    Export(Box<copy::Export>),
    /// Copy snapshots into another repository, which has other keys.
    ///
    /// Copies what is not there yet, the oldest snapshot first. Everything is checked while it is read. Run it again after an
    /// interruption, or every night: it copies only what is missing. Into a replica, which has the same keys, it does what
    /// "sync" does.
    Copy(Box<copy::Copy>),
    /// Bring a replica up to date: a second copy of the whole repository, with the same keys.
    ///
    /// Packs, manifests and all else go as they are, and only what is missing. Needs no passphrase, but for "--end"
    /// if packs have lost their manifest. "init --copy-keys-from" makes the replica.
    Sync(copy::Sync),
    /// Replace snapshots by new ones without some paths.
    ///
    /// For what should never have been saved. The old snapshots are forgotten once the new ones are accepted: "undelete" brings
    /// them back until prune has freed what only they hold.
    Rewrite(copy::Rewrite),
    /// Show snapshots as folders, read-only, until Ctrl-C.
    ///
    /// DIR shows snapshots/latest, and each snapshot in by-id, by-host and by-time; new ones appear by themselves. --webdav
    /// serves the same to programs of this machine over HTTP.
    Mount(mount::Mount),
    /// Note what changes in files and directories, for "backup --watched" of the same paths.
    ///
    /// Runs until it is ended. Needs no repository.
    Watch(watch::Watch),
    /// Verify the repository.
    ///
    /// Always reads roots, index and tables, and looks at every pack's presence and size. Exits with 4 if it finds damage, and
    /// names what is hit.
    Check(check::Check),
    /// Forget snapshots, by id or by retention rules.
    ///
    /// Nothing is deleted at once: "undelete" brings a snapshot back until prune has freed it.
    Forget(forget::Forget),
    /// Delete data that no snapshot needs any more.
    ///
    /// Data is freed once nothing has needed it for the grace period, so that backups running at the same time are safe.
    Prune(forget::Prune),
    /// Add tags to snapshots, or remove them.
    Tag(forget::Tag),
    /// Exempt snapshots from the rules of "forget".
    Pin(forget::Chosen),
    /// Apply the rules of "forget" to snapshots again.
    Unpin(forget::Chosen),
    /// Bring forgotten snapshots back, as long as prune has not freed them.
    Undelete(forget::Chosen),
    /// Verify what clients have uploaded and add it to the index.
    ///
    /// Backups of full clients do this by themselves; write-only clients need a machine that does it for them.
    Ingest,
    /// Serve the repository to clients that have no rights on its store.
    ///
    /// A gateway over HTTP, and the service's jobs: ingest when something arrives; expire, compact, prune and check by the
    /// clock. Needs no passphrase and holds no key.
    Serve(Box<serve::Serve>),
    /// Report what has healed and what is still missing, and restore lost and damaged copies of small objects.
    Repair(check::Repair),
    /// Show how much the repository holds and stores.
    Stats(look::Stats),
    /// Manage passphrases, key files and recovery codes.
    #[command(subcommand, arg_required_else_help = true)]
    Key(key::Key),
    /// Manage the machines that save to the repository.
    #[command(subcommand, arg_required_else_help = true)]
    Client(client::Client),
    /// Manage the policy: which snapshots stay, and how the service runs its jobs.
    #[command(subcommand, arg_required_else_help = true)]
    Policy(policy::Policy),
    /// Show uploads that wait or were rejected, and the age of the newest snapshots.
    ///
    /// A write-only client sees its own; the owner sees all.
    Status,
    /// Look at all that backups need on this machine, and say what to do about what is missing.
    ///
    /// Directories, repository, rights, key, clock, state, packs and the newest backup. Changes nothing.
    Doctor,
    /// Measure how fast this machine, and the store if a repository is named, do what backups need.
    Benchmark,
    /// Build the index again from the packs and manifests.
    ///
    /// A repair: nobody else may write to the repository meanwhile.
    RebuildIndex,
    /// Merge small index segments now. Ingest and prune do this by themselves.
    #[command(hide = true)]
    Compact,
    /// Show an object of the repository, decoded.
    Cat(look::Cat),
    /// Store the reader in the repository.
    ///
    /// The reader is a WebAssembly program that brings files back without this one, many years from now. "init" stores it;
    /// this does so in a repository that has none, or another version of it.
    Reader(repository::ReaderFile),
    /// Manage what this machine keeps of repositories to be faster.
    #[command(subcommand, arg_required_else_help = true)]
    Cache(repository::Cache),
    /// Print a completion script for a shell.
    ///
    /// For bash: copal completions bash > ~/.local/share/bash-completion/completions/copal
    Completions(repository::Completions),
    /// Write manual pages into a directory.
    ///
    /// For example: copal man ~/.local/share/man/man1
    Man(repository::Manual),
    /// Print the version of the program and of the format.
    Version,
    /// Explain a command, like "copal --help" and "copal COMMAND --help".
    Help(Help),
}
