//! Scanners and devices by their names.

use crate::plan::{Device, DeviceChoice, available_devices};
use crate::scanner;
use crate::scanner::{CrystalRing, Scanner, find_ring, rings};

/// The scanner of the catalogue with this name.
pub fn known_scanner(name: &str) -> Result<&'static Scanner, String> {
    scanner::find(name).ok_or_else(|| {
        let names: Vec<&str> = scanner::catalogue().iter().map(|scanner| scanner.name.as_str()).collect();
        format!("there is no scanner '{name}'; known are {}", names.join(", "))
    })
}

/// A ring by its name.
pub fn known_ring(name: &str) -> Result<&'static CrystalRing, String> {
    find_ring(name).ok_or_else(|| {
        let names: Vec<&str> = rings().iter().map(|ring| ring.name.as_str()).collect();
        format!("there is no ring of crystals '{name}'; known are {}", names.join(", "))
    })
}

/// The CUDA device to measure; where none was named the first one, if it can be used.
pub fn cuda_device(choice: DeviceChoice) -> Option<usize> {
    if choice == DeviceChoice::Auto {
        let is_usable = |device: &Device| device.choice == DeviceChoice::Cuda(0) && device.why_not.is_none();
        return available_devices().iter().any(is_usable).then_some(0);
    }
    if let DeviceChoice::Cuda(number) = choice { Some(number) } else { None }
}
