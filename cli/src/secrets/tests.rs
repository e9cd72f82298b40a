use super::*;

struct Answers(Vec<&'static str>);

impl Person for Answers {
    fn ask(&mut self, _: &str) -> io::Result<Option<Zeroizing<String>>> {
        Ok((!self.0.is_empty()).then(|| Zeroizing::new(self.0.remove(0).to_owned())))
    }
}

fn nobody() -> Answers {
    Answers(Vec::new())
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn environment(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<OsString> {
    move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
}

fn opened(sources: &Sources) -> (SlotKind, String) {
    let found = sources.existing(&mut nobody()).unwrap();
    (found.kind(), found.expose().to_owned())
}

#[test]
fn the_command_line_counts_before_the_environment_and_a_key_file_before_a_passphrase() {
    let (_kept, key) = file("copal-key-1 ABC\n");
    let (_kept, word) = file("word\n");
    let all = environment(&[("COPAL_PASSWORD", "variable"), ("COPAL_PASSWORD_COMMAND", "echo command")]);
    let both = Sources::new(&OF_REPOSITORY, Some(key.clone()), Some(word.clone()), &all);
    assert_eq!(opened(&both), (SlotKind::KeyFile, "copal-key-1 ABC".into()));
    assert_eq!(opened(&Sources::new(&OF_REPOSITORY, None, Some(word), &all)), (SlotKind::Passphrase, "word".into()));
    assert_eq!(opened(&Sources::new(&OF_REPOSITORY, None, None, &all)), (SlotKind::Passphrase, "variable".into()));
    let with_key = Sources { key_file_variable: Some(key), ..Sources::new(&OF_REPOSITORY, None, None, &all) };
    assert_eq!(opened(&with_key).0, SlotKind::KeyFile);
}

#[test]
fn a_commands_output_is_the_passphrase_if_it_succeeds() {
    let sources = Sources::new(&OF_REPOSITORY, None, None, environment(&[("COPAL_PASSWORD_COMMAND", "echo hunter 2")]));
    assert_eq!(opened(&sources), (SlotKind::Passphrase, "hunter 2".into()));
    let sources =
        Sources::new(&OF_REPOSITORY, None, None, environment(&[("COPAL_PASSWORD_COMMAND", "echo no; exit 3")]));
    assert!(matches!(sources.existing(&mut nobody()), Err(SecretError::CommandFailed(..))));
    let sources = Sources::new(&OF_REPOSITORY, None, None, environment(&[("COPAL_PASSWORD_COMMAND", "yes")]));
    assert!(matches!(sources.existing(&mut nobody()), Err(SecretError::Long { .. })));
}

#[test]
fn one_line_end_of_a_file_is_dropped_and_no_more() {
    for (text, word) in [("a\n", "a"), ("a\r\n", "a"), ("a", "a"), ("a\n\n", "a\n"), (" a ", " a ")] {
        let (_kept, path) = file(text);
        assert_eq!(opened(&Sources::new(&OF_REPOSITORY, None, Some(path), |_| None)).1, word, "{text:?}");
    }
}

#[test]
fn empty_and_unreadable_secrets_are_refused_by_name() {
    let (_kept, path) = file("\n");
    let error = Sources::new(&OF_REPOSITORY, None, Some(path.clone()), |_| None).existing(&mut nobody()).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is empty", path.display()));
    std::fs::write(&path, b"\xff").unwrap();
    let error = Sources::new(&OF_REPOSITORY, None, Some(path), |_| None).existing(&mut nobody()).unwrap_err();
    assert!(matches!(error, SecretError::NotText { .. }));
    let error =
        Sources::new(&OF_REPOSITORY, Some("/nowhere/key".into()), None, |_| None).existing(&mut nobody()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /nowhere/key");
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let sources = Sources::new(&OF_REPOSITORY, None, None, environment(&[("COPAL_PASSWORD", "")]));
    assert!(matches!(sources.existing(&mut nobody()), Err(SecretError::Missing)));
    assert!(matches!(sources.first(&mut nobody()), Err(SecretError::Missing)));
}

#[test]
fn a_new_passphrase_is_typed_twice_and_an_old_one_once() {
    let none = Sources::default();
    assert_eq!(none.first(&mut Answers(vec!["a", "a"])).unwrap().expose(), "a");
    assert!(matches!(none.first(&mut Answers(vec!["a", "b"])), Err(SecretError::Differ)));
    assert!(matches!(none.first(&mut Answers(vec!["", "b"])), Err(SecretError::Empty { .. })));
    assert_eq!(none.existing(&mut Answers(vec!["a"])).unwrap().expose(), "a");
    assert!(matches!(added(None, &mut Answers(vec!["a", "b"])), Err(SecretError::Differ)));
}

#[test]
fn creating_never_reads_the_key_file_it_is_to_write() {
    let sources =
        Sources::new(&OF_REPOSITORY, Some("/nowhere/key".into()), None, environment(&[("COPAL_PASSWORD", "word")]));
    assert_eq!(sources.first(&mut nobody()).unwrap().expose(), "word");
}

#[test]
fn a_recovery_code_is_known_by_its_prefix() {
    let found = Sources::default().existing(&mut Answers(vec!["Copal-Recovery-1 ABCDEFG"])).unwrap();
    assert_eq!(found.kind(), SlotKind::RecoveryCode);
}

#[test]
fn a_recovery_code_is_known_in_any_form_that_people_type() {
    const CODE: &str = "copal-recovery-1-1W8124G-K2GAHC5-RR34D1P-70X3RFJ-08924CJ-2A9H750-MJMASC5-MQ2RSWH";
    let short = CODE.strip_prefix("copal-recovery-1-").unwrap();
    let typed = short.to_lowercase().replace('-', " ").replace('0', "o").replace('1', "l");
    let long = CODE.replace('-', " ").to_uppercase();
    let mistyped = typed.replace('h', "j");
    for (text, kind) in [
        (CODE, SlotKind::RecoveryCode),
        (short, SlotKind::RecoveryCode),
        (&typed, SlotKind::RecoveryCode),
        (&long, SlotKind::RecoveryCode),
        (&mistyped, SlotKind::Passphrase),
        ("hunter2", SlotKind::Passphrase),
    ] {
        let found = Credential::read(text.as_bytes(), SlotKind::Passphrase, "the passphrase").unwrap();
        assert_eq!(found.kind(), kind, "{text}");
        assert_eq!(decode_recovery(found.expose()).is_ok(), kind == SlotKind::RecoveryCode, "{text}");
    }
}

#[test]
fn a_credential_is_never_printed() {
    let found = Sources::default().existing(&mut Answers(vec!["hunter2"])).unwrap();
    assert_eq!(format!("{found:?}"), "Credential(Passphrase, ..)");
}
