#!/usr/bin/env python3
"""Files that the program has just written, read by other software: Python's standard library, pdftotext (poppler-utils) and
dciodvfy (dicom3tools). One image in five formats has the same values at the same places; the numbers of its regions are
the same in the run's table, in `measure`'s and as computed here; those of NEMA are the same as JSON, as CSV and in the PDF's text;
a plot's SVG has the values of its table. A list of events in two formats is the same: PETSIRD's package (petsird) finds what stands in
CASToR's files."""

import argparse
import ast
import csv
import gzip
import json
import math
import struct
import subprocess
import tomllib
import xml.etree.ElementTree as xml
from array import array
from pathlib import Path

import compare_images

SUBSETS, ITERATIONS = 14, 2
SVG = "{http://www.w3.org/2000/svg}"


def check(holds, words):
    if not holds:
        raise SystemExit(f"read_back: {words}")


def is_near(a, b, relative):
    return math.isclose(a, b, rel_tol=relative, abs_tol=1e-30)


def floats(data):
    """Little-endian 32-bit floats, as both this machine and the program's files have them."""
    values = array("f")
    values.frombytes(data)
    return values


def read_nifti(path):
    """Values, sides, voxel sizes in mm, and the affine's translation (nifti1.h)."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    header_bytes, = struct.unpack_from("<i", content, 0)
    dim = struct.unpack_from("<8h", content, 40)
    datatype, bits = struct.unpack_from("<2h", content, 70)
    offset, slope, intercept = struct.unpack_from("<3f", content, 108)
    check((header_bytes, dim[0], datatype, bits) == (348, 3, 16, 32) and content[344:348] == b"n+1\0", f"{path}: no NIfTI-1 of floats")
    check(slope in (0, 1) and intercept == 0, f"{path}: its values are scaled")
    rows = [struct.unpack_from("<4f", content, 280 + 16 * row) for row in range(3)]
    return floats(content[int(offset):]), list(dim[1:4]), [abs(rows[axis][axis]) for axis in range(3)], [row[3] for row in rows]


def read_npy(path):
    """Values and shape (NumPy's format, version 1)."""
    content = path.read_bytes()
    check(content[:8] == b"\x93NUMPY\x01\x00", f"{path}: no .npy of version 1")
    length, = struct.unpack_from("<H", content, 8)
    header = ast.literal_eval(content[10:10 + length].decode())
    check(header["descr"] == "<f4" and not header["fortran_order"], f"{path}: {header}")
    return floats(content[10 + length:]), list(header["shape"])


def dicom_elements(path):
    """The elements on the first level, explicit little endian (PS3.5, 7.1.2), by tag."""
    content = path.read_bytes()
    check(content[128:132] == b"DICM", f"{path}: no DICOM file")
    elements, at = {}, 132
    while at < len(content):
        group, element, representation = struct.unpack_from("<2H2s", content, at)
        is_long = representation in (b"OB", b"OW", b"SQ", b"UN", b"UT", b"UC", b"UR", b"OF", b"OD", b"OL")
        length, = struct.unpack_from("<I" if is_long else "<H", content, at + (8 if is_long else 6))
        at += 12 if is_long else 8
        if length == 0xFFFFFFFF:
            at = content.index(b"\xfe\xff\xdd\xe0\0\0\0\0", at) + 8
            continue
        elements[group, element] = content[at:at + length]
        at += length
    return elements


def check_dicom(folder, values, sides):
    """Each slice is accepted by dciodvfy and has the image's values to within half its step."""
    nx, ny, nz = sides
    paths = sorted(folder.iterdir())
    check(len(paths) == nz, f"{folder}: {len(paths)} slices, not {nz}")
    for k, path in enumerate(paths):
        if k in (0, nz // 2, nz - 1):
            found = subprocess.run(["dciodvfy", path], capture_output=True, text=True)
            errors = [line for line in (found.stdout + found.stderr).splitlines() if line.startswith("Error")]
            check(not errors, f"{path}: {errors}")
        elements = dicom_elements(path)
        step = float(elements[0x28, 0x1053])
        stored = array("h")
        stored.frombytes(elements[0x7FE0, 0x10])
        worst = max(abs(step * a - b) for a, b in zip(stored, values[k * nx * ny:(k + 1) * nx * ny], strict=True))
        check(worst <= 0.501 * step, f"{path}: a value is {worst / step} steps off")


def read_table(path):
    """Rows of measured numbers by (iteration, subset, region, quantity)."""
    with path.open(newline="") as file:
        return {(int(row["iteration"]), int(row["subset"]), row["roi"], row["quantity"]): float(row["value"]) for row in csv.DictReader(file)}


def mean_in_circle(image, roi, parts=8):
    """Mean of an image in a transaxial circle, a voxel weighted by the share of parts² points of it that lie inside."""
    values, (nx, ny, nz), (dx, dy, dz), _ = image
    middle = [(n - 1) / 2 for n in (nx, ny, nz)]
    x, y, z = (c / d + m for c, d, m in zip(roi["centre_mm"], (dx, dy, dz), middle))
    radius, k = roi["radius_mm"], round(z)
    total = weight = 0.0
    offsets = [(i + 0.5) / parts - 0.5 for i in range(parts)]
    for j in range(math.floor(y - radius / dy - 1), math.ceil(y + radius / dy + 2)):
        for i in range(math.floor(x - radius / dx - 1), math.ceil(x + radius / dx + 2)):
            inside = sum(math.hypot((i + a - x) * dx, (j + b - y) * dy) <= radius for a in offsets for b in offsets)
            total += inside * values[(k * ny + j) * nx + i]
            weight += inside
    return total / weight


def check_regions(scratch, image):
    """The run's table, `measure`'s and the means computed here."""
    run, measured = read_table(scratch / "curves.csv"), read_table(scratch / "measured.csv")
    with (scratch / "rois.toml").open("rb") as file:
        rois = tomllib.load(file)["roi"]
    last = {key[2:]: value for key, value in run.items() if key[:2] == (ITERATIONS, 0) and key[2]}
    again = {key[2:]: value for key, value in measured.items() if key[2]}
    # A run has no medians: they take each image's voxels in order.
    expected = last.keys() | {(roi["name"], "median") for roi in rois}
    check(again.keys() == expected and len(last) > 100, f"measured.csv and curves.csv have other rows: {again.keys() ^ expected}")
    for key, value in last.items():
        # A NIfTI file holds the voxels' size in 32 bits.
        check(is_near(again[key], value, 1e-6), f"{key}: {value} in curves.csv, {again[key]} in measured.csv")
    for roi in rois:
        own, told = mean_in_circle(image, roi), last[roi["name"], "mean"]
        check(is_near(own, told, 0.01), f"{roi['name']}: mean {told} in curves.csv, {own} computed here")
    return len(last), len(rois)


def check_nema(scratch):
    """JSON, CSV, and the text of the PDF."""
    figures = json.loads((scratch / "iq.json").read_text())["nema_nu_2"]
    table = {key[2:]: value for key, value in read_table(scratch / "iq.csv").items()}
    text = subprocess.run(["pdftotext", "-layout", scratch / "iq.pdf", "-"], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in text.splitlines()]
    for sphere in figures["spheres"]:
        kind, diameter = "hot" if sphere["is_hot"] else "cold", f"{sphere['diameter_mm']:g}"
        row = lambda quantity: table[f"{kind} sphere {diameter} mm", quantity]
        check(sphere["contrast"] == row("contrast_recovery"), f"{diameter} mm: contrast {sphere['contrast']} in JSON, {row('contrast_recovery')} in CSV")
        line = next((words for words in lines if words[:2] == [kind, diameter]), None)
        check(line is not None, f"iq.pdf has no line of the {kind} sphere of {diameter} mm")
        for at, quantity, scale in [(2, "mean", 1), (3, "background_mean", 1), (4, "contrast_recovery", 100), (5, "background_variability", 100)]:
            # Means have five digits, parts of a hundred one behind the point.
            rounding = 0.0501 if scale == 100 else 1e-4 * row(quantity)
            check(abs(float(line[at]) - scale * row(quantity)) <= rounding, f"{diameter} mm: {quantity} {line[at]} in iq.pdf, {row(quantity)} in iq.csv")
    check("not a medical device" in text and "scan.hs" in text, "iq.pdf does not tell what made it")
    return len(figures["spheres"])


def check_svg(folder):
    """Every point of the first figure, by the labels of its axes, against the table that it shows."""
    root = xml.parse(folder / "figures/figure-1.svg").getroot()
    texts = [(e.text, float(e.get("x")), float(e.get("y")), e.get("text-anchor")) for e in root.iter(f"{SVG}text")]
    # A label stands 4 below its line on the y axis.
    decades = [(math.log10(float(text)), y - 4) for text, x, y, anchor in texts if anchor == "end"]
    (low, bottom), (high, top) = min(decades), max(decades)
    columns = {x: text for text, x, y, anchor in texts if anchor == "middle" and text.endswith("³")}
    with (folder / "values.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == "1"]
    lines, names = list(root.iter(f"{SVG}polyline")), [text for text, x, _, anchor in texts if anchor == "start"][1:]
    num_points = 0
    # Each line is followed by its sample in the legend.
    for line, name in zip(lines[::2], names, strict=True):
        column, _, which = name.rpartition(", ")
        expected = {row["row"]: row["here" if which == "here" else "paper"] for row in rows if row["column"] == column}
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            value = 10 ** (low + (bottom - y) / (bottom - top) * (high - low))
            told = expected.get(columns[x])
            check(not told or is_near(value, float(told), 0.02), f"{name}, {columns[x]}: {value} in the SVG, {told} in values.csv")
            num_points += bool(told)
    check(num_points >= 20, f"only {num_points} points of the SVG stand in values.csv")
    return num_points


def petsird_events(path):
    """Middles of all crystals, and of prompts and delayeds the pairs of crystals, their efficiencies and the middles of their bins of time of
    flight, mm: as the `petsird` package reads them."""
    import petsird
    from petsird.helpers import get_detection_efficiency

    found = ([], [])
    with petsird.BinaryPETSIRDReader(str(path)) as reader:
        scanner = reader.read_header().scanner
        middles, first = [], []
        for modules in scanner.scanner_geometry.replicated_modules:
            first.append(len(middles))
            elements = modules.object.detecting_elements
            corners = [corner.c for corner in elements.object.shape.corners]
            middle = [sum(float(c[axis]) for c in corners) / 8 for axis in range(3)]
            moved = lambda transform, point: [sum(float(m) * p for m, p in zip(row, [*point, 1.0])) for row in transform.matrix]
            middles += [moved(module, moved(element, middle)) for module in modules.transforms for element in elements.transforms]
        for block in reader.read_time_blocks():
            check(isinstance(block, petsird.TimeBlock.EventTimeBlock), "a block without events")
            check(block.value.time_interval.start < block.value.time_interval.stop, "a block without duration")
            for events, lists in zip(found, [block.value.prompt_events, block.value.delayed_events]):
                for t1, row in enumerate(lists or []):
                    for t2, coincidences in enumerate(row):
                        edges = scanner.tof_bin_edges[t1][t2].edges
                        for event in coincidences:
                            pair = event.detection_bins[0] + first[t1], event.detection_bins[1] + first[t2]
                            tof_mm = (float(edges[event.tof_idx]) + float(edges[event.tof_idx + 1])) / 2
                            events.append((pair, get_detection_efficiency(scanner, (t1, t2), event), tof_mm))
    return middles, *found


def check_list(scratch, num_prompts, num_delayeds):
    """`events.petsird` by the package, `events.Cdh` by the places that CASToR's description gives the fields of an event."""
    middles, prompts, delayeds = petsird_events(scratch / "events.petsird")
    check((len(prompts), len(delayeds)) == (num_prompts, num_delayeds), f"{len(prompts)} prompts, {len(delayeds)} delayeds of the package")
    check(all(efficiency > 0 for _, efficiency, _ in prompts + delayeds), "an event of a pair that is not in coincidence")
    header = dict(line.split(": ", 1) for line in (scratch / "events.Cdh").read_text().splitlines() if ": " in line)
    is_set = lambda name: header.get(f"{name} correction flag", "0").strip() == "1"
    fields = [name for name in ("Attenuation", "Scatter", "Random", "Normalization") if is_set(name)]
    record = struct.Struct(f"<I{len(fields)}ff2I")
    mm_per_ps = 0.299792458 / 2
    other = {}
    for values in record.iter_unpack((scratch / header["Data filename"].strip()).read_bytes()):
        (a, b), tof_mm = values[-2:], values[-3] * mm_per_ps
        other.setdefault((max(a, b), min(a, b)), []).append(tof_mm if a >= b else -tof_mm)
    table = floats((scratch / f"{header['Scanner name'].strip()}.lut").read_bytes())
    check(len(table) == 6 * len(middles), f"{len(middles)} crystals of the package, {len(table) / 6} in CASToR's table")
    off = max(abs(p - q) for crystal, middle in enumerate(middles) for p, q in zip(middle, table[6 * crystal:6 * crystal + 3]))
    check(off < 1e-3, f"crystals are {off} mm apart")
    same = {}
    for pair, _, tof_mm in prompts:
        same.setdefault(pair, []).append(tof_mm)
    check(same.keys() == other.keys(), "other pairs of crystals")
    # Bins are a tenth of the resolution of 300 ps.
    width = 300 * mm_per_ps / 10
    far = max(abs(p - q) for pair in same for p, q in zip(sorted(same[pair]), sorted(other[pair]), strict=True))
    check(far <= 0.51 * width, f"times of flight are {far} mm apart")
    return len(prompts), len(middles)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("scratch", type=Path, help="an empty folder")
    options = parser.parse_args()
    program, scratch = options.program.resolve(), options.scratch.resolve()

    def run(words, output=None):
        found = subprocess.run([program, *words.split()], cwd=scratch, check=True, stdout=subprocess.PIPE)
        if output:
            (scratch / output).write_bytes(found.stdout)

    run("simulate nema-iq-2001 --counts 3e7 --scanner discovery-ste --rois rois.toml -o scan.hs --quiet")
    run(f"reconstruct scan.hs --iterations {ITERATIONS} --subsets {SUBSETS} --rois rois.toml --csv curves.csv -o image.nii.gz --quiet")
    run("measure image.nii.gz --rois rois.toml --csv measured.csv --quiet")
    run("nema image.nii.gz --ratio 4 --report iq.pdf --csv iq.csv")
    run("nema image.nii.gz --ratio 4 --json", "iq.json")
    for name in ["image.npy", "image.hv", "series.dcm"]:
        run(f"convert image.nii.gz {name}")
    run("reproduce qiao-2015 --quick --device cpu -o figures --quiet")
    for name in ["events.petsird", "events.Cdh"]:
        run(f"simulate cylinder --scanner small --list-mode --tof-ps 300 --counts 2e4 --background 0.1 --seed 3 -o {name} --quiet")
    run("info events.petsird --json", "events.json")

    image = read_nifti(scratch / "image.nii.gz")
    values, sides, voxel_mm, first_mm = image
    npy, shape = read_npy(scratch / "image.npy")
    interfile, size = compare_images.read_image(scratch / "image.hv")
    middles = [(n - 1) / 2 * d for n, d in zip(sides, voxel_mm)]
    check(all(is_near(abs(first), middle, 1e-5) for first, middle in zip(first_mm, middles)), f"first voxel at {first_mm}, not {middles} from the middle")
    check(shape[::-1] == sides and size == sides, f"sides: {sides} in NIfTI, {shape} in NumPy, {size} in Interfile")
    check(values == npy and values == interfile, "NIfTI, NumPy and Interfile hold other values")
    check_dicom(scratch / "series.dcm", values, sides)
    print(f"one image of {' x '.join(map(str, sides))} voxels as NIfTI, NumPy, Interfile and DICOM: the same values")
    num_numbers, num_rois = check_regions(scratch, image)
    print(f"{num_numbers} numbers of {num_rois} regions: the same in the run's table and measured again; their means computed here too")
    print(f"NEMA: {check_nema(scratch)} spheres, the same as JSON, CSV and in the PDF's text")
    counted = json.loads((scratch / "events.json").read_text())
    counted = counted[0] if isinstance(counted, list) else counted
    num_events, num_crystals = check_list(scratch, counted["num_prompts"], counted["num_delayeds"])
    print(f"{num_events} events of {num_crystals} crystals: the same to the petsird package and in CASToR's file")
    print(f"SVG: {check_svg(scratch / 'figures')} points as in the table")


if __name__ == "__main__":
    main()
