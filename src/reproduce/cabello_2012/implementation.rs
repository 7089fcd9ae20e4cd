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
    /// The images that all others are compared with: free of races, on the device.
    pub fn reference(device: DeviceChoice) -> Self {
        Self { device, accumulation: Accumulation::Deterministic }
    }

    /// Those whose images of a scan are compared, the reference first. The paper shows the points by two of them alone.
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

    /// Returns the paper's name of it, in images: the processor's is the one without a race.
    pub fn paper_name(self, device: DeviceChoice) -> Option<&'static str> {
        match self.accumulation {
            _ if self == Self::reference(device) => Some("CPU-single-core"),
            Accumulation::RandomCentralAtomic => Some("GPU (SRM rand-at)"),
            Accumulation::NonAtomic => Some("GPU (hazard ignored)"),
            _ => None,
        }
    }

    /// Its part of the key of a measurement.
    pub fn key(self) -> String {
        format!("{}-{}", device::key(self.device), self.accumulation)
    }

    /// Its name in tables.
    pub fn title(self) -> String {
        format!("{}, {}", device::title(self.device), self.accumulation)
    }
}
