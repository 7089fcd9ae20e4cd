//! Durations of launches by the clock of the device.

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaEvent, CudaStream, sys};

use super::driver::guarded;
use crate::cuda::error::CudaError;

/// Begin and end of the launches of each projection since the last reading.
#[derive(Default)]
pub(in crate::cuda) struct LaunchTimer(Mutex<Vec<[CudaEvent; 2]>>);

/// Marks a moment on the device.
fn mark(stream: &Arc<CudaStream>) -> Result<CudaEvent, CudaError> {
    guarded("mark a launch", || stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)))
}

impl LaunchTimer {
    /// Does the launches of a projection between two marks.
    pub fn measure<T, E: From<CudaError>>(
        &self,
        stream: &Arc<CudaStream>,
        launches: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let begin = mark(stream)?;
        let done = launches()?;
        let end = mark(stream)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push([begin, end]);
        Ok(done)
    }

    /// Returns the seconds of all projections since the last call, once they are done.
    pub fn take_secs(&self) -> Result<f64, CudaError> {
        let marks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let of_one = |[begin, end]: &[CudaEvent; 2]| guarded("measure a launch", || begin.elapsed_ms(end));
        marks.iter().map(of_one).try_fold(0.0, |sum, milliseconds| Ok(sum + 1e-3 * f64::from(milliseconds?)))
    }
}
