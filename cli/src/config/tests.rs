//! Which configurations are accepted, and the error for each that is not.

use std::ffi::OsStr;
use std::path::Path;

use super::*;
use crate::config::keys::TABLES;
use crate::reference;

fn read(text: &str) -> Result<Config, ConfigError> {
    Config::parse("copal.toml".into(), text, Some("/home/u".into()), true)
}

#[track_caller]
fn refused(text: &str, line: usize, words: &str) {
    let told = read(text).expect_err(text).to_string();
    assert!(told.starts_with(&format!("copal.toml, line {line}: ")) && told.contains(words), "{told}");
}

#[test]
fn a_profile_is_the_options_of_the_commands() {
    let config = read(
        "[profiles.home]\nrepository = \"~/r\"\nlimit-upload = \"5M\"\n[profiles.home.backup]\npaths = \"/home\"\n\
         exclude = [\"*.o\", \"-x\"]\none-file-system = true\nexclude-caches = false\n[profiles.home.forget]\nkeep-daily = 7\n\
         [profiles.home.copy]\nto = \"~/copy\"\n[profiles.home.prune]\n[profiles.home.check]\nread-data-share = \"1/30\"\n",
    );
    let config = config.unwrap();
    let profile = config.profile("home").unwrap();
    assert_eq!(profile.acts(), [Act::Backup, Act::Copy, Act::Forget, Act::Prune, Act::Check]);
    assert_eq!(profile.copy.as_ref().unwrap().to.to, OsStr::new("/home/u/copy"));
    assert_eq!(profile.global.repository.as_deref(), Some(OsStr::new("/home/u/r")));
    assert_eq!(profile.global.limit_upload.map(|size| size.0), Some(5 << 20));
    let backup = profile.backup.as_ref().unwrap();
    assert_eq!(
        (&*backup.operands, &*backup.exclude.patterns.exclude),
        (&["/home".into()][..], &["*.o".into(), "-x".into()][..])
    );
    assert!(backup.exclude.one_file_system && !backup.exclude.exclude_caches);
    assert_eq!(profile.forget.as_ref().unwrap().keep.daily, Some(7));
}

#[test]
fn a_sandbox_is_in_the_way_of_commands_and_of_a_watcher() {
    for (key, is_in_the_way) in [("watched = true", true), ("watched = false", false), ("force = true", false)] {
        let config = read(&format!("[profiles.a]\n[profiles.a.backup]\npaths = \"/a\"\n{key}\n")).unwrap();
        assert_eq!(config.profile("a").unwrap().is_sandbox_in_the_way(), is_in_the_way, "{key}");
    }
}

#[test]
fn every_option_of_the_commands_is_a_key_or_has_no_use_in_a_file() {
    for table in TABLES {
        let keys: Vec<String> = table.keys().into_iter().map(|(key, _)| key).collect();
        for option in table.command().get_arguments() {
            let Some(long) = option.get_long() else { continue };
            let is_left_out = table.left_out.contains(&long);
            assert!(keys.iter().any(|key| key == long) != is_left_out, "{}: {long}", table.name);
        }
        for option in table.left_out {
            let known = table.command().get_arguments().any(|argument| argument.get_long() == Some(option));
            assert!(known, "{}: {option} is left out and does not exist", table.name);
        }
    }
}

#[test]
fn the_example_is_valid_and_so_is_each_key_that_it_leaves_out() {
    let example = example::example();
    let config = read(&example).unwrap();
    assert_eq!(config.profile("machine").unwrap().acts(), [Act::Backup, Act::Forget, Act::Prune, Act::Check]);
    let lines: Vec<&str> = example.lines().collect();
    let mut tried = 0;
    for (at, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with('#') && !line.starts_with("# ") && !line.starts_with("#["))
    {
        let mut changed = lines.clone();
        changed[at] = &line[1..];
        // A key of a table that is commented out as a whole, with what that table must have.
        let header = lines[..at].iter().rposition(|line| line.trim_start_matches('#').starts_with('[')).unwrap();
        if let Some(named) = lines[header].strip_prefix('#') {
            changed[header] = named;
            let to = lines.iter().position(|line| line.starts_with("#to = ")).unwrap();
            changed[to] = &lines[to][1..];
        }
        tried += 1;
        match read(&changed.join("\n")) {
            Ok(_) => {}
            // It does not go with what the example uses.
            Err(error) => assert!(
                [
                    "cannot be used with",
                    "needs smtp-password-file",
                    "is for stdin-from-command",
                    "which needs changed-from"
                ]
                .iter()
                .any(|why| error.to_string().contains(why))
                    || error.to_string().contains("no profile \"base\""),
                "{line}: {error}"
            ),
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    refused(
        "[profiles.a]\n\n[profiles.a.backup]\npaths = [\"/a\"]\nexlude = [\"x\"]\n",
        5,
        "unknown key \"exlude\" in [profiles.a.backup]; it has: paths",
    );
    refused("[profiles.a]\nrepositroy = \"/r\"\n", 2, "unknown key");
    refused("[profile.a]\n", 1, "unknown key \"profile\" in the file");
    refused(
        "[profiles.a.backup]\npaths = [\"/a\"]\nexclude-larger-than = \"big\"\n",
        3,
        "a size is a number and a unit",
    );
    refused("[profiles.a.backup]\npaths = [\"/a\"]\nlabel = [\"x\"]\n", 3, "takes one value");
    refused("[profiles.a.backup]\npaths = [\"/a\"]\none-file-system = \"yes\"\n", 3, "true or false");
    refused("[profiles.a.backup]\ntag = \"x\"\n", 1, "names nothing to save");
    refused("[profiles.a.backup]\npaths = []\n", 1, "names nothing to save");
    refused("[profiles.a.forget]\nhost = \"x\"\n", 1, "has no rule");
    refused("[profiles.a.check]\nread-data = true\nread-data-share = \"1/2\"\n", 2, "cannot be used with");
    refused("[profiles.a]\nrepository = \"r\"\n", 2, "begins with");
    refused("[profiles.a.backup]\npaths = [\"home\"]\n", 2, "begins with");
    refused("[profiles.a.backup]\npaths = [\"/a\"]\nexclude = [\"*.o\", \"[\"]\n", 3, "the pattern \"[\" is not valid");
    refused("[profiles.a.forget]\nhost = \"x\"\nkeep-last = 0\n", 1, "[profiles.a.forget] keeps nothing");
    refused("[profiles.a.schedule]\nat = \"sometimes\"\n", 2, "a calendar is like daily");
    refused("[profiles.a.schedule]\njitter = \"1h\"\nat = \"25:99\"\n", 3, "'25:99' for 'at");
    refused("[profiles.a]\nbackup = true\n", 2, "is a table, or false");
    refused("[profiles.a]\nrepository = \n", 2, "");
    refused("[profiles.\"a/b\"]\n", 1, "is no name");
    refused("[profiles.a.backup]\npaths = [\"/a\"]\ninit = true\n", 3, "unknown key");
    refused("[profiles.a.backup]\npaths = [\"/a\"]\nhelp = true\n", 3, "unknown key");
}

#[test]
fn what_a_configuration_names_and_is_not_there_is_told_with_its_line() {
    let text = "[profiles.base]\nkey-file = \"/no/key\"\n[profiles.a]\nuse = \"base\"\nmetrics-file = \"/no/copal.prom\"\n\
                [profiles.a.backup]\npaths = [\"/\", \"/no\"]\nexclude-file = \"~/no\"\n\
                [profiles.b]\nuse = \"base\"\n";
    let missing = read(text).unwrap().missing().unwrap();
    let told: Vec<_> = missing.iter().map(|one| (one.line, one.key.as_str(), one.path.as_str())).collect();
    assert_eq!(told, [(2, "key-file", "/no/key"), (7, "paths", "/no"), (8, "exclude-file", "/home/u/no")]);
}

#[test]
fn a_secret_in_the_file_is_refused_with_the_reason_and_not_repeated() {
    for key in ["password", "passphrase"] {
        refused(&format!("[profiles.a]\nrepository = \"/r\"\n{key} = \"hunter2\"\n"), 3, "password-file");
        let told = read(&format!("[profiles.a]\n{key} = \"hunter2\"\n")).unwrap_err().to_string();
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn profiles_that_use_each_other_cost_no_more_than_what_they_take() {
    // Each uses the one before many times: followed blindly, 4^15 joins.
    let chain = |length: usize| -> String {
        let one = |at: usize| format!("[profiles.p{at}]\nuse = [{}]\n", vec![format!("\"p{}\"", at - 1); 4].join(", "));
        "[profiles.p0]\nrepository = \"/r\"\n".to_owned() + &(1..length).map(one).collect::<String>()
    };
    let config = read(&chain(16)).unwrap();
    assert_eq!(config.profile("p15").unwrap().global.repository.as_deref(), Some(OsStr::new("/r")));
    refused(&chain(17), 34, "a chain of more than 16");
    assert!(read(&chain(5_000)).is_err(), "and no overflow of the stack");
    let long = format!("[profiles.a0]\npassword-command = \"{}\"\n", "x".repeat(900_000));
    let many: String = (0..20).map(|at| format!("[profiles.b{at}]\nuse = \"a0\"\n")).collect();
    refused(&(long + &many), 20, "more than 16 MiB");
}

#[test]
fn a_profile_takes_what_it_does_not_say_from_those_it_uses() {
    let text = "[profiles.base]\nrepository = \"/r\"\nkey-file = \"/k\"\n[profiles.base.forget]\nkeep-daily = 7\nkeep-weekly = 4\n[profiles.base.prune]\n\
                [profiles.slow]\nlimit-upload = \"1M\"\nkey-file = \"/l\"\n\
                [profiles.a]\nuse = [\"base\", \"slow\"]\nprune = false\n[profiles.a.backup]\npaths = [\"/a\"]\n[profiles.a.forget]\nkeep-daily = 3\n";
    let config = read(text).unwrap();
    let profile = config.profile("a").unwrap();
    assert_eq!(profile.acts(), [Act::Backup, Act::Forget]);
    let keep = &profile.forget.as_ref().unwrap().keep;
    assert_eq!((keep.daily, keep.weekly), (Some(3), Some(4)));
    assert_eq!(
        (profile.global.repository.as_deref(), profile.global.key_file.as_deref()),
        (Some(OsStr::new("/r")), Some(Path::new("/l")))
    );
    assert!(matches!(config.profile("base"), Err(ConfigError::Used { .. })));
    assert_eq!(config.to_run(&[]).unwrap().len(), 1);
    let shown = config.shown(&["a".to_owned()]).unwrap()["a"].clone();
    assert!(
        shown.contains("key-file = \"/l\"") && shown.contains("[profiles.a.forget]\nkeep-daily = 3\nkeep-weekly = 4\n"),
        "{shown}"
    );
    assert_eq!(read(&shown).unwrap().shown(&["a".to_owned()]).unwrap()["a"], shown, "what is shown is a profile");
}

#[test]
fn a_circle_of_profiles_is_refused() {
    refused("[profiles.a]\nuse = \"b\"\n[profiles.b]\nuse = \"a\"\n", 4, "uses itself");
    refused("[profiles.a]\nuse = \"b\"\n", 2, "no profile \"b\"");
}

#[test]
fn a_stream_is_named_by_its_command() {
    let command = |value: &str| {
        let config = read(&format!("[profiles.a.backup]\nstdin-from-command = {value}\n"))?;
        Ok::<_, ConfigError>(config.profile("a").unwrap().backup.as_ref().unwrap().operands.clone())
    };
    assert_eq!(command("[\"dump\", \"--all\"]").unwrap(), ["dump", "--all"]);
    assert_eq!(command("\"dump | sort\"").unwrap(), ["sh", "-c", "dump | sort"]);
    assert!(command("[]").is_err() && command("true").is_err());
}

#[test]
fn the_page_explains_every_key_that_is_no_option_of_a_command() {
    const HEADINGS: [&str; 4] = [
        "\n## Which keys does a profile have?\n",
        "\n## Who is told what becomes of a run?\n",
        "\n## What are hooks?\n",
        "\n## Who runs a profile by the clock?\n",
    ];
    let mut page = reference::read("configuration.md");
    for ((table, command), heading) in keys::own().into_iter().zip(HEADINGS) {
        let rows: Vec<String> = command
            .get_arguments()
            .map(|key| format!("| `{}` | {} |", key.get_long().unwrap(), key.get_help().unwrap()))
            .collect();
        let of = if table == "profiles.NAME" { String::new() } else { format!(" of `[{table}]`") };
        assert!(!rows.is_empty(), "{table}");
        page = reference::with_rows(&page, heading, &format!("| key{of} | meaning |"), &rows);
    }
    reference::hold("configuration.md", &page);
}
