//! The devices of this machine that a run can be asked for, and why one of them cannot compute it.

use super::{DeviceChoice, SetupError};

/// A device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// How a run asks for it.
    pub choice: DeviceChoice,
    /// Its name for people.
    pub name: String,
    /// Why it cannot reconstruct, as the end of a sentence; `None` where it can.
    pub why_not: Option<String>,
}

/// The choices that every machine has: known at once.
pub fn host_devices() -> Vec<Device> {
    let device = |choice, name: &str| Device { choice, name: name.into(), why_not: None };
    vec![device(DeviceChoice::Auto, "auto"), device(DeviceChoice::Cpu, "CPU")]
}

/// All choices: those of every machine, then each CUDA device that is found. Looking for them takes a fraction of a
/// second each.
pub fn available_devices() -> Vec<Device> {
    let mut devices = host_devices();
    devices.extend(cuda_devices().unwrap_or_default());
    devices
}

/// Refuses a device that cannot reconstruct; nothing falls back in silence.
pub(super) fn check_device(choice: DeviceChoice) -> Result<(), SetupError> {
    let DeviceChoice::Cuda(number) = choice else { return Ok(()) };
    let reason = match cuda_devices().map(|devices| devices.into_iter().find(|device| device.choice == choice)) {
        Err(reason) => format!("CUDA device {number} cannot be used: {reason}"),
        Ok(None) => format!("there is no CUDA device {number} on this machine"),
        Ok(Some(Device { why_not: None, .. })) => return Ok(()),
        Ok(Some(Device { name, why_not: Some(reason), .. })) => {
            format!("{name} (CUDA device {number}) was found, but {reason}")
        }
    };
    Err(SetupError::Settings(format!("{reason}; use --device cpu")))
}

/// The CUDA devices, or why there are none.
#[cfg(feature = "cuda")]
fn cuda_devices() -> Result<Vec<Device>, String> {
    let devices = crate::cuda::devices().map_err(|error| error.to_string())?;
    let device = |info: crate::cuda::DeviceInfo| Device {
        choice: DeviceChoice::Cuda(info.number),
        name: info.name,
        why_not: Some("there is no projector for it yet".into()),
    };
    Ok(devices.into_iter().map(device).collect())
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Result<Vec<Device>, String> {
    Err("this program was built without its feature `cuda`".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_that_is_listed_can_be_used_or_says_why_not() {
        let devices = available_devices();
        assert_eq!(devices[..2], host_devices());
        for device in &devices {
            match (&device.why_not, check_device(device.choice)) {
                (None, outcome) => assert_eq!(outcome, Ok(())),
                (Some(reason), outcome) => assert!(outcome.unwrap_err().to_string().contains(reason)),
            }
        }
        assert!(check_device(DeviceChoice::Cuda(devices.len())).is_err(), "no such device");
    }
}
