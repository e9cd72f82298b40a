//! `run`: runs profiles of the configuration, each once and never twice at the same time.

mod hook;
mod line;
mod lock;
mod mail;
mod metrics;
mod notice;
mod otlp;
mod past;
mod post;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::context::Context;
use super::signals::watch_signals;
use super::{backup, check, config, copy, forget, prune};
use crate::args::backup::Backup;
use crate::args::copy::{Copy, Making};
use crate::args::forget::{Forget, Prune};
use crate::args::run::Run;
use crate::config::{Act, Config, Profile};
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::run::{ActReport, ProfileReport};
use crate::secrets::OF_TARGET;
use crate::system::tell_supervisor;
use hook::Told;
use lock::Lock;
use past::Past;

pub(super) fn run(context: &Context<'_>, options: &Run) -> Result<Exit, Failure> {
    let config = config::read(context.global)?;
    let interrupted = watch_signals(context.report, || None)?;
    tell_supervisor("READY=1");
    let mut worst = Exit::Done;
    for profile in config.to_run(&options.profiles)? {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Exit::Interrupted);
        }
        // Every profile is reported, even one that could not begin.
        let report = one(context, profile, options.dry_run, &interrupted);
        if !options.dry_run {
            told(context, &config, profile, &report);
        }
        worst = worst.or_worse(report.exit);
        // If the report cannot be written (a closed pipe, a full disk), the next profiles still run.
        if let Err(failure) = context.report.answer(&report) {
            worst = worst.or_worse(context.report.fail(&failure)).or_worse(Exit::Failed);
        }
        if report.exit == Exit::Interrupted {
            break;
        }
    }
    if !options.dry_run {
        for profile in config.profiles() {
            notice::by_clock(&Context::new(&config::joined(context, profile), context.report), &config, profile);
        }
    }
    tell_supervisor("STOPPING=1");
    Ok(worst)
}

/// Sends the notifications and metrics of one profile's run.
fn told(context: &Context<'_>, config: &Config, profile: &Profile, report: &ProfileReport) {
    let global = config::joined(context, profile);
    let context = Context::new(&global, context.report);
    notice::of_run(&context, config, profile, report);
    let saved = context.places().map(|places| Past::read(&past::path(places.state(), &profile.name)).saved);
    if report.exit != Exit::Busy {
        let gauges = metrics::gauges(report, saved.unwrap_or_default());
        metrics::publish(&context, profile, &gauges);
        otlp::publish(&context, profile, report, &gauges);
    }
}

/// Runs a profile, unless another process does so.
fn one(context: &Context<'_>, profile: &Profile, is_dry_run: bool, interrupted: &AtomicBool) -> ProfileReport {
    let started = Instant::now();
    let mut report = ProfileReport::new(&profile.name, is_dry_run);
    let global = config::joined(context, profile);
    let context = Context::new(&global, context.report);
    let locked = match is_dry_run {
        // It changes nothing, and a run by the clock must not be left out because of it.
        true => Ok(None),
        false => context.places().and_then(|places| Lock::take(places.state(), &profile.name)).map(Some),
    };
    match locked {
        Err(failure) => report.fail(context.report.fail(&failure), failure.value()),
        Ok(_lock) => {
            for act in profile.acts() {
                if interrupted.load(Ordering::Relaxed) {
                    report.exit = Exit::Interrupted;
                    break;
                }
                if is_dry_run && act == Act::Check {
                    continue;
                }
                tell_supervisor(&format!("STATUS={act} of profile {}", profile.name));
                report.add(done(&context, profile, act, is_dry_run, interrupted));
                if !matches!(report.exit, Exit::Done | Exit::Partial) {
                    break;
                }
            }
        }
    }
    report.seconds = started.elapsed().as_secs_f64();
    let is_bad = !matches!(report.exit, Exit::Done | Exit::Partial | Exit::Busy | Exit::Interrupted);
    if is_bad && !is_dry_run {
        let exit_code = Some(report.exit.code());
        let told = Told { hook: "on-failure", profile: &profile.name, act: None, exit_code, report: Some(&report) };
        if let Err(failure) = hook::call(profile.hooks.as_ref(), &told, interrupted) {
            context.report.fail(&failure);
        }
    }
    report
}

/// Runs one act between its hooks, and keeps its report.
fn done(context: &Context<'_>, profile: &Profile, act: Act, is_dry_run: bool, interrupted: &AtomicBool) -> ActReport {
    let (started, began) = (Instant::now(), jiff::Timestamp::now());
    let printer = context.report.taking();
    let acting = Context::new(context.global, &printer);
    let hooks = profile.hooks.as_ref().filter(|_| !is_dry_run);
    let (before, after) = (format!("before-{act}"), format!("after-{act}"));
    let told =
        Told { hook: &before, profile: &profile.name, act: Some(act), exit_code: None, report: None::<&ActReport> };
    let called = |told: &Told<'_, ActReport>| {
        hook::call(hooks, told, interrupted).map_err(|failure| match interrupted.load(Ordering::Relaxed) {
            // The hook was ended with the run: the profile has not failed.
            true => {
                context.report.warn(&failure.text());
                Failure::Interrupted
            }
            false => failure,
        })
    };
    let ended = called(&told).and_then(|()| {
        let ended = act_of(&acting, profile, act, is_dry_run);
        if act == Act::Copy { ended } else { ended.map_err(|failure| acting.with_repository(failure)) }
    });
    let mut report = ActReport::new(act, began, printer.taken());
    let note = |report: &mut ActReport, ended: Result<Exit, Failure>| match ended {
        // The act's result goes to this process. Only its other output goes to the closed one.
        Err(Failure::OutputClosed) => report.exit = report.exit.or_worse(Exit::Failed),
        Ok(exit) => report.exit = report.exit.or_worse(exit),
        Err(failure) => {
            report.exit = report.exit.or_worse(context.report.fail(&failure));
            report.error.get_or_insert_with(|| failure.value());
        }
    };
    note(&mut report, ended);
    report.own = report.exit;
    // The hook is told how long the act took. At the end its own time is added.
    report.seconds = started.elapsed().as_secs_f64();
    let exit_code = Some(report.exit.code());
    let told = Told { hook: &after, profile: &profile.name, act: Some(act), exit_code, report: Some(&report) };
    let cleaned = called(&told);
    note(&mut report, cleaned.map(|()| Exit::Done));
    report.seconds = started.elapsed().as_secs_f64();
    report
}

fn act_of(context: &Context<'_>, profile: &Profile, act: Act, dry_run: bool) -> Result<Exit, Failure> {
    match (act, profile) {
        (Act::Backup, Profile { backup: Some(options), .. }) => {
            // Otherwise the rules would in time forget every older snapshot that has the unreadable path.
            match backup::saved(context, &Backup { dry_run, ..options.clone() })? {
                (_, Some(path)) => Err(Failure::PathUnread { path }),
                (exit, None) => Ok(exit),
            }
        }
        (Act::Copy, Profile { copy: Some(options), .. }) => {
            let mut options = Copy { making: Making { dry_run, ..options.making }, ..options.clone() };
            // A secret in a variable replaces all that the file says about secrets, as for the profile's repository.
            if context.other(&context.global.without_secret(), &OF_TARGET).secrets().is_given() {
                (options.to.to_password_file, options.to.to_key_file) = (None, None);
            }
            copy::run(context, &options)
        }
        (Act::Forget, Profile { forget: Some(options), .. }) => {
            let mut options = Forget { dry_run, is_pruned_next: profile.prune.is_some(), ..options.clone() };
            // Unless the profile names hosts, clients, paths or a label, its rules apply to its own backups alone.
            if let (Some(saved), false) = (&profile.backup, options.narrow.names_series()) {
                options.source = Some(backup::one_source(context, saved)?);
            }
            forget::run(context, &options)
        }
        (Act::Prune, Profile { prune: Some(options), .. }) => prune::run(context, &Prune { dry_run, ..*options }),
        (Act::Check, Profile { check: Some(options), .. }) => check::run(context, options),
        _ => unreachable!("a profile has the acts that it lists"),
    }
}
