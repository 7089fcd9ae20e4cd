//! A result of work on a device.

use crate::data::Notice;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::plan::platform::Platform;
use crate::plan::platform::open::{choose_device, with_cpu_fallback};

/// A result of work on a device.
pub struct DeviceResult<T> {
    /// The result.
    pub result: T,
    /// The device in words.
    pub device: String,
    /// Notices about the choice of the device.
    pub notices: Vec<Notice>,
}

/// Does `work` on the requested device. For an automatic choice, it repeats the work on the processor, with a notice, if a GPU fails.
///
/// # Errors
/// A requested CUDA device is not usable; those of the work.
pub(in crate::plan) fn on_device<T>(
    choice: DeviceChoice,
    mut work: impl FnMut(&mut dyn Platform) -> Result<T, SetupError>,
) -> Result<DeviceResult<T>, SetupError> {
    let (mut done, notice) = with_cpu_fallback(choice, |choice| {
        let (mut platform, notices) = choose_device(choice)?;
        Ok(DeviceResult { device: platform.name(), result: work(&mut *platform)?, notices })
    })?;
    done.notices.extend(notice);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::BackendError;
    use crate::coded::PassedOn;
    use crate::montecarlo::TubesError;
    use crate::operator::OperatorError;
    use crate::task::Stopped;

    #[test]
    fn a_gpu_that_breaks_is_replaced_only_where_the_device_was_left_open() {
        let broken = || PassedOn::new("cuda.driver", "the GPU broke");
        let mut num_tried = 0;
        let found = on_device(DeviceChoice::Auto, |_| {
            num_tried += 1;
            if num_tried == 1 { Err(TubesError::Device(broken()).into()) } else { Ok(num_tried) }
        });
        let found = found.unwrap();
        assert_eq!((found.result, found.device.as_str()), (2, "CPU"));
        assert!(found.notices.iter().any(|notice| notice.text.contains("the GPU broke")));
        let work = |error: &dyn Fn() -> TubesError| on_device::<()>(DeviceChoice::Cpu, |_| Err(error().into())).err();
        assert_eq!(work(&|| TubesError::Device(broken())), Some(BackendError::Device(broken()).into()));
        assert_eq!(work(&|| TubesError::Stopped(Stopped)), Some(OperatorError::from(Stopped).into()));
    }
}
