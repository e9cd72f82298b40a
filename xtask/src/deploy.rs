//! Deploy: the chart in `deploy/` renders what its page says, and the page leads from nothing to a restored file.

use std::process::Command;

use crate::command::{build_programs, count, target, workspace};
use crate::environment::environment;
use crate::tally::Tally;
use crate::tools;

/// Runs the chart's tests; their last line is `N passed, M failed`.
pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up_deploy()?;
    let folder = workspace().join("deploy/tests");
    let python = environment("deploy-tools", &folder.join("requirements.txt"))?.join("python");
    build_programs()?;
    let tools = target().join("tools");
    let mut tests = Command::new(python);
    tests.arg(folder.join("test_chart.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("HELM", tools.join("helm")).env("KUBECONFORM", tools.join("kubeconform"));
    let tally = count(tests.env("COPAL", target().join("debug/copal")))?;
    if tally == Tally::default() { Err("the chart's tests reported no count".to_owned()) } else { Ok(tally) }
}
