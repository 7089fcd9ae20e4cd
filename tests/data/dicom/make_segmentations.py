"""Writes segmentations of the series of this folder (highdicom), and their voxels, volumes and means (highdicom, SimpleITK, numpy).

Run after make.py in an environment with pydicom, highdicom and SimpleITK, with dcmconv in the path: python make_segmentations.py"""

import glob
import json
import os
import shutil
import subprocess

import highdicom
import numpy as np
import pydicom
import SimpleITK
from highdicom.color import CIELabColor
from highdicom.content import PixelMeasuresSequence, PlaneOrientationSequence, PlanePositionSequence
from highdicom.seg import SegmentDescription, Segmentation
from pydicom.pixels import pack_bits
from pydicom.sequence import Sequence
from pydicom.sr.codedict import codes
from pydicom.uid import ExplicitVRLittleEndian, RLELossless

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "segmentations")
COLOURS = [(214, 88, 30), (0, 114, 178), None]
random = np.random.default_rng(2)


def sources(name):
    """Returns the slices of a series along their normal."""
    images = [pydicom.dcmread(path) for path in glob.glob(os.path.join(HERE, name, "*"))]
    row, column = np.array(images[0].ImageOrientationPatient, float).reshape(2, 3)
    images.sort(key=lambda image: np.dot(np.cross(row, column), np.array(image.ImagePositionPatient, float)))
    for image in images:
        for keyword in ["PatientBirthDate", "PatientSex", "AccessionNumber", "StudyTime", "ReferringPhysicianName", "StudyID", "PositionReferenceIndicator", "Laterality"]:
            setattr(image, keyword, "")
    return images


def describe(number, label, colour):
    return SegmentDescription(
        number,
        label,
        codes.SCT.MorphologicallyAbnormalStructure,
        codes.SCT.Lesion,
        "MANUAL",
        display_color=None if colour is None else CIELabColor.from_rgb(*colour),
    )


def write(name, series, voxels, labels, kind="BINARY", shuffled=False, **options):
    """Writes segments [slice, row, column, segment] of a series."""
    descriptions = [describe(number, label, COLOURS[number - 1]) for number, label in enumerate(labels, 1)]
    segmentation = Segmentation(
        sources(series), voxels, kind, descriptions, "2.25.4712", 20, "2.25.4712.1", 1, "Maker", "M1", "1", "1", **options
    )
    if shuffled:
        shuffle(segmentation)
    segmentation.PatientName, segmentation.PatientID = "Test^Phantom", "T1"
    segmentation.save_as(os.path.join(TARGET, name))


def shuffle(segmentation):
    """Changes the order of the frames."""
    order = random.permutation(segmentation.NumberOfFrames)
    groups = segmentation.PerFrameFunctionalGroupsSequence
    segmentation.PerFrameFunctionalGroupsSequence = Sequence([groups[index] for index in order])
    pixels = segmentation.pixel_array[order]
    segmentation.PixelData = pack_bits(pixels.reshape(-1), pad=True)


def segments(shape):
    """Returns three segments with common voxels: one in the outer slices, one in two, one voxel."""
    voxels = np.zeros((*shape, 3), np.uint8)
    voxels[..., 0] = random.random(shape) < 0.4
    voxels[1, ..., 0] = 0
    voxels[1:, ..., 1] = random.random(shape)[1:] < 0.5
    voxels[1, 2, 3, 2] = 1
    assert (voxels[..., 0] * voxels[..., 1]).any()
    return voxels


def image(series):
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(SimpleITK.ImageSeriesReader.GetGDCMSeriesFileNames(os.path.join(HERE, series)))
    return reader.Execute()


def values(series):
    """Returns the values of SimpleITK, in the precision of an image."""
    return SimpleITK.GetArrayFromImage(series).astype(np.float32).astype(float)


def volumes(name):
    """Returns each segment as highdicom reads it."""
    segmentation = highdicom.seg.segread(os.path.join(TARGET, name))
    for number in segmentation.segment_numbers:
        label = segmentation.get_segment_description(number).segment_label
        options = {"rescale_fractional": True} if segmentation.SegmentationType == "FRACTIONAL" else {}
        volume = segmentation.get_volume(segment_numbers=[number], combine_segments=False, **options)
        yield label, volume, volume.array.squeeze(-1) >= 0.5


def of_series(name, series):
    """Returns label, voxels (LPS, mm), volume and mean of each segment on the voxels of a series."""
    shown = image(series)
    array, result = values(shown), []
    for label, volume, inside in volumes(name):
        positions = volume.map_indices_to_reference(np.argwhere(inside))
        indices = [shown.TransformPhysicalPointToIndex(position.tolist()) for position in positions]
        assert len(set(indices)) == len(indices) == inside.sum()
        result.append({
            "label": label,
            "voxels": [shown.TransformIndexToPhysicalPoint(index) for index in indices],
            "volume_ml": len(indices) * float(np.prod(shown.GetSpacing())) / 1000,
            "mean": float(np.mean([array[z, y, x] for x, y, z in indices])),
        })
    return result


def of_turned(name, series):
    """Returns the same of a segmentation that is turned against a series: the nearest voxel by SimpleITK."""
    shown, result = image(series), []
    array = values(shown)
    for label, volume, inside in volumes(name):
        # Axes of highdicom: slice, row, column.
        affine = volume.affine
        own = SimpleITK.GetImageFromArray(inside.astype(np.uint8))
        spacing = np.linalg.norm(affine[:3, :3], axis=0)
        directions = affine[:3, :3] / spacing
        own.SetSpacing(spacing[::-1].tolist())
        own.SetDirection(directions[:, ::-1].flatten().tolist())
        own.SetOrigin(affine[:3, 3].tolist())
        found = SimpleITK.GetArrayFromImage(SimpleITK.Resample(own, shown, SimpleITK.Transform(), SimpleITK.sitkNearestNeighbor, 0)) > 0
        result.append({
            "label": label,
            "voxels": [shown.TransformIndexToPhysicalPoint(index) for index in np.argwhere(found)[:, ::-1].tolist()],
            "volume_ml": int(found.sum()) * float(np.prod(shown.GetSpacing())) / 1000,
            "mean": float(array[found].mean()) if found.any() else None,
        })
    return result


def of_finer(name, series):
    """Returns label, volume and mean of each segment, voxels of the series counted by their part inside (axial slices)."""
    shown, result = image(series), []
    array = values(shown)
    for label, volume, inside in volumes(name):
        low = np.argwhere(inside)
        weights = np.zeros(array.shape)
        spacing = np.array(shown.GetSpacing())[::-1]
        steps = np.abs(np.diag(volume.affine[:3, :3][::-1]))
        for position in volume.map_indices_to_reference(low):
            middle = np.array(shown.TransformPhysicalPointToContinuousIndex(position.tolist()))[::-1]
            half = 0.5 * steps / spacing
            parts = []
            for axis in range(3):
                ends = np.arange(array.shape[axis])
                overlap = np.minimum(middle[axis] + half[axis], ends + 0.5) - np.maximum(middle[axis] - half[axis], ends - 0.5)
                parts.append(np.clip(overlap, 0, None))
            weights += parts[0][:, None, None] * parts[1][None, :, None] * parts[2][None, None, :]
        result.append({
            "label": label,
            "num_touched": int((weights > 1e-9).sum()),
            "volume_ml": float(weights.sum() * np.prod(spacing)) / 1000,
            "mean": float((weights * array).sum() / weights.sum()),
        })
    return result


shutil.rmtree(TARGET, ignore_errors=True)
os.makedirs(TARGET)
expected = {}
for name, series in [("axial", "pet"), ("coronal", "coronal"), ("sagittal", "sagittal"), ("oblique", "oblique")]:
    write(f"{name}.dcm", series, segments((3, 6, 5)), ["left", "lesion", "lesion"], shuffled=True)
    expected[f"{name}.dcm"] = {"series": series, "segments": of_series(f"{name}.dcm", series)}
parts = np.zeros((3, 6, 5, 2))
parts[..., 0] = np.round(random.random((3, 6, 5)) * 5) / 5
parts[1, ..., 1] = np.linspace(0, 1, 30).reshape(6, 5)
write("fractional.dcm", "pet", parts, ["liver", "edge"], kind="FRACTIONAL", max_fractional_value=10)
write("fractional-rle.dcm", "pet", parts, ["liver", "edge"], kind="FRACTIONAL", transfer_syntax_uid=RLELossless)
labels = random.integers(0, 3, (3, 6, 5)).astype(np.uint8)
write("labelmap.dcm", "pet", np.stack([labels == 1, labels == 2], -1).astype(np.uint8), ["liver", "edge"], kind="LABELMAP")
for name in ["fractional.dcm", "fractional-rle.dcm", "labelmap.dcm"]:
    expected[name] = {"series": "pet", "segments": of_series(name, "pet")}
subprocess.run(["dcmconv", "+td", os.path.join(TARGET, "axial.dcm"), os.path.join(TARGET, "deflated.dcm")], check=True)
expected["deflated.dcm"] = expected["axial.dcm"]
# Voxels of half the size (a quarter of a voxel aside), on the same axes.
start = np.array([-20 + 0.75, -31 - 0.625, -50 + 0.8175])
write(
    "finer.dcm",
    "pet",
    (random.random((5, 8, 7, 1)) < 0.5).astype(np.uint8),
    ["fine"],
    pixel_measures=PixelMeasuresSequence([1.25, 1.5], 1.635, 1.635),
    plane_orientation=PlaneOrientationSequence("PATIENT", [1, 0, 0, 0, 1, 0]),
    plane_positions=[PlanePositionSequence("PATIENT", (start + [0, 0, 1.635 * index]).tolist()) for index in range(5)],
)
expected["finer.dcm"] = {"series": "pet", "segments": of_finer("finer.dcm", "pet")}
expected["oblique.dcm on pet"] = {"series": "pet", "segments": of_turned("oblique.dcm", "pet")}
rgb = {f"segment {number}": colour for number, colour in enumerate(COLOURS, 1)}
with open(os.path.join(HERE, "segmentations.json"), "w") as file:
    json.dump({"files": expected, "colours": rgb}, file, indent=None)
