"""Writes the attenuation tables *.toml of this folder (`pip install xraydb==4.5.8`, then `python make.py`).

Cross-sections: W. T. Elam, B. D. Ravel and J. R. Sieber, A new atomic database for X-ray spectroscopic calculations,
Radiation Physics and Chemistry 63 (2002) 121-128, as the Python package xraydb carries them: photo-electric, incoherent
(with the binding of the electrons) and coherent, per gram of an element, mixed by mass.

Form factors for the angles of coherent scattering: D. Waasmaier and A. Kirfel, New analytical scattering-factor functions
for free atoms and ions, Acta Crystallographica A51 (1995) 416-431, from the same package. Their fits end at 6 per
angstrom; beyond, where a few per cent of the scattering lies, the factor falls off here with the inverse square.
"""

import math
import pathlib

import numpy
from xraydb import XrayDB, atomic_mass

LOWEST_KEV, HIGHEST_KEV, NUM_ENERGIES = 10.0, 600.0, 257
# x = sin(angle / 2) / wavelength; backward scattering at 600 keV has 48.4 per angstrom.
LOWEST_X, HIGHEST_X, NUM_X, LAST_FITTED_X = 0.01, 50.0, 96, 6.0

MATERIALS = {
    "lso": ("LSO", "lutetium oxyorthosilicate, Lu2SiO5", 7.4, {"Lu": 2, "Si": 1, "O": 5}),
    "lyso": ("LYSO", "LSO with yttrium on 10 % of the lutetium's sites, Lu1.8Y0.2SiO5", 7.1,
             {"Lu": 1.8, "Y": 0.2, "Si": 1, "O": 5}),
    "bgo": ("BGO", "bismuth germanate, Bi4Ge3O12", 7.13, {"Bi": 4, "Ge": 3, "O": 12}),
    "gso": ("GSO", "gadolinium oxyorthosilicate, Gd2SiO5", 6.71, {"Gd": 2, "Si": 1, "O": 5}),
    "nai": ("NaI", "sodium iodide, NaI", 3.67, {"Na": 1, "I": 1}),
    "water": ("water", "water, H2O", 1.0, {"H": 2, "O": 1}),
}

SOURCE = "Elam, Ravel and Sieber 2002 (cross-sections), Waasmaier and Kirfel 1995 (form factors), by xraydb 4.5.8"

database = XrayDB()


def attenuation_per_mm(kind, density, atoms, energies_kev):
    """Linear attenuation coefficients of one process."""
    mass = sum(number * atomic_mass(element) for element, number in atoms.items())
    per_gram = sum(
        number * atomic_mass(element) / mass * database.cross_section_elam(element, energies_kev * 1e3, kind=kind)
        for element, number in atoms.items()
    )
    return per_gram * density / 10.0


def squared_form_factor(atoms, x):
    """Of one formula unit, its atoms taken as independent."""
    within = numpy.minimum(x, LAST_FITTED_X)
    beyond = (within / x) ** 2
    return sum(number * (database.f0(element, within) * beyond) ** 2 for element, number in atoms.items())


def array(key, values):
    """A TOML array of nine numbers a line."""
    words = [f"{value:.6e}" for value in values]
    lines = [", ".join(words[start : start + 9]) for start in range(0, len(words), 9)]
    return f"{key} = [\n" + "".join(f"    {line},\n" for line in lines) + "]\n"


def coherent_of_form_factors(density, atoms, energy_kev):
    """Coherent attenuation per mm by integration of the form factors: tells how well both sources agree."""
    squared_radius_mm2 = (2.8179403e-12) ** 2
    units_per_mm3 = density / 1e3 * 6.02214076e23 / sum(number * atomic_mass(element) for element, number in atoms.items())
    angles = numpy.geomspace(1e-5, math.pi, 20001)
    x = numpy.maximum(numpy.sin(angles / 2) * energy_kev / 12.398420, 1e-9)
    density_of_angle = math.pi * (1 + numpy.cos(angles) ** 2) * squared_form_factor(atoms, x) * numpy.sin(angles)
    return units_per_mm3 * squared_radius_mm2 * numpy.trapezoid(density_of_angle, angles)


energies_kev = numpy.geomspace(LOWEST_KEV, HIGHEST_KEV, NUM_ENERGIES)
momenta = numpy.geomspace(LOWEST_X, HIGHEST_X, NUM_X)
for file, (name, composition, density, atoms) in MATERIALS.items():
    coefficients = {kind: attenuation_per_mm(kind, density, atoms, energies_kev) for kind in ("photo", "incoh", "coh")}
    text = (
        "# Written by make.py. Both grids are spaced evenly in the logarithm, ends included.\n"
        f'name = "{name}"\n'
        f'composition = "{composition}"\n'
        f"density_g_per_cm3 = {density}\n"
        f'source = "{SOURCE}"\n'
        f"energy_ends_kev = [{LOWEST_KEV}, {HIGHEST_KEV}]\n"
        f"x_ends_per_angstrom = [{LOWEST_X}, {HIGHEST_X}]\n"
        + array("photoelectric_per_mm", coefficients["photo"])
        + array("incoherent_per_mm", coefficients["incoh"])
        + array("coherent_per_mm", coefficients["coh"])
        + array("squared_form_factors", squared_form_factor(atoms, momenta))
    )
    pathlib.Path(__file__).with_name(f"{file}.toml").write_text(text)
    for energy_kev in (100.0, 511.0):
        tabled = attenuation_per_mm("coh", density, atoms, numpy.array([energy_kev]))[0]
        integrated = coherent_of_form_factors(density, atoms, energy_kev)
        print(f"{name} at {energy_kev:.0f} keV: coherent {tabled:.6f} per mm, of the form factors {integrated:.6f}")
