//! Streams: a file of a snapshot for Python, and a file of Python's for a backup.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use copal_client::browse::{ContentError, FileReader};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raised_at;

/// The bytes of a file in a snapshot. The package's `File` gives it Python's methods.
#[pyclass(frozen, module = "copal._copal")]
pub(crate) struct Reader {
    path: String,
    file: Mutex<FileReader>,
    /// The file's size in bytes.
    #[pyo3(get)]
    size: u64,
}

impl Reader {
    pub(crate) fn new(path: String, file: FileReader) -> Self {
        Self { path, size: file.size(), file: Mutex::new(file) }
    }
}

#[pymethods]
impl Reader {
    /// Up to `length` bytes; fewer only at the end.
    fn read<'py>(&self, py: Python<'py>, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = py.detach(|| {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let mut bytes = Vec::new();
            (&mut *file).take(length as u64).read_to_end(&mut bytes).map(|_| bytes)
        });
        match read {
            Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
            Err(error) => Err(match error.downcast::<ContentError>() {
                Ok(error) => raised_at(&self.path, error.into()),
                Err(error) => PyOSError::new_err(error.to_string()),
            }),
        }
    }

    /// Goes to an offset from the start (0), from here (1) or from the end (2); gives the new place.
    fn seek(&self, offset: i64, whence: u8) -> PyResult<u64> {
        let to = match whence {
            0 => SeekFrom::Start(offset.try_into().map_err(|_| PyOSError::new_err("there is nothing before a file"))?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(PyValueError::new_err("whence is 0, 1 or 2")),
        };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(to).map_err(|error| PyOSError::new_err(error.to_string()))
    }
}

/// An object of Python's that has `read(size)` and gives bytes.
pub(crate) struct Given(pub(crate) Py<PyAny>);

impl Read for Given {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let given = self.0.call_method1(py, "read", (buffer.len(),))?;
            let bytes =
                given.bind(py).cast::<PyBytes>().map_err(|_| io::Error::other("read() gave no bytes"))?.as_bytes();
            let into =
                buffer.get_mut(..bytes.len()).ok_or_else(|| io::Error::other("read() gave more than asked for"))?;
            into.copy_from_slice(bytes);
            Ok(bytes.len())
        })
    }
}
