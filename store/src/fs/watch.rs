//! Lets this crate's tests see the order of system calls, and make some fail.

/// A system call that matters for durability or create-only.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    NewFile,
    Write,
    SyncFile,
    SyncDirectory,
    MakeDirectory,
    ReadDirectory,
    Link,
    Rename,
    Unlink,
}

#[cfg(not(test))]
pub(super) use unwatched::Watch;
#[cfg(test)]
pub(super) use watched::Watch;

#[cfg(not(test))]
mod unwatched {
    use super::Step;
    use std::io;

    #[derive(Debug, Default)]
    pub(in crate::fs) struct Watch {}

    impl Watch {
        #[inline]
        pub(in crate::fs) fn step(&self, _step: Step, _path: &str) -> io::Result<()> {
            #[cfg(feature = "faults")]
            if _step != Step::ReadDirectory {
                crate::faults::point();
            }
            #[cfg(feature = "faults")]
            if matches!(_step, Step::NewFile | Step::Write | Step::MakeDirectory | Step::Link | Step::SyncFile) {
                crate::faults::room()?;
            }
            Ok(())
        }

        #[inline]
        pub(in crate::fs) fn look(&self, _path: &str) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod watched {
    use super::Step;
    use crate::system::Errno;
    use std::collections::HashMap;
    use std::io;
    use std::sync::Mutex;

    #[derive(Debug, Default)]
    pub(in crate::fs) struct Watch {
        seen: Mutex<Vec<(Step, String)>>,
        refused: Mutex<Vec<(Step, Errno)>>,
        hidden: Mutex<HashMap<String, u32>>,
    }

    impl Watch {
        pub(in crate::fs) fn step(&self, step: Step, path: &str) -> io::Result<()> {
            self.seen.lock().expect("no panic here").push((step, path.to_owned()));
            match self.refused.lock().expect("no panic here").iter().find(|(refused, _)| *refused == step) {
                Some((_, errno)) => Err((*errno).into()),
                None => Ok(()),
            }
        }

        /// Fails for a path that is hidden.
        pub(in crate::fs) fn look(&self, path: &str) -> io::Result<()> {
            match self.hidden.lock().expect("no panic here").get_mut(path) {
                Some(looks) if *looks > 0 => {
                    *looks -= 1;
                    Err(Errno::NOENT.into())
                }
                _ => Ok(()),
            }
        }

        /// Has a path seem missing for so many looks at it.
        pub(in crate::fs) fn hide(&self, path: &str, looks: u32) {
            self.hidden.lock().expect("no panic here").insert(path.to_owned(), looks);
        }

        /// The steps since the last call of this function.
        pub(in crate::fs) fn take(&self) -> Vec<(Step, String)> {
            std::mem::take(&mut self.seen.lock().expect("no panic here"))
        }

        pub(in crate::fs) fn refuse(&self, step: Step, errno: Errno) {
            self.refused.lock().expect("no panic here").push((step, errno));
        }

        pub(in crate::fs) fn refuse_nothing(&self) {
            self.refused.lock().expect("no panic here").clear();
        }
    }
}
