//! Calls of the driver, with its failures as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, ValidAsZeroBits, sys};

use crate::cuda::error::CudaError;

/// Name of the first call.
pub(in crate::cuda) const START: &str = "start";

/// Calls the driver. cudarc panics if the library of the driver lacks a function; the panic becomes an error here.
pub(in crate::cuda) fn guarded<T>(doing: &'static str, call: impl FnOnce() -> Result<T, DriverError>) -> Result<T, CudaError> {
    // After a panic the values that the call has changed are only dropped.
    let outcome = catch_unwind(AssertUnwindSafe(|| call().map_err(|error| describe(doing, error))));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(CudaError::Library { doing, message: text.unwrap_or("no message").to_owned() })
    })
}

fn describe(doing: &'static str, error: DriverError) -> CudaError {
    match error.0 {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => CudaError::NoDevice,
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => CudaError::OutOfMemory { doing },
        sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => CudaError::TimedOut { doing },
        code => {
            let words = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
            let message = format!("{words} ({code:?})");
            if doing == START { CudaError::NoStart { message } } else { CudaError::Driver { doing, message } }
        }
    }
}

/// Reserves an array of zeros.
pub(in crate::cuda) fn zeros<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    len: usize,
) -> Result<CudaSlice<T>, CudaError> {
    guarded("reserve memory", || stream.alloc_zeros(len))
}

/// Returns a table on the device; of an empty one a value takes the place.
pub(in crate::cuda) fn table<T: DeviceRepr + Clone>(
    stream: &Arc<CudaStream>,
    values: &[T],
    if_empty: T,
) -> Result<CudaSlice<T>, CudaError> {
    let values = if values.is_empty() { std::slice::from_ref(&if_empty) } else { values };
    guarded("copy a table to the device", || stream.clone_htod(values))
}

/// Returns an array of tables of one length, one behind the other.
pub(in crate::cuda) fn tables<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    tables: &[&[T]],
) -> Result<CudaSlice<T>, CudaError> {
    let mut all = zeros(stream, tables.iter().map(|table| table.len()).sum())?;
    let mut first = 0;
    for table in tables {
        let range = first..first + table.len();
        first = range.end;
        guarded("copy a table to the device", || stream.memcpy_htod(*table, &mut all.slice_mut(range)))?;
    }
    Ok(all)
}

/// Sets an array to zero.
pub(in crate::cuda) fn clear<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    values: &mut CudaSlice<T>,
) -> Result<(), CudaError> {
    guarded("clear memory", || stream.memset_zeros(values))
}

/// Copies values from the device, after all work on the stream.
pub(in crate::cuda) fn copied<T: DeviceRepr>(
    stream: &Arc<CudaStream>,
    doing: &'static str,
    values: &impl DevicePtr<T>,
) -> Result<Vec<T>, CudaError> {
    guarded(doing, || {
        let values = stream.clone_dtoh(values)?;
        stream.synchronize()?;
        Ok(values)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_the_driver_library_is_an_error() {
        let outcome = guarded("test", || -> Result<(), DriverError> { panic!("missing symbol {}", "cuInit") });
        assert_eq!(outcome, Err(CudaError::Library { doing: "test", message: "missing symbol cuInit".into() }));
    }
}
