//! The engine in its hosts: the same bytes and the same refusals in the command, the browser and the readers.

mod browser;
mod hostile;
mod restores;
mod session_limits;
mod shelf;
