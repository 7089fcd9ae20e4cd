//! The pairs of crystals of a ring as data, orbit by orbit.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::operator::{DataSpace, Subset};
use crate::scanner::{CrystalRing, Symmetry};

/// The pairs of crystals of a ring as data, orbit by orbit: `[orbit][symmetry]`, the datum being that of the image of the orbit's
/// first line of response under the symmetry. Where two symmetries give the same line only the first place has it, and the others
/// stay 0.
#[derive(Clone, Debug)]
pub struct CrystalPairs {
    num_symmetries: usize,
    num_lors: usize,
    /// The line of each place, `[orbit][symmetry]`.
    lors: Arc<Vec<u32>>,
    /// For each symmetry the first one of its line, for the orbits in which lines coincide; `None` where none do.
    firsts: Arc<Vec<Option<Vec<u16>>>>,
    /// The number of the symmetry g h, `[h][g]`.
    products: Arc<Vec<u16>>,
}

impl CrystalPairs {
    /// Finds the orbits of a ring under a group of its symmetries; the first is the identity.
    pub fn new(ring: &CrystalRing, symmetries: &[Symmetry]) -> Self {
        let num_symmetries = symmetries.len();
        let images: Vec<Vec<usize>> =
            symmetries.iter().map(|&g| (0..ring.num_crystals()).map(|c| ring.image_of_crystal(g, c)).collect()).collect();
        let (mut lors, mut firsts) = (Vec::with_capacity(ring.num_lors()), Vec::new());
        let mut is_known = vec![false; ring.num_lors()];
        for lor in 0..ring.num_lors() {
            if is_known[lor] {
                continue;
            }
            let [one, other] = ring.crystals_of(lor);
            let orbit: Vec<u32> = images.iter().map(|image| ring.lor(image[one], image[other]) as u32).collect();
            let first = |g: usize| orbit.iter().position(|lor| *lor == orbit[g]).unwrap_or(g) as u16;
            let first: Vec<u16> = (0..num_symmetries).map(first).collect();
            let is_free = first.iter().enumerate().all(|(g, first)| g == usize::from(*first));
            orbit.iter().for_each(|&lor| is_known[lor as usize] = true);
            lors.extend(orbit);
            firsts.push((!is_free).then_some(first));
        }
        let number: HashMap<Symmetry, u16> = symmetries.iter().copied().zip(0..).collect();
        let product = |h: usize, g: usize| number[&ring.composed(symmetries[g], symmetries[h])];
        let products = (0..num_symmetries).flat_map(|h| (0..num_symmetries).map(move |g| [h, g])).map(|[h, g]| product(h, g));
        Self {
            num_symmetries,
            num_lors: ring.num_lors(),
            lors: Arc::new(lors),
            firsts: Arc::new(firsts),
            products: Arc::new(products.collect()),
        }
    }

    /// Returns the number of symmetries.
    pub fn num_symmetries(&self) -> usize {
        self.num_symmetries
    }

    /// Returns the number of orbits.
    pub fn num_orbits(&self) -> usize {
        self.firsts.len()
    }

    /// Returns the lines of an orbit.
    pub fn orbit(&self, orbit: usize) -> &[u32] {
        &self.lors[orbit * self.num_symmetries..][..self.num_symmetries]
    }

    /// For each symmetry the first one that gives the same line; `None` where each gives its own.
    pub fn firsts(&self, orbit: usize) -> Option<&[u16]> {
        self.firsts[orbit].as_deref()
    }

    /// Returns the symmetries g h for all g.
    pub fn products(&self, h: usize) -> &[u16] {
        &self.products[h * self.num_symmetries..][..self.num_symmetries]
    }

    /// Returns true if a place of an orbit has a datum.
    pub fn has_datum(&self, orbit: usize, symmetry: usize) -> bool {
        self.firsts(orbit).is_none_or(|firsts| usize::from(firsts[symmetry]) == symmetry)
    }

    /// Returns the places that have a datum, with their lines.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let has = |(place, _): &(usize, &u32)| self.has_datum(place / self.num_symmetries, place % self.num_symmetries);
        self.lors.iter().enumerate().filter(has).map(|(place, lor)| (place, *lor as usize))
    }
}

impl DataSpace for CrystalPairs {
    fn max_subsets(&self) -> usize {
        1
    }

    fn len(&self, _: Subset) -> usize {
        self.lors.len()
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, _: usize) -> Arc<Vec<f32>> {
        let mut arranged = vec![0.0; self.lors.len()];
        self.places().for_each(|(place, lor)| arranged[place] = values[lor]);
        Arc::new(arranged)
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        let mut ordered = vec![0.0; self.num_lors];
        self.places().for_each(|(place, lor)| ordered[lor] = values[place]);
        ordered
    }

    fn pieces(&self, _: Subset) -> Vec<(usize, Range<usize>)> {
        vec![(0, 0..self.lors.len())]
    }
}
