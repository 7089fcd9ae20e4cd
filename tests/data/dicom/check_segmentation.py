"""Checks a segmentation of `tomoscope lesions IMAGE --rois FILE --threshold VALUE --seg OUT.seg.dcm` with other programs.

python check_segmentation.py OUT.seg.dcm SERIES VALUE [FACTOR]

The regions are boxes around whole lesions, so that each segment is a component of SERIES * FACTOR >= VALUE (FACTOR: uptake value of
1 Bq/mL). highdicom reads the segments, SimpleITK the series, scipy finds the components, dciodvfy checks the file. Needs an
environment with pydicom, highdicom, SimpleITK and scipy."""

import glob
import os
import subprocess
import sys

import highdicom
import numpy as np
import SimpleITK
from scipy import ndimage

path, series, value = sys.argv[1], sys.argv[2], float(sys.argv[3])
factor = float(sys.argv[4]) if len(sys.argv) > 4 else 1.0
reader = SimpleITK.ImageSeriesReader()
reader.SetFileNames(reader.GetGDCMSeriesFileNames(series))
image = reader.Execute()
values = SimpleITK.GetArrayFromImage(image) * factor

segmentation = highdicom.seg.segread(path)
components, _ = ndimage.label(values >= value)
for number in segmentation.segment_numbers:
    label = segmentation.get_segment_description(number).segment_label
    volume = segmentation.get_volume(segment_numbers=[number], combine_segments=False)
    voxels = np.argwhere(volume.array.squeeze(-1))
    # Positions in the patient, found again in the image of SimpleITK.
    positions = volume.map_indices_to_reference(voxels)
    indices = [image.TransformPhysicalPointToIndex(position.tolist()) for position in positions]
    found = np.zeros(values.shape, bool)
    for x, y, z in indices:
        found[z, y, x] = True
    assert found.sum() == len(voxels), f"{label}: two voxels at one position"
    component = components[tuple(np.argwhere(found)[0])]
    assert component and np.array_equal(found, components == component), f"{label}: not a component"
    print(f"{label}: {found.sum()} voxels, as SimpleITK and scipy find them")
sources = {item.ReferencedSOPInstanceUID for item in segmentation.ReferencedSeriesSequence[0].ReferencedInstanceSequence}
assert len(sources) == image.GetSize()[2], f"{len(sources)} referenced slices"
errors = subprocess.run(["dciodvfy", path], capture_output=True, text=True)
lines = [line for line in (errors.stdout + errors.stderr).splitlines() if "Error" in line]
assert not lines, lines
print(os.path.basename(path), "has no error by dciodvfy;", len(glob.glob(os.path.join(series, "*"))), "files in the series")
