//! Which owners of a file of tasks are alive: each holds a lock, which the kernel lets go when its process ends, however it ends.
//!
//! An owner's lock is a file of its own beside the database, with a number that is never used twice. Locks are tried and
//! taken, and the files of the dead removed, only inside a write transaction of the database, so two processes never look at
//! the same time.

use crate::sys::NotForChildren;
use ferromcp_engine::tasks::StoreError;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The lock of a living owner. It is let go when this is dropped.
pub(super) struct OwnerLock {
    /// A forked child would keep the lock for as long as it lives. Before the file, so that its number is given up first.
    _not_for_children: NotForChildren,
    _file: File,
    path: PathBuf,
}

impl OwnerLock {
    /// Takes the lock with this number; None when a living process holds it.
    pub(super) fn take(database: &Path, number: i64) -> Result<Option<Self>, StoreError> {
        let mut name = OsString::from(database);
        name.push(format!(".owner-{number}"));
        let path = PathBuf::from(name);
        let unavailable = |error| StoreError::Unavailable(format!("{}: {error}", path.display()));
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(unavailable)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _not_for_children: NotForChildren::new(file.as_fd()), _file: file, path })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unavailable(error)),
        }
    }

    /// Removes the file. If that fails it lies there until its number is looked at again, and does no harm.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
