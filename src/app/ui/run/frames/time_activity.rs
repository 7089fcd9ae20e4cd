//! Time–activity curves: the mean of each ROI in each time frame, per second.

use egui::Color32;

use super::series::FrameSeries;
use crate::data::{Roi, mean_decay};
use crate::session::roi_numbers;
use crate::ui::widgets::theme;

/// Curve of a ROI.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeActivity {
    pub name: String,
    pub colour: Color32,
    /// Points of the frames in which the ROI was measured.
    pub points: Vec<ActivityPoint>,
}

/// ROI in a time frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivityPoint {
    /// Middle of the frame, s from the beginning of the scan.
    pub mid_secs: f64,
    /// Mean per second of the frame, in the image's unit per s; for a calibrated scan in Bq/mL.
    pub mean: f64,
    /// Standard deviation between voxels, in the unit of the mean.
    pub sd: Option<f64>,
}

/// Returns the curves of these ROIs from the last image of each complete frame, multiplied by `factor`. With the half-life of the
/// isotope they are corrected for decay to the beginning of the scan.
pub fn time_activity(series: &FrameSeries, rois: &[Roi], half_life_secs: Option<f64>, factor: f64) -> Vec<TimeActivity> {
    let curve = |roi: &Roi| TimeActivity { name: roi.name.clone(), colour: theme::roi_colour(roi), points: Vec::new() };
    let mut curves: Vec<TimeActivity> = rois.iter().map(curve).collect();
    for (index, frame) in series.done() {
        let Some((branch, time)) = frame.live.rois.newest().zip(series.frames().get(*index)) else { continue };
        let Some((_, point)) = branch.points.last_key_value() else { continue };
        let numbers = roi_numbers(&branch.rois, &point.sums, 1.0);
        let [begin, end] = [time.limits_ms.start, time.limits_ms.end].map(|ms| f64::from(ms) / 1e3);
        let measured_secs = time.duration_ms as f64 / 1e3;
        let decay = half_life_secs.map_or(1.0, |half_life| mean_decay(half_life, [begin, end]));
        let per_sec = |value: f64| factor * value / (measured_secs * decay);
        for (roi, curve) in rois.iter().zip(&mut curves) {
            let index = branch.rois.iter().position(|other| other.covers_same(roi));
            let numbers = index.and_then(|index| numbers.get(index)?.as_ref());
            curve.points.extend(numbers.and_then(|numbers| {
                let (mean, sd) = (per_sec(numbers.mean?), numbers.sd.map(per_sec));
                Some(ActivityPoint { mid_secs: 0.5 * (begin + end), mean, sd })
            }));
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    curves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{FrameTime, RoiMask, RoiShape};
    use crate::session::EndReason;
    use crate::ui::run::live::{LiveRun, RunState};
    use crate::ui::run::roi_branches::RoiBranches;
    use crate::ui::run::roi_edits::RoiEdits;

    /// Two frames, whose region has these two voxels.
    fn series(values: [[f32; 2]; 2], frames: Vec<FrameTime>, roi: &Roi) -> FrameSeries {
        let mut series = FrameSeries::new(frames).unwrap();
        for (run, values) in (1..).zip(values) {
            let mut live = LiveRun::requested(run, 1, std::slice::from_ref(roi), false);
            let sums = RoiMask { voxels: [(0, 1.0), (1, 1.0)].into() }.sums(&values);
            live.rois = RoiBranches::of_points(std::slice::from_ref(roi), [(1, vec![Some(sums)])]);
            live.state = RunState::Ended(EndReason::Completed);
            assert!(series.take(&live, &RoiEdits::default()));
            series.advance(true, |_| true);
        }
        series
    }

    #[test]
    fn counts_of_a_frame_are_divided_by_its_time_and_its_decay() {
        let roi = Roi::new("a", RoiShape::Sphere { radius_mm: 1.0 }, [0.0; 3]);
        let frames = [0..2000, 2000..6000].map(FrameTime::exact);
        let series = series([[10.0, 10.0], [19.0, 21.0]], frames.to_vec(), &roi);
        assert!(series.is_over() && series.stops() == [0, 1]);
        let curves = time_activity(&series, std::slice::from_ref(&roi), None, 1.0);
        let points = &curves[0].points;
        assert_eq!([(points[0].mid_secs, points[0].mean), (points[1].mid_secs, points[1].mean)], [(1.0, 5.0), (4.0, 5.0)]);
        assert!(points[0].sd == Some(0.0) && (points[1].sd.unwrap() - 2f64.sqrt() / 4.0).abs() < 1e-12);
        // With a half-life of 2 s the second frame has (1/2 + 1/4) / 2 of what the first has on average.
        let corrected = time_activity(&series, std::slice::from_ref(&roi), Some(2.0), 1.0);
        let [first, second] = [corrected[0].points[0].mean, corrected[0].points[1].mean];
        assert!((first - 5.0 * 2.0 * std::f64::consts::LN_2).abs() < 1e-12 && (second / first - 8.0 / 3.0).abs() < 1e-12);
        // Of a calibrated scan they are activities.
        let calibrated = time_activity(&series, std::slice::from_ref(&roi), None, 30.0);
        assert_eq!(calibrated[0].points.iter().map(|point| point.mean).collect::<Vec<_>>(), [150.0; 2]);
        let other = Roi::new("b", RoiShape::Sphere { radius_mm: 2.0 }, [0.0; 3]);
        assert!(time_activity(&series, &[other], None, 1.0).is_empty(), "it was not measured yet");
    }

    #[test]
    fn a_frame_lasts_as_long_as_was_measured_between_its_true_limits() {
        let roi = Roi::new("a", RoiShape::Sphere { radius_mm: 1.0 }, [0.0; 3]);
        let moved = FrameTime { requested_ms: 3000..4000, limits_ms: 2500..4500, duration_ms: 1500, split_seed: None };
        let series = series([[10.0; 2], [15.0; 2]], vec![FrameTime::exact(0..1000), moved], &roi);
        assert!(series.left_out.iter().any(|notice| notice.text.contains("3–4 s becomes 2.5–4.5 s")));
        assert_eq!(series.text(1), "frame 2 of 2, 2.5–4.5 s");
        let points = &time_activity(&series, std::slice::from_ref(&roi), None, 1.0)[0].points;
        assert_eq!(points.iter().map(|point| (point.mid_secs, point.mean)).collect::<Vec<_>>(), [(0.5, 10.0), (3.5, 10.0)]);
    }
}
