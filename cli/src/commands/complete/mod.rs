//! Complete: what a shell offers for a half-written command line. Asks nothing, starts nothing, prints nothing else.

mod line;

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::ValueCompleter;
use clap_complete::env::{CompleteEnv, Shells};
use clap_complete::{ArgValueCompleter, CompletionCandidate, PathCompleter};

use crate::args::CommandLine;
use crate::args::repository::Completions;
use line::Line;

/// Answers a shell, if one asks.
pub(super) fn is_answered(arguments: &[OsString]) -> Result<bool, clap::Error> {
    // The words of the command line follow a "--"; the last one is being written.
    let words: Vec<OsString> = arguments.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let directory = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| command(&words)).var(VARIABLE).try_complete(arguments, directory.as_deref())
}

pub(super) fn script(options: &Completions) -> std::io::Result<Vec<u8>> {
    let name = options.shell.to_string();
    if name == "bash" {
        return Ok(BASH.as_bytes().to_vec());
    }
    let (shells, mut script) = (Shells::builtins(), Vec::new());
    let shell = shells.completer(&name).expect("the shells of both lists are the same");
    shell.write_registration(VARIABLE, "copal", "copal", "copal", &mut script)?;
    Ok(script)
}

fn command(words: &[OsString]) -> Command {
    fn each(command: Command, line: &Arc<Line>) -> Command {
        command.mut_args(|arg| with_values(arg, line)).mut_subcommands(|below| each(below, line))
    }
    each(CommandLine::command(), &Arc::new(Line::read(words)))
}

/// An option or operand with completions for its value, chosen by the value's name.
fn with_values(arg: Arg, line: &Arc<Line>) -> Arg {
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    let offers: fn(&Line, &str) -> Vec<Offer> = match name.as_str() {
        "SNAPSHOT" => |line, _| line.snapshots(),
        "SNAPSHOT[:PATH]" | "SNAPSHOT:PATH" | "A[:PATH]" | "B[:PATH]" => Line::places,
        "TAG" => |line, _| line.tags(),
        "PROFILE" => |line, _| line.profiles(),
        "FILE" | "PATH" | "REPOSITORY" => return arg.add(paths(PathCompleter::any)),
        "DIR" => return arg.add(paths(PathCompleter::dir)),
        _ => return arg,
    };
    let line = line.clone();
    arg.add(ArgValueCompleter::new(move |begun: &OsStr| {
        let begun = begun.to_str().unwrap_or_default();
        let fits = |offer: &Offer| offer.value.starts_with(begun) && is_plain(&offer.value);
        let candidate = |(at, offer): (usize, Offer)| {
            let help = Some(offer.help).filter(|help| !help.is_empty());
            CompletionCandidate::new(offer.value).help(help.map(Into::into)).display_order(Some(at))
        };
        offers(&line, begun).into_iter().filter(fits).enumerate().map(candidate).collect::<Vec<_>>()
    }))
}

/// Files of this machine. Names with special characters are left to the shell's own completion.
fn paths(of: fn() -> PathCompleter) -> ArgValueCompleter {
    ArgValueCompleter::new(move |begun: &OsStr| {
        let mut offers = of().complete(begun);
        offers.retain(|offer| offer.get_value().to_str().is_some_and(is_plain));
        offers
    })
}

/// A value that a shell may offer, and what it means.
struct Offer {
    value: String,
    help: String,
}

impl Offer {
    fn plain(value: String) -> Self {
        Self { value, help: String::new() }
    }
}

/// Whether a text has no special meaning to a shell or terminal: the name of a file or tag must not run a command.
fn is_plain(text: &str) -> bool {
    !text.starts_with('-') && text.chars().all(|sign| sign.is_alphanumeric() || "._-+@%,:/".contains(sign))
}

const VARIABLE: &str = "COPAL_COMPLETE";

/// Clap's script, changed for colons, which bash makes words of their own.
const BASH: &str = r#"_copal() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word before= at=-1 i prefix IFS=$'\013'
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((at >= 0)) && [[ $line != [[:space:]]* && ($word == :* || $before == *:) ]]; then
            ((i == COMP_CWORD)) && word=$line
            words[at]+=$word
        else
            line=${line#"${line%%[![:space:]]*}"}
            ((i == COMP_CWORD)) && word=$line
            words[++at]=$word
        fi
        line=${line#"$word"}
        before=$word
    done
    COMPREPLY=($(_CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$at" COPAL_COMPLETE=bash copal -- "${words[@]}" 2> /dev/null))
    if [[ $COMP_WORDBREAKS == *:* && ${words[at]} == *:* ]]; then
        prefix=${words[at]%"${words[at]##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
    fi
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/:] ]] && compopt -o nospace 2> /dev/null
    return 0
}
complete -o bashdefault -o default -o nosort -F _copal copal 2> /dev/null || complete -o bashdefault -o default -F _copal copal
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_to_a_shell_or_terminal_is_not_offered() {
        for text in ["latest:Documents/", "4f2a90c1", "übung", "a.b-c_d", "me@host"] {
            assert!(is_plain(text), "{text}");
        }
        for text in ["$(x)", "a b", "a;b", "`x`", "a\nb", "\u{1b}[2J", "-rf", "~", "a*", "\u{202e}", "a'b", "x\\", "!1"]
        {
            assert!(!is_plain(text), "{text:?}");
        }
    }
}
