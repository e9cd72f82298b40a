"""Tells the count as the project's own commands read it. A skipped test counts as failed: nothing here may be switched off."""


def pytest_terminal_summary(terminalreporter):
    told = {kind: len(reports) for kind, reports in terminalreporter.stats.items()}
    failed = sum(told.get(kind, 0) for kind in ("failed", "error", "skipped", "xfailed", "xpassed"))
    terminalreporter.ensure_newline()
    terminalreporter.write_line(f"{told.get('passed', 0)} passed, {failed} failed")
