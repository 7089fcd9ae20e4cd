//! Scanners and devices by their names.

use crate::bench::BenchGpu;
use crate::plan::{DeviceChoice, has_cuda};
use crate::scanner;
use crate::scanner::{CrystalRing, Scanner, find_ring, rings};

pub fn known_scanner(name: &str) -> Result<&'static Scanner, String> {
    let names = || scanner::catalogue().iter().map(|scanner| scanner.name.as_str()).collect();
    scanner::find(name).ok_or_else(|| unknown("scanner", name, names()))
}

pub fn known_ring(name: &str) -> Result<&'static CrystalRing, String> {
    let names = || rings().iter().map(|ring| ring.name.as_str()).collect();
    find_ring(name).ok_or_else(|| unknown("ring of crystals", name, names()))
}

fn unknown(kind: &str, name: &str, known: Vec<&str>) -> String {
    format!("there is no {kind} '{name}'; known are {}", known.join(", "))
}

/// Returns the CUDA device to measure: the named one, or else the first one, if it is usable.
pub fn cuda_device(choice: DeviceChoice) -> Option<usize> {
    if choice == DeviceChoice::Auto {
        return has_cuda().then_some(0);
    }
    if let DeviceChoice::Cuda(number) = choice { Some(number) } else { None }
}

/// Returns the GPUs to measure, each once: the named ones, and for `auto` the first CUDA device, if it is usable.
pub fn gpus_to_measure(choices: &[DeviceChoice]) -> Vec<BenchGpu> {
    let gpu = |choice: &DeviceChoice| match *choice {
        DeviceChoice::WebGpu(number) => Some(BenchGpu::WebGpu(number)),
        choice => cuda_device(choice).map(BenchGpu::Cuda),
    };
    let mut gpus = Vec::new();
    for gpu in choices.iter().filter_map(gpu) {
        if !gpus.contains(&gpu) {
            gpus.push(gpu);
        }
    }
    gpus
}
