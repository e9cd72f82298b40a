//! The command line: what the contract promises is there, explained, and means what it says.

use std::ffi::OsStr;
use std::path::Path;

use clap::{CommandFactory, error::ErrorKind};
use copal_client::restore::SpecPath;
use copal_client::verify::ReadData;
use copal_format::time::Time;

use super::restore::Overwrite;
use super::spec::Which;
use super::{Command, CommandLine};
use crate::reference;

mod examples;

fn parse(line: &str) -> Result<CommandLine, clap::Error> {
    CommandLine::read(core::iter::once("copal").chain(line.split_whitespace()))
}

fn parsed(line: &str) -> CommandLine {
    parse(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refusal(line: &str) -> String {
    let error = parse(line).expect_err(line);
    assert_eq!(error.exit_code(), 2, "{line}");
    error.to_string()
}

/// Every command with its full name, those below `key` and `cache` too.
fn commands() -> Vec<(String, clap::Command)> {
    let mut top = CommandLine::command();
    top.build();
    let mut found = Vec::new();
    for command in top.get_subcommands() {
        found.push((command.get_name().to_owned(), command.clone()));
        for below in command.get_subcommands() {
            found.push((format!("{} {}", command.get_name(), below.get_name()), below.clone()));
        }
    }
    found
}

#[test]
fn the_command_line_contradicts_itself_nowhere() {
    CommandLine::command().debug_assert();
}

#[test]
fn every_command_and_option_is_explained() {
    for (name, command) in commands() {
        assert!(command.get_about().is_some_and(|about| about.to_string().len() > 10), "{name}");
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.len() > 5, "{name} {argument}: {help:?}");
        }
    }
}

#[test]
fn the_reference_has_the_options_of_every_command_and_no_others() {
    const HEAD: &str = "| option | meaning |";
    let (mut page, mut narrowed) = (reference::read("cli.md"), None);
    for (name, command) in commands().iter().filter(|(_, command)| !command.has_subcommands()) {
        let heading = format!("\n### copal {name}\n");
        let is_own = |argument: &&clap::Arg| !argument.is_global_set() && argument.get_id() != "help";
        let (narrow, own): (Vec<_>, Vec<_>) =
            command.get_arguments().filter(is_own).partition(|argument| argument.get_help_heading() == Some(NARROW));
        page = reference::with_rows(&page, &heading, HEAD, &own.into_iter().map(row).collect::<Vec<_>>());
        let section = page.split(&heading).nth(1).and_then(|rest| rest.split("\n#").next()).unwrap_or_default();
        assert_eq!(section.contains("(#which-options-choose-snapshots)"), !narrow.is_empty(), "docs/cli.md: {name}");
        if !narrow.is_empty() {
            let rows: Vec<String> = narrow.into_iter().map(row).collect();
            assert_eq!(narrowed.get_or_insert_with(|| rows.clone()), &rows, "{name}");
        }
    }
    let narrowed = narrowed.expect("some commands choose snapshots");
    page = reference::with_rows(&page, "\n### Which options choose snapshots?\n", HEAD, &narrowed);
    let (_, command) = &commands()[0];
    let globals: Vec<String> = command.get_arguments().filter(|argument| argument.is_global_set()).map(row).collect();
    page = reference::with_rows(&page, "\n## Global options\n", HEAD, &globals);
    reference::hold("cli.md", &page);
}

/// The line of an argument in the reference.
fn row(argument: &clap::Arg) -> String {
    let value = argument.get_value_names().filter(|_| argument.get_action().takes_values());
    let may_be_left_out = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    let value = value.map(|names| if may_be_left_out { format!("[{}]", names[0]) } else { names[0].to_string() });
    let name = match (argument.get_short(), argument.get_long(), value) {
        (Some(short), Some(long), Some(value)) => format!("`-{short}`, `--{long} {value}`"),
        (Some(short), Some(long), None) => format!("`-{short}`, `--{long}`"),
        (None, Some(long), Some(value)) => format!("`--{long} {value}`"),
        (None, Some(long), None) => format!("`--{long}`"),
        (_, None, value) => format!("`{}`", value.unwrap_or_default()),
    };
    let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    if argument.get_action().takes_values() && !argument.is_hide_default_value_set() {
        let defaults = argument.get_default_values().iter().filter_map(|value| value.to_str());
        defaults.for_each(|default| help.push_str(&format!(" [default: {default}]")));
    }
    if let Some(variable) = argument.get_env().and_then(OsStr::to_str) {
        help.push_str(&format!(" [env: {variable}]"));
    }
    let values: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if argument.get_action().takes_values() && !values.is_empty() {
        help.push_str(&format!(": {}", values.join(", ")));
    }
    format!("| {name} | {} |", help.replace('|', "\\|"))
}

#[test]
fn global_options_stand_before_or_after_the_command() {
    for line in ["-r /r -q --json stats", "stats -r /r -q --json", "--json stats --repository /r --quiet"] {
        let global = parsed(line).global;
        assert_eq!(global.repository.as_deref(), Some(OsStr::new("/r")), "{line}");
        assert!(global.quiet && global.json, "{line}");
    }
    let global = parsed("-vv key -p /p list --key-file /k --cache-dir /c --state-dir /s").global;
    assert_eq!(global.verbose, 2);
    assert_eq!(global.password_file.as_deref(), Some(Path::new("/p")));
    assert_eq!(global.key_file.as_deref(), Some(Path::new("/k")));
    assert_eq!(global.cache_dir.as_deref(), Some(Path::new("/c")));
    assert_eq!(global.state_dir.as_deref(), Some(Path::new("/s")));
    assert!(refusal("stats -q -v").contains("--verbose"));
}

#[test]
fn backup_takes_paths_lists_streams_or_a_command() {
    let taken = |line: &str| match parsed(line).command {
        Command::Backup(backup) => {
            let super::backup::Backup { operands, names, .. } = *backup;
            (operands, names.files_from, names.stdin_name, [names.stdin, names.stdin_from_command])
        }
        other => panic!("{other:?}"),
    };
    let backup = |operands: &[&str], listed: &[&str], name: &str, streams: [bool; 2]| {
        (operands.iter().map(Into::into).collect(), listed.iter().map(Into::into).collect(), name.into(), streams)
    };
    let none = [false; 2];
    assert_eq!(taken("backup a b"), backup(&["a", "b"], &[], "stdin", none));
    assert_eq!(taken("backup -- -a"), backup(&["-a"], &[], "stdin", none));
    assert_eq!(taken("backup --files-from - a"), backup(&["a"], &["-"], "stdin", none));
    assert_eq!(taken("backup --stdin --stdin-name db.sql"), backup(&[], &[], "db.sql", [true, false]));
    let command = taken("backup --stdin-from-command -- dump -x db");
    assert_eq!(command, backup(&["dump", "-x", "db"], &[], "stdin", [false, true]));
}

#[test]
fn backup_refuses_what_makes_no_sense() {
    assert!(refusal("backup").contains("PATH"));
    assert!(refusal("backup --stdin a").contains("--stdin"));
    assert!(refusal("backup --init -n a").contains("--dry-run"));
    assert!(refusal("backup --stdin --files-from f").contains("--files-from"));
    assert!(refusal("backup --stdin-from-command").contains("PATH"));
    assert!(refusal("backup --stdin-name n a").contains("--stdin"));
    assert!(refusal("backup a --exclude-larger-than big").contains("10M"));
    assert!(refusal("backup a --rewrite-budget 200%").contains("100%"));
    assert!(refusal("backup a --time soon").contains("2026-01-31"));
    assert!(refusal("backup a --tag=").contains("--tag"));
    assert!(refusal("backup a --compression 20").contains("from 0"));
}

#[test]
fn backup_options_carry_their_values() {
    let line = "backup a --tag x --tag y -e *.o --iexclude *.TMP --exclude-larger-than 1G --rewrite-budget 5% \
                --time 1970-01-01T00:00:01Z --host h --label l -x --ignore-file .copalignore --exclude-if-present .nobackup --init";
    let Command::Backup(backup) = parsed(line).command else { panic!() };
    assert_eq!(
        (backup.naming.tags.join(","), backup.naming.label.as_str(), backup.naming.host.as_deref()),
        ("x,y".into(), "l", Some("h"))
    );
    assert!(backup.init && backup.exclude.one_file_system && !backup.changes.force);
    assert_eq!(backup.exclude.exclude_larger_than.map(|size| size.0), Some(1 << 30));
    assert_eq!((backup.rewrite_budget, backup.naming.time), (0.05, Some(Time(1_000_000_000))));
    assert_eq!(
        (backup.exclude.patterns.exclude, backup.exclude.patterns.iexclude),
        (vec!["*.o".into()], vec!["*.TMP".into()])
    );
}

#[test]
fn the_rewrite_budget_is_two_percent_unless_told() {
    let Command::Backup(backup) = parsed("backup a").command else { panic!() };
    assert_eq!(backup.rewrite_budget, 0.02);
}

#[test]
fn restore_replaces_what_changed_unless_told() {
    let Command::Restore(restore) = parsed("restore latest:docs -t /t --no-owner --no-xattrs").command else {
        panic!()
    };
    assert_eq!((restore.overwrite, restore.delete), (Overwrite::IfChanged, false));
    assert_eq!(restore.snapshot.which, Which::Latest);
    assert!(matches!(restore.snapshot.path, Some(SpecPath::Relative(_))));
    assert!(restore.no_owner && restore.no_xattrs && restore.target == Path::new("/t"));
    assert!(refusal("restore latest").contains("--target"));
    assert!(refusal("restore newest -t /t").contains("latest"));
    assert!(refusal("restore latest -t /t --overwrite maybe").contains("never"));
    for (word, meaning) in [("changed", Overwrite::IfChanged), ("if-newer", Overwrite::IfNewer)] {
        let line = format!("restore latest -t /t --overwrite {word}");
        assert!(matches!(parsed(&line).command, Command::Restore(restore) if restore.overwrite == meaning));
    }
}

#[test]
fn check_reads_none_a_share_or_all() {
    let read = |line: &str| match parsed(line).command {
        Command::Check(check) => (check.read_data(), check.full),
        other => panic!("{other:?}"),
    };
    assert_eq!(read("check"), (ReadData::None, false));
    assert_eq!(read("check --read-data"), (ReadData::All, false));
    assert_eq!(read("check --full"), (ReadData::All, true));
    let share = ReadData::Share { parts: 30 };
    assert_eq!(read("check --read-data-share 3/30 --full"), (share, true));
    assert!(refusal("check --read-data --read-data-share 1/2").contains("--read-data-share"));
    assert!(refusal("check --read-data-share 4/3").contains("3/30"));
}

#[test]
fn forget_takes_snapshots_or_rules_but_never_nothing() {
    let line = "forget --keep-last 3 --keep-daily 7 --keep-yearly 2 --keep-within 1y --keep-tag a --keep-tag b --tag c --host h -n --prune";
    let Command::Forget(forget) = parsed(line).command else { panic!() };
    assert_eq!(
        (forget.keep.last, forget.keep.daily, forget.keep.yearly, forget.keep.hourly),
        (Some(3), Some(7), Some(2), None)
    );
    assert_eq!((forget.keep.tags.join(","), forget.narrow.tags.join(",")), ("a,b".into(), "c".into()));
    assert!(forget.dry_run && forget.prune && forget.group_by.host && forget.group_by.label);
    let Command::Forget(forget) = parsed("forget ab12 latest").command else { panic!() };
    assert_eq!(forget.snapshots, [Which::Prefix("ab12".into()), Which::Latest]);
    refusal("forget");
    refusal("forget --host h --prune");
    refusal("forget ab12 --keep-last 1");
    assert!(refusal("forget --keep-within 6m").contains("\"mo\""));
}

#[test]
fn commands_on_snapshots_want_at_least_one() {
    for line in ["pin", "unpin", "undelete", "tag --add x", "tag ab12", "ls", "diff latest", "dump", "find", "cat"] {
        refusal(line);
    }
    let Command::Tag(tag) = parsed("tag latest ab12 --add x --remove y --host h").command else { panic!() };
    assert_eq!((tag.choice.snapshots.len(), tag.add, tag.remove), (2, vec!["x".into()], vec!["y".into()]));
    assert!(tag.choice.narrow.hosts.iter().all(|host| host.fits("h")) && tag.choice.narrow.names_machines());
    assert!(matches!(parsed("pin latest --tag t").command, Command::Pin(_)));
}

#[test]
fn the_grace_of_prune_is_for_the_policy_to_say_unless_told() {
    let grace = |line: &str| match parsed(line).command {
        Command::Prune(prune) => (prune.grace.map(|span| span.0.as_secs()), prune.max_repack.map(|size| size.0)),
        other => panic!("{other:?}"),
    };
    assert_eq!(grace("prune"), (None, None));
    assert_eq!(grace("prune --grace 0s --max-repack 1MiB"), (Some(0), Some(1 << 20)));
}

#[test]
fn looking_commands_parse() {
    let Command::Snapshots(list) = parsed("snapshots ab --latest 2 --group-by host --path /a").command else {
        panic!()
    };
    assert_eq!((list.latest.map(|n| n.get()), list.group_by.map(|group| group.host)), (Some(2), Some(true)));
    assert!(refusal("snapshots --latest 0").contains("--latest"));
    let Command::Ls(ls) = parsed("ls latest:/etc -l -R").command else { panic!() };
    assert!(ls.long && ls.recursive);
    let Command::Find(find) = parsed("find *.rs ab --host h").command else { panic!() };
    assert_eq!((find.glob.as_str(), find.snapshots.len()), ("*.rs", 1));
    assert!(parse("diff ab cd:/x").is_ok() && parse("dump latest:/x --format tar").is_ok());
    assert!(refusal("key add --new-key-file f --new-password-file g").contains("--new-key-file"));
}

#[test]
fn help_on_a_command_shows_its_own_options_and_says_where_the_others_are() {
    let help = |words: &[&str]| CommandLine::help_on(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    for (words, own) in [(&["ls"][..], "--recursive"), (&["key", "add"], "--new-key-file"), (&["key"], "recovery")] {
        let text = help(words).unwrap();
        assert!(text.contains(own) && text.contains("copal help options"), "{text}");
        assert!(!text.contains("--cache-dir") && !text.contains("--json"), "{text}");
        let asked = parse(&format!("{} --help", words.join(" "))).unwrap_err().to_string();
        assert_eq!(asked.trim(), text.trim());
    }
    let options = help(&["options"]).unwrap();
    assert!(GLOBAL.split_whitespace().all(|option| options.contains(option)) && options.contains("KMS"), "{options}");
    let all = help(&[]).unwrap();
    assert!(all.contains("First steps") && all.contains("rebuild-index") && all.contains("--cache-dir"), "{all}");
    assert_eq!(help(&["lss"]), None);
    assert!(parsed("ls latest -r /r").global.repository.is_some(), "what is not shown is taken all the same");
}

#[test]
fn no_arguments_show_the_help() {
    assert_eq!(parse("").unwrap_err().kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
}

const NARROW: &str = "Which snapshots";

const GLOBAL: &str =
    "-r --repository -p --password-file --key-file --cache-dir --state-dir --json -q --quiet -v --verbose";
