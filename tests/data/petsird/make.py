#!/usr/bin/env python3
"""Makes the files of this folder: lists of events written by the `petsird` package (pip install petsird==0.12.0 numpy), and an image
that was reconstructed from one of them here, in double precision, by a projector that shares nothing with the program's."""

import math

import numpy as np
import petsird
from petsird.helpers.create import initialize_scanner_information_dimensions

SEED = 20261124
ITERATIONS = 5
GRID, VOXEL_MM, FOV_MM = (13, 13, 7), 9.0, 54.0
CALIBRATION = 2.5
SIGMA_OF_FWHM = 1 / math.sqrt(8 * math.log(2))
REACH = 3.0

# Type of module: modules, first angle, inner radius, crystal (depth, tangential, axial), crystals (tangential, axial).
TYPES = [
    (10, 0.10, 100.0, (20.0, 8.0, 8.0), (4, 3)),
    (10, 0.10 + math.pi / 10, 96.0, (15.0, 9.0, 11.0), (3, 2)),
]
# Edges of the bins of time of flight and resolution (FWHM), mm, of pairs of types.
TOF = {
    (0, 0): (np.linspace(-63.0, 63.0, 8), 50.0),
    (1, 0): (np.array([-60.0, -20.0, 0.0, 25.0, 70.0]), 70.0),
    (1, 1): (np.array([-55.0, -15.0, 20.0, 60.0]), 36.0),
}


def erf(values):
    return np.array([math.erf(value) for value in values])


class Scanner:
    """Crystals by their numbers: type, module, element."""

    def __init__(self):
        self.centres, self.type, self.module, self.element = [], [], [], []
        self.first = []
        for kind, (modules, angle, radius, (depth, width, height), (across, along)) in enumerate(TYPES):
            self.first.append(len(self.centres))
            for module in range(modules):
                phi = angle + 2 * math.pi * module / modules
                for element in range(across * along):
                    i, k = element // along, element % along
                    x, y, z = radius + depth / 2, (i - (across - 1) / 2) * width, (k - (along - 1) / 2) * height
                    self.centres.append((math.cos(phi) * x - math.sin(phi) * y, math.sin(phi) * x + math.cos(phi) * y, z))
                    self.type.append(kind)
                    self.module.append(module)
                    self.element.append(element)
        # As the file tells them.
        self.centres = np.array(self.centres)
        num = len(self.centres)
        self.single = 0.6 + 0.04 * ((7 * np.arange(num)) % 11)
        self.single[[17, 140]] = 0.0

    def group(self, a, b):
        """Group of symmetric pairs of modules, -1 where they are not in coincidence."""
        kinds = self.type[a], self.type[b]
        away = abs(self.module[a] - self.module[b]) % 10
        away = min(away, 10 - away)
        if away < 3:
            return -1
        return 0 if kinds == (0, 0) else (self.module[a] + self.module[b]) % 2

    def pair_value(self, a, b):
        """Of the elements of a pair, in its group."""
        group = self.group(a, b)
        if group < 0:
            return 0.0
        return 1.0 if group == 0 else 0.8 + 0.02 * ((self.element[a] + 2 * self.element[b]) % 5)

    def pairs(self):
        """All pairs in coincidence, the higher number first, and their efficiencies."""
        pairs, efficiencies = [], []
        for a in range(len(self.centres)):
            for b in range(a):
                efficiency = CALIBRATION * self.single[a] * self.single[b] * self.pair_value(a, b)
                if efficiency > 0:
                    pairs.append((a, b))
                    efficiencies.append(efficiency)
        return np.array(pairs), np.array(efficiencies)


def pieces(start, end, window):
    """Voxels that a line crosses: their indices, and the ends of the piece in each, l in mm from the line's middle towards its end. Of a
    piece only what lies in the window of l."""
    length = math.dist(start, end)
    direction = (end - start) / length
    middle = (start + end) / 2
    cuts = [np.array(window), np.array([-length / 2, length / 2])]
    for axis in range(3):
        if direction[axis]:
            faces = (np.arange(GRID[axis] + 1) - GRID[axis] / 2) * VOXEL_MM
            cuts.append((faces - middle[axis]) / direction[axis])
    cuts = np.sort(np.concatenate(cuts))
    cuts = cuts[(cuts >= max(window[0], -length / 2)) & (cuts <= min(window[1], length / 2))]
    low, high = cuts[:-1], cuts[1:]
    places = middle + np.outer((low + high) / 2, direction)
    voxels = np.floor(places / VOXEL_MM + np.array(GRID) / 2).astype(int)
    centres = (voxels - (np.array(GRID) - 1) / 2) * VOXEL_MM
    inside = ((voxels >= 0) & (voxels < GRID)).all(1) & (high - low > 1e-9) & (np.hypot(centres[:, 0], centres[:, 1]) <= FOV_MM)
    index = (voxels[:, 2] * GRID[1] + voxels[:, 1]) * GRID[0] + voxels[:, 0]
    return index[inside], low[inside], high[inside]


def row(start, end, interval, fwhm):
    """Lengths in voxels times the probability that d lies in the interval."""
    sigma = SIGMA_OF_FWHM * fwhm
    reach = REACH * sigma
    index, low, high = pieces(start, end, (interval[0] - reach, interval[1] + reach))
    l = (low + high) / 2
    cumulative = lambda d: erf(np.clip((d - l) / sigma, -REACH, REACH) / math.sqrt(2)) / 2 / math.erf(REACH / math.sqrt(2))
    return index, (high - low) * (cumulative(interval[1]) - cumulative(interval[0]))


def box(sides, material=1):
    corner = lambda index: petsird.Coordinate(c=np.array([sides[a] * (index >> a & 1) for a in range(3)], dtype=np.float32))
    return petsird.BoxSolidVolume(shape=petsird.BoxShape(corners=[corner(index) for index in range(8)]), material_id=material)


def transform(rows):
    return petsird.RigidTransformation(matrix=np.array(rows, dtype=np.float32))


def geometry():
    modules = []
    for count, angle, radius, sides, (across, along) in TYPES:
        elements = petsird.ReplicatedBoxSolidVolume(object=box(sides))
        for i in range(across):
            for k in range(along):
                y, z = (i - across / 2) * sides[1], (k - along / 2) * sides[2]
                elements.transforms.append(transform([(1, 0, 0, radius), (0, 1, 0, y), (0, 0, 1, z)]))
        module = petsird.ReplicatedDetectorModule(object=petsird.DetectorModule(detecting_elements=elements))
        for number in range(count):
            phi = angle + 2 * math.pi * number / count
            cos, sin = math.cos(phi), math.sin(phi)
            module.transforms.append(transform([(cos, -sin, 0, 0), (sin, cos, 0, 0), (0, 0, 1, 0)]))
        modules.append(module)
    return petsird.ScannerGeometry(replicated_modules=modules)


def information(scanner, tof, idle=None):
    """Of the scanner with these bins; modules of the pair of types `idle` are not in coincidence."""
    info = petsird.ScannerInformation(model_name="TWO_TYPES", scanner_geometry=geometry())
    initialize_scanner_information_dimensions(info, 2, True, True)
    info.detection_efficiencies.calibration_factor = CALIBRATION
    for t1, (modules1, *_, counts1) in enumerate(TYPES):
        info.event_energy_bin_edges[t1] = petsird.BinEdges(edges=np.array([430.0, 650.0], dtype=np.float32))
        info.energy_resolution_at_511[t1] = 0.11
        of_type = [c for c, kind in enumerate(scanner.type) if kind == t1]
        info.detection_efficiencies.detection_bin_efficiencies[t1] = [float(scanner.single[c]) for c in of_type]
        for t2, (modules2, *_, counts2) in enumerate(TYPES[: t1 + 1]):
            edges, fwhm = tof[t1, t2]
            info.tof_bin_edges[t1][t2] = petsird.BinEdges(edges=np.array(edges, dtype=np.float32))
            info.tof_resolution[t1][t2] = fwhm
            num1, num2 = math.prod(counts1), math.prod(counts2)
            crystal = lambda kind, module, element: scanner.first[kind] + module * (num1, num2)[kind != t1] + element
            table = [
                [scanner.group(crystal(t1, m1, 0), scanner.first[t2] + m2 * num2) if (t1, t2) != idle else -1
                 for m2 in range(m1 + 1 if t1 == t2 else modules2)]
                for m1 in range(modules1)
            ]
            info.detection_efficiencies.module_pair_sgidlut[t1][t2] = table
            groups = []
            for group in range(1 if (t1, t2) == (0, 0) else 2):
                value = lambda e1, e2: 1.0 if group == 0 else 0.8 + 0.02 * ((e1 + 2 * e2) % 5)
                values = [[value(e1, e2) for e2 in range(num2)] for e1 in range(num1)]
                groups.append(petsird.ModulePairEfficiencies(values=values, sgid=group))
            info.detection_efficiencies.module_pair_efficiencies_vectors[t1][t2] = groups
    info.prompt_event_policy = petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES
    info.delayed_event_policy = petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES
    return info


def by_types(scanner, events):
    """Events (first, second, bin) as the package lists them: `[type1][type2]`, of detection bins within the types."""
    lists = [[[] for _ in range(t1 + 1)] for t1 in range(len(TYPES))]
    for first, second, tof in events:
        t1, t2 = scanner.type[first], scanner.type[second]
        bins = [int(first - scanner.first[t1]), int(second - scanner.first[t2])]
        lists[t1][t2].append(petsird.CoincidenceEvent(detection_bins=bins, tof_idx=int(tof)))
    return lists


def write(path, info, blocks, scanner, exam=None):
    with petsird.BinaryPETSIRDWriter(path) as writer:
        writer.write_header(petsird.Header(scanner=info, exam=exam))
        for start, stop, prompts, delayeds in blocks:
            block = petsird.EventTimeBlock(
                time_interval=petsird.TimeInterval(start=start, stop=stop),
                prompt_events=by_types(scanner, prompts), delayed_events=by_types(scanner, delayeds),
                triple_events=[], quadruple_events=[],
            )
            writer.write_time_blocks((petsird.TimeBlock.EventTimeBlock(block),))


def exam():
    """370 MBq of FDG an hour before the scan of a woman."""
    meaning = lambda text: petsird.DICOMBasicCodeSequence(code_meaning=text)
    moment = petsird.yardl_types.DateTime.parse
    tracer = petsird.DICOMRadiopharmaceuticalInformation(
        radiopharmaceutical_start_date_time=moment("2026-03-01T11:00:00"),
        radionuclide_total_dose=370e6,
        radiopharmaceutical_code_sequence=meaning("Fluorodeoxyglucose F^18^"),
        radionuclide_code_sequence=meaning("^18^Fluorine"),
    )
    return petsird.ExamInformation(
        modality="PT",
        start_of_study=moment("2026-03-01T11:55:00"),
        start_of_acquisition=moment("2026-03-01T12:00:00.5"),
        patient=petsird.DICOMPatientInformation(patients_sex="F", patients_size=1.65, patients_weight=62.5),
        radiopharmaceuticals=[tracer],
    )


def truth():
    """A cylinder with a hot ball in it."""
    x, y, z = [(np.arange(n) - (n - 1) / 2) * VOXEL_MM for n in GRID]
    z, y, x = np.meshgrid(z, y, x, indexing="ij")
    image = np.where((np.hypot(x, y) <= 45) & (np.abs(z) <= 20), 1.0, 0.0)
    image[(x - 20) ** 2 + (y + 12) ** 2 + (z - 4) ** 2 <= 144] = 6.0
    return image.ravel()


def intervals(scanner, pair):
    edges, fwhm = TOF[scanner.type[pair[0]], scanner.type[pair[1]]]
    edges = edges.astype(np.float32).astype(float)
    return edges, fwhm


def main():
    random = np.random.default_rng(SEED)
    scanner = Scanner()
    pairs, efficiencies = scanner.pairs()
    image = truth()

    # Expected counts of every pair and bin; the sensitivity of all of them, and of the lines as if nothing ended.
    sensitivity, unlimited = np.zeros(len(image)), np.zeros(len(image))
    bins, expected = [], []
    for number, (pair, efficiency) in enumerate(zip(pairs, efficiencies)):
        start, end = scanner.centres[pair[0]], scanner.centres[pair[1]]
        edges, fwhm = intervals(scanner, pair)
        index, lengths = row(start, end, (edges[0], edges[-1]), fwhm)
        np.add.at(sensitivity, index, efficiency * lengths)
        index, low, high = pieces(start, end, (-1e3, 1e3))
        np.add.at(unlimited, index, efficiency * (high - low))
        for tof in range(len(edges) - 1):
            index, lengths = row(start, end, (edges[tof], edges[tof + 1]), fwhm)
            if len(index):
                bins.append((number, tof))
                expected.append(efficiency * lengths @ image[index])
    expected = np.array(expected)
    counts = random.poisson(expected * 2400 / expected.sum())
    prompts = [(*pairs[bins[i][0]], bins[i][1]) for i in np.repeat(np.arange(len(bins)), counts)]
    random.shuffle(prompts)
    # Randoms: pairs of singles, evenly over the window.
    weights = scanner.single[pairs[:, 0]] * scanner.single[pairs[:, 1]]
    delayeds = []
    for number in random.choice(len(pairs), 240, p=weights / weights.sum()):
        edges, _ = intervals(scanner, pairs[number])
        d = random.uniform(edges[0], edges[-1])
        delayeds.append((*pairs[number], np.searchsorted(edges, d) - 1))
    ends = [0, 700, 1500, len(prompts)]
    times = [(0, 250), (250, 700), (1500, 2600)]
    blocks = [(*times[k], prompts[ends[k]:ends[k + 1]], delayeds[80 * k:80 * (k + 1)]) for k in range(3)]
    write("two_types.petsird", information(scanner, TOF), blocks, scanner)

    # Time of flight between modules of the first type only: one bin is a window, and what is never in coincidence has anything.
    tof = {(0, 0): TOF[0, 0], (1, 0): (np.array([-80.0, 120.0]), 1000.0), (1, 1): (np.array([0.0]), 0.0)}
    of_types = lambda event, kinds: (scanner.type[event[0]], scanner.type[event[1]]) == kinds
    some = [event for event in prompts if of_types(event, (0, 0))][:40]
    some += [(a, b, 0) for a, b, _ in prompts if of_types((a, b), (1, 0))][:30]
    write("idle_pair.petsird", information(scanner, tof, idle=(1, 1)), [(0, 100, some, [])], scanner)

    # With an exam.
    first = [pair for pair in pairs if of_types(pair, (0, 0))][:40]
    events = [(a, b, number % 7) for number, (a, b) in enumerate(first)]
    write("exam.petsird", information(scanner, tof, idle=(1, 1)), [(0, 60000, events, [])], scanner, exam())

    # MLEM of the prompts alone, in the order of the file.
    rows = []
    for first, second, tof in prompts:
        edges, fwhm = intervals(scanner, (first, second))
        rows.append(row(scanner.centres[first], scanner.centres[second], (edges[tof], edges[tof + 1]), fwhm))
    estimate = np.full(len(image), len(prompts) / sensitivity.sum())
    for _ in range(ITERATIONS):
        back = np.zeros(len(image))
        for index, lengths in rows:
            mean = lengths @ estimate[index]
            if mean > 0:
                np.add.at(back, index, lengths / mean)
        estimate = np.where(sensitivity > 0, estimate * back / np.where(sensitivity > 0, sensitivity, 1), 0)
    for name, values in [("sensitivity", sensitivity), ("unlimited", unlimited), ("image", estimate)]:
        values.astype("<f4").tofile(f"two_types_{name}.f32")
    print(len(pairs), "pairs,", len(prompts), "prompts,", sensitivity.sum() / unlimited.sum(), "of the unlimited sensitivity")
    seen = unlimited > 0
    print("smallest part of a voxel", (sensitivity[seen] / unlimited[seen]).min(), "image sum", estimate.sum())


if __name__ == "__main__":
    main()
