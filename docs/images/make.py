#!/usr/bin/env python3
"""Makes docs/images/iterates.gif: the iterates of a simulated NEMA phantom, written by the program itself.

    docs/images/make.py PROGRAM SCRATCH

Needs Python with NumPy and Pillow. Takes about a minute on two cores and 1 GB in SCRATCH.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFont

ITERATIONS = 16
# Part of the slice around the phantom, mm.
HALF_WIDTH_MM, TOP_MM, BOTTOM_MM = 170, -125, 125
PIXEL_MM = 0.85
FIRST_MS, EACH_MS, LAST_MS = 700, 350, 2500


def main():
    program, scratch = sys.argv[1], Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    scan, image = scratch / "scan.hs", scratch / "iterate.npy"
    run(program, "simulate", "nema-iq-2001", "--scanner", "discovery-ste", "--counts", "1e8", "--seed", "1", "-o", scan)
    options = ["--device", "cpu", "--algorithm", "osem", "--subsets", "4", "--iterations", ITERATIONS, "--save-every", "1"]
    run(program, "reconstruct", scan, *options, "-o", image)

    iterates = [scratch / f"iterate_it{number:03}.npy" for number in range(1, ITERATIONS + 1)]
    grid = json.loads(Path(f"{iterates[-1]}.json").read_text())["image"]
    slices = [numpy.load(path)[grid["size"][2] // 2] for path in iterates]
    white = float(numpy.percentile(slices[len(slices) // 2], 99.9))
    frames = [frame(plane, grid, white, number) for number, plane in enumerate(slices, 1)]
    durations = [FIRST_MS] + [EACH_MS] * (len(frames) - 2) + [LAST_MS]
    out = Path(__file__).with_name("iterates.gif")
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    print(f"{out}: {len(frames)} frames, {out.stat().st_size} bytes")


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def frame(plane, grid, white, number):
    """The part of a transaxial slice around the phantom, in inverted grey, with the number of its iteration."""
    (dx, dy, _), (ny, nx) = grid["voxel_mm"], plane.shape
    left, right = (nx / 2 + side * HALF_WIDTH_MM / dx for side in (-1, 1))
    top, bottom = (ny / 2 + edge / dy for edge in (TOP_MM, BOTTOM_MM))
    size = (round(2 * HALF_WIDTH_MM / PIXEL_MM), round((BOTTOM_MM - TOP_MM) / PIXEL_MM))
    grey = 255 * (1 - numpy.clip(plane / white, 0, 1))
    picture = Image.fromarray(grey.astype("uint8"))
    picture = picture.resize(size, Image.Resampling.BICUBIC, box=(left, top, right, bottom))
    text = f"iteration {number} of {ITERATIONS}"
    ImageDraw.Draw(picture).text((8, 6), text, fill=40, font=ImageFont.load_default(14))
    return picture


if __name__ == "__main__":
    main()
