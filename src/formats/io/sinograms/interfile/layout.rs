//! The axes of a projection file: how many of what, in which order.

use super::header::Header;
use super::scanner::Sampling;
use super::tof;
use crate::data::TofBins;
use crate::io::error::IoError;
use crate::io::sinograms::interfile::problem::InterfileProblem;
use crate::scanner::Segment;

/// Axis after the segment, which is the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisOrder {
    /// `[segment][view][axial][tangential]`.
    Viewgrams,
    /// `[segment][axial][view][tangential]`.
    Sinograms,
}

/// Axes of a projection file.
pub struct Layout {
    pub order: AxisOrder,
    pub num_views: usize,
    pub num_tangential: usize,
    /// Segments in the file's order.
    pub segments: Vec<Segment>,
    /// Bins of the time of flight, if there are any.
    pub tof: Option<TofBins>,
}

impl Layout {
    /// Reads the axes from a header.
    pub fn from_header(header: &Header) -> Result<Self, IoError> {
        check_dimensions(header)?;
        let label = |axis: usize| header.text_at("matrix axis label", axis).unwrap_or_default().to_lowercase();
        let labels: [String; 4] = std::array::from_fn(|i| label(i + 1));
        let (order, view_axis, axial_axis) = match labels.each_ref().map(|label| label.as_str()) {
            ["tangential coordinate", "axial coordinate", "view", "segment"] => (AxisOrder::Viewgrams, 3, 2),
            ["tangential coordinate", "view", "axial coordinate", "segment"] => (AxisOrder::Sinograms, 2, 3),
            _ => {
                let expected = "tangential coordinate, axial coordinate, view, segment (or with the two in the middle exchanged)";
                return Err(header.invalid("matrix axis label [1..4]", &labels.join(", "), expected));
            }
        };
        Ok(Self {
            order,
            num_views: header.count_at("matrix size", view_axis)?,
            num_tangential: header.count_at("matrix size", 1)?,
            segments: segments(header, axial_axis)?,
            tof: (header.count("number of dimensions")? == Some(5)).then(|| tof::bins(header)).transpose()?,
        })
    }

    /// Returns the sampling with segments ascending by mean ring difference, and the index in it of each segment of the file.
    pub fn sorted(&self) -> (Sampling, Vec<usize>) {
        let mut by_difference: Vec<usize> = (0..self.segments.len()).collect();
        by_difference.sort_by_key(|&i| twice_mean(&self.segments[i]));
        let mut sorted_index = vec![0; self.segments.len()];
        for (sorted, &i) in by_difference.iter().enumerate() {
            sorted_index[i] = sorted;
        }
        let segments = by_difference.iter().map(|&i| self.segments[i].clone()).collect();
        (Sampling { num_views: self.num_views, num_tangential: self.num_tangential, segments }, sorted_index)
    }
}

fn twice_mean(segment: &Segment) -> i64 {
    i64::from(segment.min_ring_difference) + i64::from(segment.max_ring_difference)
}

fn check_dimensions(header: &Header) -> Result<(), IoError> {
    if header.word("pet data type").as_deref() == Some("image") {
        return Err(header.unsupported(InterfileProblem::Image));
    }
    const KEY: &str = "number of dimensions";
    match header.count(KEY)? {
        Some(4 | 5) => Ok(()),
        Some(3) => Err(header.unsupported(InterfileProblem::ImageDimensions)),
        Some(other) => Err(header.invalid(KEY, &other.to_string(), "4, or 5 with time of flight")),
        None => Err(header.missing(KEY, "projection data has 4: tangential, axial, view, segment")),
    }
}

/// Returns the segments in the file's order.
fn segments(header: &Header, axial_axis: usize) -> Result<Vec<Segment>, IoError> {
    const MIN: &str = "minimum ring difference per segment";
    const MAX: &str = "maximum ring difference per segment";
    let num_segments = header.count_at("matrix size", 4)?;
    let axial = header.counts_at("matrix size", axial_axis)?;
    let (min, max) = (header.integers(MIN)?, header.integers(MAX)?);
    let axial_key = format!("matrix size [{axial_axis}]");
    for (key, found) in [(axial_key.as_str(), axial.len()), (MIN, min.len()), (MAX, max.len())] {
        if found != num_segments {
            let expected = format!("one for each of the {num_segments} segments ('matrix size [4]')");
            return Err(header.invalid(key, &format!("a list of {found}"), &expected));
        }
    }
    if num_segments % 2 == 0 {
        return Err(header.unsupported(InterfileProblem::EvenSegments(num_segments)));
    }
    let ring_differences = min.into_iter().zip(max);
    let segments: Vec<Segment> = ring_differences
        .zip(axial)
        .map(|((min_ring_difference, max_ring_difference), num_axial_pos)| Segment {
            min_ring_difference,
            max_ring_difference,
            num_axial_pos,
        })
        .collect();
    let mut sums: Vec<i64> = segments.iter().map(twice_mean).collect();
    sums.sort_unstable();
    if let Some(pair) = sums.windows(2).find(|pair| pair[0] == pair[1]) {
        let mean = pair[0] as f64 / 2.0;
        return Err(header.unsupported(InterfileProblem::SameSegments(mean)));
    }
    if sums.binary_search(&0).is_err() {
        return Err(header.unsupported(InterfileProblem::NoDirectSegment));
    }
    Ok(segments)
}
