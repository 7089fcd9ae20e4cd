#!/usr/bin/env python3
"""Compares two Interfile images of one grid inside a cylinder around the axis: after one fitted scale, the norm of the
difference relative to the norm of the second must not exceed a bound. Python's standard library only."""

import argparse
import array
import math
import re
import sys
from pathlib import Path


def read_image(header):
    """Values and [nx, ny, nz] of an image of 4-byte floats."""
    keys = {}
    for line in header.read_text(errors="replace").splitlines():
        key, separator, value = line.partition(":=")
        if separator:
            keys[re.sub(r"[\s!_]+", "", key).lower()] = value.strip()
    if keys["numberformat"].lower() not in ("float", "short float") or keys["numberofbytesperpixel"] != "4":
        sys.exit(f"{header}: only 4-byte floats can be compared")
    size = [int(keys[f"matrixsize[{axis}]"]) for axis in (1, 2, 3)]
    values = array.array("f")
    values.frombytes((header.parent / keys["nameofdatafile"]).read_bytes())
    if (keys["imagedatabyteorder"].lower() == "littleendian") != (sys.byteorder == "little"):
        values.byteswap()
    if len(values) != math.prod(size):
        sys.exit(f"{header}: expected {math.prod(size)} values, found {len(values)}")
    return values, size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ours", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--within-voxels", type=float, required=True, help="radius of the cylinder, in voxels")
    parser.add_argument("--at-most", type=float, required=True, help="largest relative norm of the difference")
    options = parser.parse_args()
    ours, size = read_image(options.ours)
    reference, reference_size = read_image(options.reference)
    if size != reference_size:
        sys.exit(f"{options.ours} has {size} voxels, {options.reference} has {reference_size}")
    nx, ny, _ = size
    inside = [
        y * nx + x
        for y in range(ny)
        for x in range(nx)
        if math.hypot(x - nx // 2, y - ny // 2) <= options.within_voxels
    ]
    pairs = [(ours[k + i], reference[k + i]) for k in range(0, len(ours), nx * ny) for i in inside]
    scale = math.fsum(a * b for a, b in pairs) / math.fsum(a * a for a, _ in pairs)
    difference = math.sqrt(math.fsum((scale * a - b) ** 2 for a, b in pairs) / math.fsum(b * b for _, b in pairs))
    verdict = "ok" if difference <= options.at_most else f"more than {options.at_most:.2%}"
    print(f"{options.reference.name}: fitted scale {scale:.6g}, relative difference {difference:.4%}: {verdict}")
    if verdict != "ok":
        sys.exit(1)


if __name__ == "__main__":
    main()
