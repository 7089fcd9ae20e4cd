//! Similarity of the stored iterates to those of another run, or to one image.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::measurement::Measurement;
use super::roi_set::RoiSet;
use super::thinning::limit;
use crate::data::{IterateId, MaskedRois, RunId};
use crate::measure::{Convergence, PetricMasks, correlation, relative_difference};
use crate::session::history::{History, StoredIterate};

/// Reference of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CompareWith {
    /// Image of the same number of this run; beyond its last image that one.
    Run(RunId),
    /// One image for all.
    Image(StoredIterate),
}

impl CompareWith {
    pub fn id(&self) -> ReferenceId {
        match self {
            CompareWith::Run(run) => ReferenceId { run: *run, subiteration: None },
            CompareWith::Image(image) => ReferenceId { run: image.id.run, subiteration: Some(image.id.subiteration) },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceId {
    pub run: RunId,
    /// Number of steps of the image, if it is one image.
    pub subiteration: Option<usize>,
}

/// Similarity of two images on the same grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Number of completed full iterations.
    pub iteration: usize,
    /// Total number of steps; for a sweep number of projections in the image.
    pub subiteration: usize,
    /// Full iterations and steps of the reference image; `None` for an image of a file.
    pub reference: Option<[usize; 2]>,
    /// True if all images of the run are compared with that image.
    pub is_fixed: bool,
    /// Correlation coefficient ([`crate::measure::correlation`]).
    pub correlation: f64,
    /// ‖image − reference‖ / ‖reference‖ ([`crate::measure::relative_difference`]).
    pub relative_difference: f64,
    /// Distance from the reference as a converged image; `None` without a background region.
    pub convergence: Option<Convergence>,
}

impl Comparison {
    /// Returns true if both images have the same number of iterations, for a sweep of projections.
    pub fn is_of_same_number(&self) -> bool {
        self.reference.is_none_or(|reference| number(reference) == number([self.iteration, self.subiteration]))
    }
}

/// Returns the number of an image: iterations, and before the first complete one (as in an incomplete sweep) steps.
fn number([iteration, subiteration]: [usize; 2]) -> [usize; 2] {
    [iteration, if iteration == 0 { subiteration } else { 0 }]
}

/// Reference, and the iterates of a run that were compared with it.
pub struct Similarity {
    reference: CompareWith,
    /// Regions of the convergence, and the same on the reference with these numbers.
    rois: MaskedRois,
    masks: Option<(IterateId, Option<PetricMasks>)>,
    run: RunId,
    /// Steps done of the compared iterates.
    compared: HashSet<usize>,
}

impl Measurement for Similarity {
    /// Reference, and regions over which images are compared as well; without a reference the measurement ends. (A reference run must
    /// be retained.)
    type Query = (Option<CompareWith>, RoiSet);
    type Answer = (ReferenceId, Comparison);
    /// Comparisons by number of complete steps.
    type Found = BTreeMap<usize, Comparison>;

    fn begin((reference, RoiSet { rois, .. }): Self::Query, _before: Option<Self>) -> Option<Self> {
        Some(Self { reference: reference?, rois, masks: None, run: 0, compared: HashSet::new() })
    }

    fn measure(&mut self, run: RunId, history: &History) -> Option<(ReferenceId, Comparison)> {
        if run != self.run {
            (self.run, self.compared) = (run, HashSet::new());
        }
        let references = match &self.reference {
            CompareWith::Run(reference) if *reference == run => return None,
            CompareWith::Run(reference) => history.entries(*reference),
            CompareWith::Image(_) => Vec::new(),
        };
        // Some images have no counterpart.
        loop {
            let image = history.next(run, |id| self.compared.insert(id.subiteration))?;
            if let Some(comparison) = self.comparison(&image, &references) {
                return Some((self.reference.id(), comparison));
            }
        }
    }

    /// Adds a comparison, which replaces one of the same image.
    fn add((_, comparison): &Self::Answer, found: &mut Self::Found) {
        found.insert(comparison.subiteration, *comparison);
        limit(found, |_| false);
    }

    fn regions((_, rois): &mut Self::Query) -> Option<&mut RoiSet> {
        Some(rois)
    }
}

impl Similarity {
    fn comparison(&mut self, image: &StoredIterate, references: &[StoredIterate]) -> Option<Comparison> {
        // A run has converged to its last image.
        let (found, converged) = match &self.reference {
            CompareWith::Run(_) => (compared(image, partner(image, references)?, false)?, references.last()?),
            CompareWith::Image(reference) => (compared(image, reference, true)?, reference),
        };
        let [values, of_reference] = [image, converged].map(|image| image.volume.as_slice());
        let masks = |rois: &MaskedRois| PetricMasks::of_regions(of_reference, rois, &rois.masks(&image.volume.grid));
        if self.masks.as_ref().is_none_or(|(of, _)| *of != converged.id) {
            self.masks = Some((converged.id, masks(&self.rois)));
        }
        let masks = self.masks.as_ref().and_then(|(_, masks)| masks.as_ref());
        Some(Comparison { convergence: masks.and_then(|masks| Convergence::of(values, of_reference, masks)), ..found })
    }
}

/// Returns the reference image with the same number, or beyond the last reference that one. `None` if it was thinned.
fn partner<'a>(image: &StoredIterate, references: &'a [StoredIterate]) -> Option<&'a StoredIterate> {
    let number = |image: &StoredIterate| number([image.id.iteration, image.id.subiteration]);
    let last = references.last().filter(|last| number(last) < number(image));
    references.iter().find(|reference| number(reference) == number(image)).or(last)
}

/// Compares two images, without their convergence. `None` if the grids differ, or an image is constant.
fn compared(image: &StoredIterate, reference: &StoredIterate, is_fixed: bool) -> Option<Comparison> {
    if !reference.volume.grid.same_as(&image.volume.grid) {
        return None;
    }
    let [values, of_reference] = [image, reference].map(|image| image.volume.as_slice());
    Some(Comparison {
        iteration: image.id.iteration,
        subiteration: image.id.subiteration,
        reference: (reference.id.run != IterateId::FILE.run).then_some([reference.id.iteration, reference.id.subiteration]),
        is_fixed,
        correlation: correlation(values, of_reference)?,
        relative_difference: relative_difference(values, of_reference),
        convergence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::image;
    use super::*;

    #[test]
    fn an_image_is_compared_with_the_one_of_the_same_number_or_beyond_all_with_the_last() {
        let reference = [image(2, [1.0, 2.0, 3.0], 1.0), image(4, [1.0, 3.0, 2.0], 1.0)];
        let against = |image: &StoredIterate, reference: &[StoredIterate]| compared(image, partner(image, reference)?, false);
        let with =
            |image: &StoredIterate| against(image, &reference).map(|found| (found.reference.unwrap()[0], found.correlation));
        assert_eq!(with(&image(2, [2.0, 4.0, 6.0], 1.0)), Some((2, 1.0)));
        assert_eq!(against(&image(2, [2.0, 4.0, 6.0], 1.0), &reference).unwrap().relative_difference, 1.0);
        let (iteration, correlation) = with(&image(5, [1.0, 2.0, 3.0], 1.0)).unwrap();
        assert!(iteration == 4 && (correlation - 0.5).abs() < 1e-12, "{correlation}");
        // Thinned; another grid; a constant image; no reference.
        assert_eq!(with(&image(3, [1.0, 2.0, 3.0], 1.0)), None);
        assert_eq!(with(&image(2, [1.0, 2.0, 3.0], 2.0)), None);
        assert_eq!(with(&image(2, [1.0; 3], 1.0)), None);
        assert_eq!(against(&image(2, [1.0, 2.0, 3.0], 1.0), &[]), None);
        // The numbers of subsets may differ; for a sweep the number counts steps.
        let other = |iteration, subiteration| {
            let id = IterateId { run: 1, iteration, subiteration };
            StoredIterate { id, ..image(2, [1.0, 2.0, 3.0], 1.0) }
        };
        assert!(with(&other(2, 7)).is_some());
        let projections = |subiteration| other(0, subiteration);
        let found = |steps| against(&projections(steps), &[projections(16), projections(32)]).map(|found| found.reference);
        assert_eq!([16, 24, 40].map(found), [Some(Some([0, 16])), None, Some(Some([0, 32]))]);
    }

    #[test]
    fn all_images_of_a_run_are_compared_with_the_one_that_was_chosen_its_own_too() {
        let history = History::new(1 << 20);
        history.begin(1);
        let images = [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]];
        let images: Vec<StoredIterate> = (1..).zip(images).map(|(iteration, values)| image(iteration, values, 1.0)).collect();
        images.iter().for_each(|image| _ = history.push(image.clone()));
        let compared = |with| -> Vec<Comparison> {
            let mut similarity = Similarity::begin((Some(with), RoiSet::default()), None).unwrap();
            std::iter::from_fn(|| similarity.measure(1, &history)).map(|(_, comparison)| comparison).collect()
        };
        assert_eq!(compared(CompareWith::Run(1)), [], "a run is not compared with itself");
        let found = compared(CompareWith::Image(images[1].clone()));
        assert!(found.iter().all(|found| found.is_fixed && found.reference == Some([2, 4])), "{found:?}");
        let correlations: Vec<f64> = found.iter().map(|found| found.correlation).collect();
        assert!(correlations.iter().zip([0.5, 1.0, -0.5]).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }
}
