//! Problems of Interfile headers.

use crate::coded::coded;

/// A problem of an Interfile header.
#[derive(Debug, thiserror::Error)]
pub enum InterfileProblem {
    /// An empty header.
    #[error("the header is empty; take the file again from where it comes from")]
    EmptyHeader,
    /// Several factors or offsets of values: key and number, another key and number.
    #[error("'{0}' is {1} and '{2}' is {3}; only one for all data is understood")]
    DifferentFactors(&'static str, f64, &'static str, f64),
    /// Images of another orientation, in words.
    #[error("the slices are {0} ('slice orientation'); only transverse ones are supported, so write them as such")]
    SliceOrientation(String),
    /// Several time frames or types of image: their number, name and key.
    #[error("it holds {0} {1} ('{2}'); split it into files of one each")]
    SeveralParts(usize, &'static str, &'static str),
    /// Projection data, where an image is expected.
    #[error("'number of dimensions' is 4 or 5: that is projection data, where an image has 3")]
    ProjectionData,
    /// An image by its type, where projection data is expected.
    #[error("it describes an image ('PET data type := Image'), not projection data")]
    Image,
    /// An image by its dimensions, where projection data is expected.
    #[error("'number of dimensions' is 3: that is an image, where projection data has 4")]
    ImageDimensions,
    /// An even number of segments.
    #[error("it has {0} segments; only odd numbers are understood: segment 0 and pairs of opposite ring differences")]
    EvenSegments(usize),
    /// Two segments of one mean ring difference.
    #[error(
        "two segments have the same mean ring difference, {0} ('minimum ring difference per segment', 'maximum ring difference per segment')"
    )]
    SameSegments(f64),
    /// No segment of direct planes.
    #[error(
        "no segment has the mean ring difference 0 ('minimum ring difference per segment', 'maximum ring difference per segment')"
    )]
    NoDirectSegment,
    /// Detectors that are not on a cylinder.
    #[error(
        "the scanner geometry is '{0}': its detectors have their own map ('Scanner geometry'); only cylindrical scanners are supported"
    )]
    ScannerGeometry(String),
    /// A data file name that is not valid in a header.
    #[error("its name is not valid in a text header; use plain characters and the ending of a header")]
    HeaderName,
}

coded!(InterfileProblem = "io.unsupported.interfile");
