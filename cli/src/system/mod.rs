//! System: everything of the command that differs between operating systems. Mounts have a module of their own
//! (`commands/mount/system`).

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod not_linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use linux::{nameless, tell_supervisor};
#[cfg(not(target_os = "linux"))]
pub use not_linux::{nameless, tell_supervisor};
#[cfg(unix)]
pub use unix::{
    SAVES_ELSEWHERE, SCHEDULES, SHELL, USER, apart, end_all, guarded, has_group, has_terminal, home, is_input_output,
    is_root, kill_all, lock_file, new_file, on_end, open_rights, open_terminal, open_to_all, output, own_configuration,
    system_configuration,
};
#[cfg(windows)]
pub use windows::{
    SAVES_ELSEWHERE, SCHEDULES, SHELL, USER, apart, end_all, guarded, has_group, has_terminal, home, is_input_output,
    is_root, kill_all, lock_file, new_file, on_end, open_rights, open_terminal, open_to_all, output, own_configuration,
    system_configuration,
};
