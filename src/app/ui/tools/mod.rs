//! The tools: parts of the window. Each owns its state, draws the workspace in its pane, and has its commands, files and part of a
//! session. A new tool is its file and a line in [`all`].

mod activity;
mod compare;
pub mod curves;
mod fit_counts;
mod image;
mod layer;
mod lesions;
pub mod model;
mod oxygen;
mod race;
mod rates;
mod recovery;
mod rois;
pub mod run;
mod side;
mod spectrum;
pub mod study;
mod sweep;
mod time;
pub mod tool;
mod tube;

use self::curves::plot_area::{Plot, PlotKind};
use self::tool::Tool;
use crate::ui::workspace::panes::pane::{self, Pane};

/// Returns all tools by their panes, in the order of the tabs.
pub fn all() -> Vec<(Pane, Box<dyn Tool>)> {
    vec![
        (Pane::Side, Box::<side::Side>::default()),
        (Pane::Image, Box::<image::Image>::default()),
        (pane::ROIS, Box::new(rois::Rois)),
        (lesions::PANE, Box::<lesions::Lesions>::default()),
        (Pane::table("time"), Box::new(time::Time)),
        (Pane::table("race"), Box::new(race::Race)),
        (pane::COMPARE, Box::<compare::Compare>::default()),
        (Pane::table("model"), Box::<model::Model>::default()),
        (recovery::PANE, Box::<recovery::Recovery>::default()),
        (pane::RATES, Box::new(rates::Rates)),
        (Pane::table("activity"), Box::new(activity::Activity)),
        (pane::SWEEP, Box::new(sweep::Sweep)),
        (pane::OXYGEN, Box::new(oxygen::Oxygen)),
        (pane::SPECTRUM, Box::<spectrum::Spectrum>::default()),
        (Pane::table("tube"), Box::new(tube::Tube)),
        (pane::NOISE, Box::new(Plot(PlotKind::Noise))),
        (pane::CONTRAST, Box::new(Plot(PlotKind::Contrast))),
        (pane::PROGRESS, Box::new(Plot(PlotKind::Progress))),
        (pane::PROFILE, Box::<curves::profile_tool::Profile>::default()),
    ]
}
