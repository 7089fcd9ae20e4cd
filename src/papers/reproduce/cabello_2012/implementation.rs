//! The paper's implementations: a device and the accumulation of its backprojection.

use super::plan::Scan;
use crate::operator::Accumulation;
use crate::reproduce::prelude::*;

/// One way to reconstruct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implementation {
    pub device: DeviceChoice,
    pub accumulation: Accumulation,
}

impl Implementation {
    /// Returns the reference of all comparisons: deterministic, on the device.
    pub fn reference(device: DeviceChoice) -> Self {
        Self { device, accumulation: Accumulation::Deterministic }
    }

    /// Returns the implementations whose images of a scan are compared, the reference first. The paper shows the points by only
    /// two.
    pub fn of_images(scan: Scan, device: DeviceChoice) -> Vec<Self> {
        let mut all = vec![Self::reference(device)];
        if device != DeviceChoice::Cpu {
            all.push(Self::reference(DeviceChoice::Cpu));
        }
        let ways: &[Accumulation] = match scan {
            Scan::Rods => {
                &[Accumulation::Reload, Accumulation::Atomic, Accumulation::RandomCentralAtomic, Accumulation::NonAtomic]
            }
            Scan::Ellipsoid => &[Accumulation::RandomCentralAtomic],
            Scan::Bed(_) => return vec![Self::reference(device)],
        };
        all.extend(ways.iter().map(|&accumulation| Self { device, accumulation }));
        all
    }

    /// Returns its name in the paper's images; the deterministic one corresponds to the CPU.
    pub fn paper_name(self, device: DeviceChoice) -> Option<&'static str> {
        match self.accumulation {
            _ if self == Self::reference(device) => Some("CPU-single-core"),
            Accumulation::RandomCentralAtomic => Some("GPU (SRM rand-at)"),
            Accumulation::NonAtomic => Some("GPU (hazard ignored)"),
            _ => None,
        }
    }

    /// Returns its part of the key of a measurement.
    pub fn key(self) -> String {
        format!("{}-{}", device::key(self.device), self.accumulation)
    }

    /// Returns its name in tables.
    pub fn title(self) -> String {
        format!("{}, {}", device::title(self.device), self.accumulation)
    }
}
