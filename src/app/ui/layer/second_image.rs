//! Second image: its position relative to the displayed image, and its display.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::{Rotation3, Vector3};

use super::run_map::RunMap;
use crate::data::{
    AttenuationMap, CompactValues, CompactVolume, ImageSeries, Modality, Placement, RoiMask, SeriesImage, SeriesNames, Volume,
};
use crate::geometry::{Grid, Point};
use crate::render::{Palette, VoxelValues};
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::fields::held_within;
use crate::ui::widgets::window_presets::window_presets;

/// Manual registration: the second image is rotated about its middle, then shifted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Registration {
    pub shift_mm: Point,
    /// Rotation about x, y and z, degrees.
    pub rotation_deg: [f64; 3],
}

/// Place of the second image relative to the displayed one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum LayerOrder {
    #[default]
    Above,
    Below,
    /// From a line on that can be dragged.
    Swipe,
}

impl LayerOrder {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn help(self) -> &'static str {
        match self {
            LayerOrder::Above => "The second image is above the displayed one",
            LayerOrder::Below => "The second image is below the displayed one",
            LayerOrder::Swipe => "The displayed image left of a line, the second image right of it; drag the line",
        }
    }
}

/// Display of the second image.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Display {
    /// Place relative to the displayed image.
    pub order: LayerOrder,
    /// Opacity of the upper image, 0 … 1.
    pub opacity: f32,
    pub colouring: ColourScale,
}

/// Second image in a session.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedLayer {
    /// Its file or folder.
    pub path: PathBuf,
    /// True if it is the attenuation map of the study.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_attenuation: bool,
    /// Confirmed difference between both images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<String>,
    pub registration: Registration,
    pub display: Display,
}

impl SavedLayer {
    /// Replaces values that the panel cannot make.
    pub fn sanitize(&mut self) {
        self.display.colouring.sanitize();
        self.display.opacity = held_within(f64::from(self.display.opacity), 0.0, 1.0) as f32;
        let Registration { shift_mm, rotation_deg } = &mut self.registration;
        for value in shift_mm.iter_mut().chain(rotation_deg) {
            *value = if value.is_finite() { value.clamp(-MAX_SHIFT, MAX_SHIFT) } else { 0.0 };
        }
    }
}

/// Largest shift, mm, and rotation, degrees.
pub const MAX_SHIFT: f64 = 1000.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SecondKind {
    /// Image of a file or a series.
    File,
    /// Attenuation map of the study.
    Attenuation,
    /// Standard deviations of the displayed image between replicates.
    Deviation,
    /// Map computed from the run of the displayed image.
    Map(RunMap),
}

#[derive(Clone)]
pub struct SecondImage {
    pub kind: SecondKind,
    /// Its file or folder.
    pub path: PathBuf,
    /// Name of its file.
    pub title: String,
    /// Kind, names and position, without the image.
    pub series: ImageSeries,
    pub volume: CompactVolume,
    pub display: Display,
    pub registration: Registration,
    /// Registrations before, the oldest first.
    pub undo: Vec<Registration>,
    /// Reason why both images may not belong together.
    pub difference: Option<String>,
    /// True if it is drawn in spite of that.
    pub is_confirmed: bool,
}

impl SecondImage {
    /// Returns the image of a series; `names` are those of the displayed image, if it has any.
    pub fn new(path: &Path, series: ImageSeries, volume: CompactVolume, names: Option<&SeriesNames>) -> Self {
        let is_anatomy = matches!(series.modality, Modality::Ct | Modality::Mr);
        let window = window_presets(volume.unit).first().map_or(volume.range, |preset| preset.window);
        let palette = if is_anatomy { Palette::Grey } else { Palette::HotIron };
        let colouring = ColourScale { window, auto_window: false, auto_palette: false, ..ColourScale::automatic(palette) };
        let difference = names.and_then(|names| difference(names, &series.names));
        let order = if is_anatomy { LayerOrder::Below } else { LayerOrder::Above };
        let display = Display { order, opacity: 0.5, colouring };
        let (registration, undo, is_confirmed) = (Registration::default(), Vec::new(), false);
        let (kind, path, title) = (SecondKind::File, path.to_owned(), file_name(path));
        Self { kind, path, title, series, volume, display, registration, undo, difference, is_confirmed }
    }

    /// Returns the attenuation map of a study, in 1/cm, one hue over the displayed image.
    pub fn of_attenuation(map: &AttenuationMap) -> Self {
        let modality = Modality::Other("µ".to_owned());
        let image = SeriesImage::new(map.per_cm(), 0.0, 0.0);
        let volume = CompactVolume::new(Arc::clone(&image.volume));
        let series = ImageSeries { modality, ..ImageSeries::unnamed(Vec::new(), 1) };
        let mut of_map = Self { kind: SecondKind::Attenuation, ..Self::new(&map.file, series, volume, None) };
        let [low, high] = of_map.volume.range;
        (of_map.display.colouring.palette, of_map.display.colouring.window) = (Palette::Blue, [0.0, high.max(low + 1e-3)]);
        of_map
    }

    /// Returns the standard deviations of an image, which hide it.
    pub fn of_deviation(volume: Arc<Volume>) -> Self {
        let series = ImageSeries { modality: Modality::Other("SD image".to_owned()), ..ImageSeries::unnamed(Vec::new(), 1) };
        let mut of_image = Self::new(Path::new("standard deviations"), series, CompactVolume::new(volume), None);
        let [_, high] = of_image.volume.range;
        (of_image.kind, of_image.display.opacity) = (SecondKind::Deviation, 1.0);
        of_image.display.colouring.window = [0.0, high.max(f32::MIN_POSITIVE)];
        of_image
    }

    /// Returns a map of this name of the run of the displayed image, which hides that image.
    pub fn of_map(map: RunMap, name: &str, volume: Arc<Volume>) -> Self {
        let modality = Modality::Other(name.to_owned());
        let series = ImageSeries { modality, ..ImageSeries::unnamed(Vec::new(), 1) };
        let colouring = map.colouring(&volume);
        let mut of_map = Self::new(Path::new(name), series, CompactVolume::new(volume), None);
        (of_map.kind, of_map.display.opacity, of_map.display.colouring) = (SecondKind::Map(map), 1.0, colouring);
        of_map
    }

    pub fn map(&self) -> Option<RunMap> {
        if let SecondKind::Map(map) = self.kind { Some(map) } else { None }
    }

    /// Returns true if it was computed from the run of the displayed image, on whose voxels it lies.
    pub fn is_of_run(&self) -> bool {
        matches!(self.kind, SecondKind::Deviation | SecondKind::Map(_))
    }

    /// Returns true if it hides the displayed image.
    pub fn hides(&self) -> bool {
        self.is_of_run() && self.display.order == LayerOrder::Above && self.display.opacity == 1.0
    }

    /// Returns its values for the graphics adapter.
    pub fn voxel_values(&self) -> VoxelValues<'_> {
        match self.volume.values() {
            CompactValues::Float(volume) => VoxelValues::Float(volume.as_slice()),
            CompactValues::Integer(values) => VoxelValues::Integer(values),
        }
    }

    pub fn saved(&self) -> SavedLayer {
        let Self { kind, path, display, registration, .. } = self.clone();
        SavedLayer {
            path,
            is_attenuation: kind == SecondKind::Attenuation,
            confirmed: self.difference.clone().filter(|_| self.is_confirmed),
            registration,
            display,
        }
    }

    /// Restores its state of a session. A confirmation holds for the same difference only.
    pub fn restore(&mut self, saved: SavedLayer) {
        self.is_confirmed = saved.confirmed.is_some() && saved.confirmed == self.difference;
        (self.display, self.registration) = (saved.display, saved.registration);
    }

    pub fn is_drawn(&self) -> bool {
        self.difference.is_none() || self.is_confirmed
    }

    /// Returns the point of this image at a point of the displayed image, which has this placement.
    pub fn point_mm(&self, displayed: Option<&Placement>, point: Point) -> Point {
        let world = displayed.map_or(point, |placement| placement.world_mm(point));
        let Registration { shift_mm, rotation_deg } = self.registration;
        let registered = if self.registration == Registration::default() {
            world
        } else {
            let middle = Vector3::from(self.middle_mm());
            let [x, y, z] = rotation_deg.map(f64::to_radians);
            let rotation = Rotation3::from_euler_angles(x, y, z);
            let turned = rotation.inverse() * (Vector3::from(world) - Vector3::from(shift_mm) - middle);
            (turned + middle).into()
        };
        self.series.placement.map_or(registered, |placement| placement.own_mm(registered))
    }

    /// Returns the value at a point of the displayed image, interpolated linearly; `None` outside.
    pub fn value_at(&self, displayed: Option<&Placement>, point: Point) -> Option<f64> {
        self.volume.interpolated_mm(self.point_mm(displayed, point))
    }

    /// Returns mean and standard deviation (√((Σ w v² − W m²) / (W − 1)), as of the displayed image) at the voxels of a region on
    /// this grid; `None` if none of them lies in the image.
    pub fn mean_and_sd(&self, grid: &Grid, displayed: Option<&Placement>, mask: &RoiMask) -> Option<[f64; 2]> {
        let [nx, ny, _] = grid.size;
        let position = |voxel: usize| grid.mm_from_voxel([voxel % nx, voxel / nx % ny, voxel / (nx * ny)].map(|at| at as f64));
        // (Voxels of a map that are not a number were not fitted.)
        let values = mask
            .voxels
            .iter()
            .filter_map(|(voxel, weight)| Some((f64::from(*weight), self.value_at(displayed, position(*voxel as usize))?)))
            .filter(|(_, value)| value.is_finite());
        let add =
            |[w, wv, wv2]: [f64; 3], (weight, value): (f64, f64)| [w + weight, wv + weight * value, wv2 + weight * value * value];
        let [weight, sum, squares] = values.fold([0.0; 3], add);
        if weight <= 0.0 {
            return None;
        }
        let mean = sum / weight;
        let variance = (squares - weight * mean * mean) / (weight - 1.0);
        Some([mean, if weight > 1.0 { variance.max(0.0).sqrt() } else { 0.0 }])
    }

    /// Returns the middle of the image in the world.
    fn middle_mm(&self) -> Point {
        let grid = &self.volume.grid;
        let middle = grid.mm_from_voxel(grid.size.map(|size| 0.5 * (size as f64 - 1.0)));
        self.series.placement.map_or(middle, |placement| placement.world_mm(middle))
    }

    /// Sets the registration, and stores the earlier registration for undo.
    pub fn register(&mut self, registration: Registration) {
        self.undo.push(std::mem::replace(&mut self.registration, registration));
    }

    pub fn undo_registration(&mut self) {
        self.registration = self.undo.pop().unwrap_or(self.registration);
    }
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Returns the reason why images with these names may not belong together.
fn difference(a: &SeriesNames, b: &SeriesNames) -> Option<String> {
    if a.is_other_patient(b) {
        return Some(format!("the second image is of another patient: {}, {}", b.patient_name.replace('^', " "), b.patient_id));
    }
    if a.is_other_frame_of_reference(b) {
        return Some(
            "both images have different frames of reference (FrameOfReferenceUID): their positions may not match".into(),
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::Volume;

    fn image(placement: Option<Placement>) -> SecondImage {
        let grid = Grid::new([5, 5, 5], [2.0; 3], [6.0, -4.0, -4.0]).unwrap();
        let values = (0..125).map(|index| (index % 5) as f32).collect();
        let volume = CompactVolume::new(Arc::new(Volume::from_vec(grid, values, Default::default()).unwrap()));
        let series = ImageSeries { placement, ..ImageSeries::unnamed(Vec::new(), 1) };
        SecondImage::new(Path::new("ct"), series, volume, None)
    }

    #[test]
    fn a_value_is_found_at_its_world_position() {
        let image = image(None);
        assert_eq!(image.value_at(None, [6.0, 0.0, 0.0]), Some(0.0));
        assert_eq!(image.value_at(None, [9.0, 0.0, 0.0]), Some(1.5));
        assert_eq!(image.value_at(None, [16.0, 0.0, 0.0]), None);
        // An oblique displayed image is turned by 90° about its middle: its +y is the world's −x.
        let turned = Placement { middle_mm: [0.0; 3], rotation: [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]] };
        assert_eq!(image.value_at(Some(&turned), [0.0, -9.0, 0.0]), Some(1.5));
    }

    #[test]
    fn a_region_has_the_numbers_of_the_second_image() {
        let (image, grid) = (image(None), Grid::new([4, 1, 1], [2.0; 3], [6.0, 0.0, 0.0]).unwrap());
        let mask = RoiMask { voxels: [(0, 1.0), (1, 1.0), (3, 1.0)].into() };
        // The values 0, 1 and 3.
        let [mean, sd] = image.mean_and_sd(&grid, None, &mask).unwrap();
        assert!((mean - 4.0 / 3.0).abs() < 1e-12 && (sd - (7.0f64 / 3.0).sqrt()).abs() < 1e-12, "{mean} ± {sd}");
        let outside = Grid::new([1; 3], [2.0; 3], [90.0; 3]).unwrap();
        assert_eq!(image.mean_and_sd(&outside, None, &RoiMask { voxels: [(0, 1.0)].into() }), None);
    }

    #[test]
    fn a_registration_moves_the_second_image() {
        let mut image = image(None);
        image.register(Registration { shift_mm: [2.0, 0.0, 0.0], ..Registration::default() });
        assert_eq!(image.value_at(None, [11.0, 0.0, 0.0]), Some(1.5));
        // By 180° about the middle at x = 10, the values decrease along x.
        image.register(Registration { rotation_deg: [0.0, 0.0, 180.0], ..Registration::default() });
        let value = image.value_at(None, [9.0, 0.0, 0.0]).unwrap();
        assert!((value - 2.5).abs() < 1e-9, "{value}");
        assert_eq!(image.undo.len(), 2);
    }

    #[test]
    fn a_confirmation_is_restored_for_the_same_difference_only() {
        let mut before = image(None);
        before.register(Registration { shift_mm: [2.0, 0.0, -1.0], ..Registration::default() });
        (before.display.order, before.display.opacity) = (LayerOrder::Swipe, 0.2);
        (before.difference, before.is_confirmed) = (Some("another patient: 2".into()), true);
        let saved = before.saved();
        let restored = |difference: &str| {
            let mut image = image(None);
            image.difference = Some(difference.into());
            image.restore(saved.clone());
            image
        };
        let same = restored("another patient: 2");
        assert!(same.is_drawn() && same.saved() == saved);
        assert!(!restored("another patient: 3").is_drawn());
        // Values of a damaged file.
        let mut damaged = saved;
        (damaged.display.opacity, damaged.registration.shift_mm) = (f32::NAN, [f64::INFINITY, 1e9, 0.0]);
        damaged.sanitize();
        assert_eq!((damaged.display.opacity, damaged.registration.shift_mm), (0.0, [0.0, MAX_SHIFT, 0.0]));
    }

    #[test]
    fn another_patient_or_frame_of_reference_needs_a_confirmation() {
        let names = |id: &str, frame: &str| SeriesNames {
            patient_id: id.into(),
            frame_of_reference: frame.into(),
            ..SeriesNames::default()
        };
        assert_eq!(difference(&names("1", "2.25"), &names("1", "2.25")), None);
        assert!(difference(&names("1", "2.25"), &names("2", "2.25")).unwrap().contains("another patient"));
        assert!(difference(&names("1", "2.25"), &names("1", "2.26")).unwrap().contains("FrameOfReferenceUID"));
        assert_eq!(difference(&names("", ""), &names("2", "2.26")), None);
    }
}
