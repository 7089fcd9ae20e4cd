//! The device that follows the histories of tubes of response.

use crate::data::Notice;
use crate::montecarlo::FollowHistories;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::plan::platform::open::{choose_device, with_cpu_fallback};

/// What was done on a device.
pub struct DeviceResult<T> {
    /// The result.
    pub result: T,
    /// The device in words.
    pub device: String,
    /// What the user should know of its choice.
    pub notices: Vec<Notice>,
}

/// Does `work` with what follows histories on the device asked for. Where that was left open and a GPU breaks, it is done again
/// on the processor, and a notice says why.
///
/// # Errors
/// A CUDA device was asked for and cannot be used; those of the work.
pub(in crate::plan) fn with_histories_followed<T>(
    choice: DeviceChoice,
    mut work: impl FnMut(&mut dyn FollowHistories) -> Result<T, SetupError>,
) -> Result<DeviceResult<T>, SetupError> {
    let on_device = |choice| -> Result<DeviceResult<T>, SetupError> {
        let (mut platform, notices) = choose_device(choice)?;
        let device = platform.name();
        let result = work(&mut *platform.follow_histories()?)?;
        Ok(DeviceResult { result, device, notices })
    };
    let (mut followed, notice) = with_cpu_fallback(choice, on_device)?;
    followed.notices.extend(notice);
    Ok(followed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::BackendError;
    use crate::coded::PassedOn;
    use crate::montecarlo::CannotMakeTubes;
    use crate::operator::OperatorError;
    use crate::task::Stopped;

    #[test]
    fn a_gpu_that_breaks_is_replaced_only_where_the_device_was_left_open() {
        let broken = || PassedOn::new("cuda.driver", "the GPU broke");
        let mut num_tried = 0;
        let followed = with_histories_followed(DeviceChoice::Auto, |_| {
            num_tried += 1;
            if num_tried == 1 { Err(CannotMakeTubes::Device(broken()).into()) } else { Ok(num_tried) }
        });
        let followed = followed.unwrap();
        assert_eq!((followed.result, followed.device.as_str()), (2, "CPU"));
        assert!(followed.notices.iter().any(|notice| notice.text.contains("the GPU broke")));
        let work =
            |error: &dyn Fn() -> CannotMakeTubes| with_histories_followed::<()>(DeviceChoice::Cpu, |_| Err(error().into())).err();
        assert_eq!(work(&|| CannotMakeTubes::Device(broken())), Some(BackendError::Device(broken()).into()));
        assert_eq!(work(&|| CannotMakeTubes::Stopped(Stopped)), Some(OperatorError::from(Stopped).into()));
    }
}
