//! Search for regions in an image, in the background: templates of NEMA phantoms, isocontours.

use std::sync::Arc;

use egui::Context;

use crate::data::{IsocontourRecipe, Roi, RoiShape, Volume};
use crate::measure::nema::{self, NemaKnown};
use crate::measure::{isocontour, nema_nu4};
use crate::task::BackgroundTask;
use crate::ui::widgets::file_task::NemaStandard;

#[derive(Clone, Debug)]
pub enum RoiQuery {
    /// Template of a NEMA phantom, with the true activity ratio of the hot spheres.
    Template(NemaStandard, Option<f64>),
    /// Isocontour that becomes the shape of a new region.
    NewContour(Box<Roi>, IsocontourRecipe),
    /// Isocontour that becomes the shape of the region with this index.
    Contour(usize, Box<Roi>, IsocontourRecipe),
}

impl RoiQuery {
    pub fn text(&self) -> &'static str {
        match self {
            RoiQuery::Template(..) => "Finding the phantom…",
            RoiQuery::NewContour(..) | RoiQuery::Contour(..) => "Finding the isocontour…",
        }
    }

    /// Returns the regions in an image.
    ///
    /// # Errors
    /// The image contains no such region.
    fn find(&self, image: &Volume) -> Result<Vec<Roi>, String> {
        match self {
            RoiQuery::Template(NemaStandard::Body, ratio) => {
                let placement = nema::find(image, &NemaKnown::default()).map_err(|error| error.to_string())?;
                Ok(placement.rois(*ratio))
            }
            RoiQuery::Template(NemaStandard::SmallAnimal, _) => {
                Ok(nema_nu4::find(image).map_err(|error| error.to_string())?.rois())
            }
            RoiQuery::NewContour(roi, recipe) | RoiQuery::Contour(_, roi, recipe) => {
                let contour = isocontour(image, roi.centre_mm, *recipe).map_err(|error| error.to_string())?;
                Ok(vec![Roi { shape: RoiShape::Isocontour(contour.into()), ..Roi::clone(roi) }])
            }
        }
    }
}

/// Search under way. A newer request replaces the previous one, whose result is dropped.
#[derive(Default)]
pub struct RoiSearch {
    /// Newest request, until it is answered.
    request: Option<(RoiQuery, Arc<Volume>)>,
    work: Option<BackgroundTask<Result<Vec<Roi>, String>>>,
    /// True if the work belongs to an earlier request.
    is_stale: bool,
}

impl RoiSearch {
    /// Returns the newest request, until it is answered.
    pub fn query(&self) -> Option<&RoiQuery> {
        self.request.as_ref().map(|(query, _)| query)
    }

    /// Starts a search in an image, after the end of work that is under way.
    pub fn start(&mut self, query: RoiQuery, image: &Arc<Volume>, ctx: &Context) {
        self.request = Some((query, Arc::clone(image)));
        self.is_stale = self.work.is_some();
        self.start_work(ctx);
    }

    /// Returns the answer to the newest request; `None` while the work is under way.
    pub fn poll(&mut self, ctx: &Context) -> Option<(RoiQuery, Result<Vec<Roi>, String>)> {
        let outcome = self.work.as_ref()?.poll()?;
        self.work = None;
        if std::mem::take(&mut self.is_stale) {
            self.start_work(ctx);
            return None;
        }
        let (query, _) = self.request.take()?;
        Some((query, outcome.unwrap_or_else(|failure| Err(failure.into()))))
    }

    fn start_work(&mut self, ctx: &Context) {
        if let (None, Some((query, image))) = (&self.work, self.request.clone()) {
            let wake = ctx.clone();
            self.work = Some(BackgroundTask::start("regions", move || wake.request_repaint(), move |_| query.find(&image)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ContourThreshold;
    use crate::geometry::Grid;

    #[test]
    fn a_newer_request_replaces_the_previous_one() {
        let grid = Grid::centred([20; 3], [1.0; 3]).unwrap();
        let mut image = Volume::filled(grid, 0.0);
        image.values[(10, 10, 10)] = 1.0;
        let (image, ctx) = (Arc::new(image), Context::default());
        let query = |index, percent| {
            let roi = Roi::new("r", RoiShape::Sphere { radius_mm: 3.0 }, [0.0; 3]);
            let threshold = ContourThreshold::percent(percent);
            RoiQuery::Contour(index, Box::new(roi), IsocontourRecipe { threshold, seed_radius_mm: 3.0 })
        };
        let mut search = RoiSearch::default();
        search.start(query(0, 50.0), &image, &ctx);
        search.start(query(1, 60.0), &image, &ctx);
        let mut answer = None;
        while answer.is_none() {
            answer = search.poll(&ctx);
        }
        let Some((RoiQuery::Contour(1, _, recipe), Ok(rois))) = answer else { panic!("no isocontour") };
        assert_eq!((recipe.threshold, rois.len()), (ContourThreshold::percent(60.0), 1));
        assert!(search.query().is_none() && search.poll(&ctx).is_none());
    }
}
