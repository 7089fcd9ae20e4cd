"""Writes the DICOM series of this folder (pydicom), compressed by dcmtk, GDCM and libjxl, and what SimpleITK reads.

Run in an environment with pydicom, highdicom, SimpleITK and pylibjpeg-openjpeg, with dcmtk, gdcmconv and cjxl in the path:
python make.py"""

import glob
import json
import os
import shutil
import subprocess

import highdicom
import numpy as np
import pydicom
import SimpleITK
from highdicom.legacy import LegacyConvertedEnhancedPETImage
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.sequence import Sequence
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, JPEG2000Lossless, MRImageStorage, PositronEmissionTomographyImageStorage

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = {"PT": PositronEmissionTomographyImageStorage, "CT": CTImageStorage, "MR": MRImageStorage}
random = np.random.default_rng(1)


def rotation(degrees, axis):
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned = np.eye(3)
    first, second = [index for index in range(3) if index != axis]
    turned[first, first], turned[first, second], turned[second, first], turned[second, second] = cos, -sin, sin, cos
    return turned


# Directions of rows and columns.
AXES = {
    "axial": np.eye(3),
    "sagittal": np.array([[0, 0, 0], [1, 0, 0], [0, -1, 0]], float),
    "coronal": np.array([[1, 0, 0], [0, 0, 0], [0, -1, 0]], float),
    "oblique": rotation(20, 2) @ rotation(-11, 0),
}


def write(name, axes="axial", modality="PT", signed=False, bits=16, times=1, slices=3, rows=6, columns=5):
    """Writes a series with random values, its files in random order."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    row, column = AXES[axes][:, 0], AXES[axes][:, 1]
    normal = np.cross(row, column)
    order = [(time, index) for time in range(times) for index in range(slices)]
    random.shuffle(order)
    for number, (time, index) in enumerate(order, 1):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = CLASSES[modality]
        meta.MediaStorageSOPInstanceUID = f"2.25.1{sum(map(ord, name))}.{number}"
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
        image.SOPClassUID, image.SOPInstanceUID, image.Modality = CLASSES[modality], meta.MediaStorageSOPInstanceUID, modality
        image.PatientName, image.PatientID, image.StudyInstanceUID = "Test^Phantom", "T1", "2.25.1"
        image.SeriesInstanceUID, image.FrameOfReferenceUID = f"2.25.1{sum(map(ord, name))}", "2.25.99"
        image.StudyDate = image.SeriesDate = image.AcquisitionDate = "20260301"
        image.SeriesTime, image.AcquisitionTime = "120000", f"12{time:02d}01"
        image.SeriesNumber, image.SeriesDescription, image.InstanceNumber = "1", name, str(number)
        image.Manufacturer, image.ManufacturerModelName = "Maker", "M1"
        image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
        image.BitsAllocated, image.BitsStored, image.HighBit, image.PixelRepresentation = 16, bits, bits - 1, int(signed)
        image.Rows, image.Columns, image.PixelSpacing, image.SliceThickness = rows, columns, ["2.5", "3.0"], "3.27"
        image.ImageOrientationPatient = [f"{value:.9g}"[:16] for value in [*row, *column]]
        image.ImagePositionPatient = [f"{value:.9g}"[:16] for value in np.array([-20, -31, -50]) + normal * 3.27 * index]
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
        image.PixelData = random.integers(low, high, size=(rows, columns)).astype("<i2" if signed else "<u2").tobytes()
        if modality == "PT":
            image.RescaleSlope, image.RescaleIntercept = f"{0.1 * (index + 1) + time:.6g}", "0"
            image.Units, image.DecayCorrection, image.CorrectedImage = "BQML", "START", ["DECY", "ATTN"]
            image.PatientWeight, image.PatientSize, image.PatientSex = "70", "1.75", "M"
            tracer = Dataset()
            tracer.RadionuclideTotalDose, tracer.RadionuclideHalfLife = "370000000", "6586.2"
            tracer.RadiopharmaceuticalStartTime, tracer.Radiopharmaceutical = "110000", "FDG"
            image.RadiopharmaceuticalInformationSequence = Sequence([tracer])
            image.ActualFrameDuration, image.FrameReferenceTime = "60000", str(60000 * time + 30000)
        else:
            image.RescaleSlope, image.RescaleIntercept = "1", "-1024" if modality == "CT" else "0"
        image.save_as(os.path.join(folder, f"IM{number:04d}"), enforce_file_format=True)


def convert(name, source, *command):
    """Converts each file of a series by a program that takes input and output."""
    target = os.path.join(HERE, name)
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for path in sorted(glob.glob(os.path.join(HERE, source, "*"))):
        subprocess.run([*command, path, os.path.join(target, os.path.basename(path))], check=True)


def recode(name, source, change):
    """Converts each file of a series by a function."""
    target = os.path.join(HERE, name)
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for path in sorted(glob.glob(os.path.join(HERE, source, "*"))):
        image = pydicom.dcmread(path)
        change(image)
        image.save_as(os.path.join(target, os.path.basename(path)))
        with open(os.path.join(target, os.path.basename(path)), "r+b") as file:
            content = file.read().replace(b"1.2.840.10008.1.2.4.201", b"1.2.840.10008.1.2.4.110")
            file.seek(0)
            file.write(content)


def to_jpeg_xl(image):
    with open("/tmp/slice.pgm", "wb") as file:
        file.write(b"P5\n%d %d\n65535\n" % (image.Columns, image.Rows) + image.pixel_array.astype(">u2").tobytes())
    subprocess.run(["cjxl", "/tmp/slice.pgm", "/tmp/slice.jxl", "-d", "0", "--quiet"], check=True)
    with open("/tmp/slice.jxl", "rb") as file:
        image.PixelData = encapsulate([file.read()])
    image["PixelData"].is_undefined_length = True
    # pydicom does not know JPEG XL: `recode` replaces the last part of this one (HTJ2K).
    image.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2.4.201"


def enhanced(name, source):
    """Converts a series into one multi-frame object."""
    images = [pydicom.dcmread(path) for path in sorted(glob.glob(os.path.join(HERE, source, "*")))]
    for image in images:
        for keyword in ["PatientBirthDate", "AccessionNumber", "StudyTime", "ReferringPhysicianName", "StudyID", "PositionReferenceIndicator", "Laterality"]:
            setattr(image, keyword, "")
        image.ContentDate, image.ContentTime, image.BodyPartExamined = "20260301", "120000", "HEAD"
        image.DeviceSerialNumber, image.SoftwareVersions = "1", "1"
        image.ImageType, image.SeriesType, image.NumberOfSlices, image.ImageIndex = ["ORIGINAL", "PRIMARY", "AXIAL"], ["STATIC", "IMAGE"], len(images), 1
    target = os.path.join(HERE, name)
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    multi = LegacyConvertedEnhancedPETImage(
        images, series_instance_uid="2.25.4711", series_number=9, sop_instance_uid="2.25.4711.1", instance_number=1
    )
    multi.save_as(os.path.join(target, "multi"))


def read(name):
    """Returns what SimpleITK reads: position and value of each voxel."""
    files = SimpleITK.ImageSeriesReader.GetGDCMSeriesFileNames(os.path.join(HERE, name))
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(files)
    image = reader.Execute()
    array = SimpleITK.GetArrayFromImage(image)
    slices, rows, columns = array.shape
    corners = [(i, j, k) for k in range(slices) for j in (0, 1, rows - 1) for i in (0, 1, columns - 1)]
    return [[*image.TransformIndexToPhysicalPoint(corner), float(array[corner[2], corner[1], corner[0]])] for corner in corners]


write("pet")
write("ct", modality="CT", bits=12)
write("sagittal", axes="sagittal", modality="MR")
write("coronal", axes="coronal", modality="MR", signed=True)
write("oblique", axes="oblique")
write("signed", modality="CT", signed=True, bits=12)
write("dynamic", times=3)
write("large", slices=2, rows=40, columns=36)
convert("lossless-sv1", "pet", "dcmcjpeg", "+e1")
convert("lossless", "ct", "dcmcjpeg", "+el")
convert("rle", "pet", "dcmcrle")
convert("rle-gdcm", "signed", "gdcmconv", "--rle")
convert("jpeg-gdcm", "coronal", "gdcmconv", "--jpeg")
convert("deflated", "pet", "dcmconv", "+td")
convert("big-endian", "ct", "dcmconv", "+tb")
convert("implicit", "pet", "dcmconv", "+ti")
convert("undefined-lengths", "oblique", "dcmconv", "-e")
convert("jpeg-ls", "pet", "gdcmconv", "--jpegls")
recode("jpeg-2000", "large", lambda image: image.compress(JPEG2000Lossless, generate_instance_uid=False))
recode("jpeg-xl", "pet", to_jpeg_xl)
enhanced("enhanced", "pet")
expected = {name: read(name) for name in ["pet", "ct", "sagittal", "coronal", "oblique", "signed"]}
with open(os.path.join(HERE, "simpleitk.json"), "w") as file:
    json.dump(expected, file)
