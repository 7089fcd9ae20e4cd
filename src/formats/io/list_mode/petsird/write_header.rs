//! The bytes of a header, model 0.12. A type of modules is one module of crystals of one size that follow each other by their
//! numbers, each with its own position, so their numbers remain. There is one energy bin, of all energies.

use super::MODEL;
use crate::data::{ListMetadata, TofMeasurement};
use crate::scanner::{Crystal, Cylinder};

/// Most crystals of a scanner whose efficiencies are written: those of all pairs take 64 MiB then.
pub const MAX_WITH_EFFICIENCIES: usize = 1 << 12;
/// Edges of the one energy bin, keV: below the first and above the second there is no energy of a photon of annihilation.
const ENERGIES_KEV: [f32; 2] = [0.0, 1022.0];
/// Bins of time of flight in a FWHM, if time of flight is a number.
const BINS_IN_FWHM: f64 = 10.0;
/// Most bins that are made of it.
const MAX_BINS: f64 = 4096.0;

/// Bytes as yardl writes them.
#[derive(Debug, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// Writes an unsigned number.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Writes a number, or a case of an enumeration.
    fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn float(&mut self, value: f64) {
        self.0.extend_from_slice(&(value as f32).to_le_bytes());
    }

    /// Writes numbers with their count.
    fn floats(&mut self, values: impl ExactSizeIterator<Item = f64>) {
        self.number(values.len() as u64);
        values.for_each(|value| self.float(value));
    }

    /// Writes a list of `num` items.
    fn list(&mut self, num: usize, mut item: impl FnMut(&mut Self, usize)) {
        self.number(num as u64);
        (0..num).for_each(|index| item(self, index));
    }

    /// Writes an item for each pair of types t₁ ≥ t₂.
    pub fn pairs(&mut self, num_types: usize, mut item: impl FnMut(&mut Self, usize, usize)) {
        self.list(num_types, |bytes, t1| bytes.list(t1 + 1, |bytes, t2| item(bytes, t1, t2)));
    }
}

/// Returns the first crystal and the number of crystals of each run of one size.
pub fn runs_of_one_size(crystals: &[Crystal]) -> Vec<[usize; 2]> {
    let mut end = 0;
    let run = |crystals: &[Crystal]| {
        end += crystals.len();
        [end - crystals.len(), crystals.len()]
    };
    crystals.chunk_by(|a, b| a.size_mm == b.size_mm).map(run).collect()
}

/// Returns the edges of time-of-flight bins: the scanner's, or bins of a tenth of the FWHM over its window.
pub fn tof_edges(tof: &TofMeasurement) -> Vec<f64> {
    if tof.edges_mm.len() > 2 {
        return tof.edges_mm.clone();
    }
    let [first, last] = tof.window_mm;
    let num = ((last - first) / tof.fwhm_mm * BINS_IN_FWHM).ceil().clamp(2.0, MAX_BINS);
    (0..=num as usize).map(|edge| first + (last - first) * edge as f64 / num).collect()
}

/// Returns everything before the time blocks.
pub fn header(facts: &ListMetadata, runs: &[[usize; 2]], edges_mm: Option<&[f64]>) -> Vec<u8> {
    let mut bytes = Bytes(super::MAGIC.to_vec());
    bytes.0.extend_from_slice(&super::BINARY_VERSION.to_le_bytes());
    bytes.text(MODEL.trim_end());
    let detectors = &facts.detectors;
    bytes.text(detectors.name());
    bytes.list(runs.len(), |bytes, ty| modules(bytes, &detectors.crystals()[runs[ty][0]..][..runs[ty][1]]));
    // No volumes that do not detect, no materials, no alignment, no collimator.
    bytes.0.extend_from_slice(&[0; 4]);
    let [radius, height] = detectors.extent_mm();
    // One bin is no time of flight; its edges are then all places between the scanner's crystals.
    let longest = radius.hypot(height);
    let edges = edges_mm.map_or_else(|| vec![-longest, longest], <[f64]>::to_vec);
    bytes.pairs(runs.len(), |bytes, _, _| bytes.floats(edges.iter().copied()));
    let fwhm = facts.tof.as_ref().map_or(2.0 * longest, |tof| tof.fwhm_mm);
    bytes.pairs(runs.len(), |bytes, _, _| bytes.float(fwhm));
    bytes.list(runs.len(), |bytes, _| bytes.floats(ENERGIES_KEV.iter().map(|energy| f64::from(*energy))));
    // Their resolution is not known. No singles: no level, no table, no edges, policy "none".
    bytes.0.extend_from_slice(&[0; 5]);
    // Coincidences and delayed ones by another policy than those that have names; none of three or four photons.
    bytes.signed(4);
    bytes.signed(4);
    bytes.0.extend_from_slice(&[0; 2]);
    efficiencies(&mut bytes, facts, runs);
    // No exam.
    bytes.number(0);
    bytes.0
}

/// Writes a type of modules: one module.
fn modules(bytes: &mut Bytes, crystals: &[Crystal]) {
    let [depth, tangential, axial] = crystals[0].size_mm.map(|side| 0.5 * side);
    for corner in 0..8 {
        let sign = |bit: usize| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
        [sign(0) * depth, sign(1) * tangential, sign(2) * axial].into_iter().for_each(|value| bytes.float(value));
    }
    // Material 0.
    bytes.number(0);
    bytes.list(crystals.len(), |bytes, index| {
        let Crystal { centre_mm, axes, .. } = &crystals[index];
        for row in 0..3 {
            axes.iter().for_each(|axis| bytes.float(axis[row]));
            bytes.float(centre_mm[row]);
        }
    });
    // No elements that do not detect. The module stays where it is.
    bytes.number(0);
    bytes.list(1, |bytes, _| {
        for index in 0..12 {
            bytes.float(f64::from(index % 5 == 0));
        }
    });
}

/// Writes the detection efficiencies of all pairs; only ones for single crystals if these are unknown or too many.
fn efficiencies(bytes: &mut Bytes, facts: &ListMetadata, runs: &[[usize; 2]]) {
    bytes.text("");
    bytes.float(1.0);
    bytes.list(runs.len(), |bytes, ty| bytes.floats((0..runs[ty][1]).map(|_| 1.0)));
    // The one module of each type is in coincidence with those of all, itself too: group 0.
    bytes.pairs(runs.len(), |bytes, _, _| bytes.list(1, |bytes, _| bytes.list(1, |bytes, _| bytes.signed(0))));
    if !are_efficiencies_written(facts) {
        bytes.number(0);
        return;
    }
    let cylinder = facts.sampling.and_then(|sampling| Some((sampling, Cylinder::recognise(&facts.detectors).ok()?)));
    let efficiency = |pair: [u32; 2]| {
        let is_outside = cylinder.as_ref().is_some_and(|(sampling, cylinder)| {
            let (bin, half) = (cylinder.bin(pair), (sampling.num_tangential / 2) as i32);
            let tangential = -half..sampling.num_tangential as i32 - half;
            !tangential.contains(&bin.tangential) || bin.ring1.abs_diff(bin.ring2) as usize > sampling.max_ring_difference
        });
        if is_outside || pair[0] == pair[1] {
            0.0
        } else {
            facts.efficiency.as_ref().map_or(1.0, |efficiency| efficiency.of(pair))
        }
    };
    bytes.pairs(runs.len(), |bytes, t1, t2| {
        bytes.list(1, |bytes, _| {
            let [[first1, num1], [first2, num2]] = [runs[t1], runs[t2]];
            bytes.list(num1, |bytes, row| {
                bytes.floats((0..num2).map(|column| f64::from(efficiency([(first1 + row) as u32, (first2 + column) as u32]))));
            });
            bytes.signed(0);
        });
    });
}

/// Returns true if efficiencies are known and not too many.
pub fn are_efficiencies_written(facts: &ListMetadata) -> bool {
    (facts.efficiency.is_some() || facts.sampling.is_some()) && facts.detectors.crystals().len() <= MAX_WITH_EFFICIENCIES
}
