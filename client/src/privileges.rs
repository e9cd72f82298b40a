//! Privileges: lets tests run without those of root.

/// Runs something on a thread without the rights of root; the threads it starts have none either.
pub(crate) fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let drop_rights = || {
        if rustix::process::geteuid().is_root() {
            let (nobody, nogroup) = (rustix::process::Uid::from_raw(65_534), rustix::process::Gid::from_raw(65_534));
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_res_gid(nogroup, nogroup, nogroup).unwrap();
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            drop_rights();
            act()
        });
        thread.join().unwrap()
    })
}
