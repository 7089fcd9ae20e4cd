"""Two acquisitions of one object with two radicals at other microwave powers and gradients, and PyEPRI's images of both together.

pip install pyepri==1.1.1, then: python make.py
"""

import numpy as np
from pyepri import backends, multisrc, processing

NUM_SAMPLES, STEP_G = 64, 0.5
NUM_PIXELS, PIXEL_CM = 24, 0.05
LAMBDA, TOLERANCE = 0.005, 1e-5

field = (np.arange(NUM_SAMPLES) - NUM_SAMPLES // 2) * STEP_G


def single(values):
    """Values as a file of 32-bit floats has them."""
    return np.ascontiguousarray(values, dtype=np.float32).astype(np.float64)


def disc(x, y, radius):
    rows, columns = np.mgrid[:NUM_PIXELS, :NUM_PIXELS] - NUM_PIXELS // 2
    return ((columns - x) ** 2 + (rows - y) ** 2 <= radius**2).astype(np.float64)


def derivative_of_lorentzian(half_width_g, amplitude):
    return single(amplitude * -2 * half_width_g**2 * field / (np.pi * (field**2 + half_width_g**2) ** 2))


def half_circle(number, size_g_per_cm, first):
    angles = first + np.pi * np.arange(number) / number
    return single(size_g_per_cm * np.stack([np.cos(angles), np.sin(angles)]))


# Concentrations per cm²: two overlapping pairs of discs.
images = [100 * (disc(-4, -2, 5) + 0.5 * disc(5, 5, 3)), 100 * disc(4, -1, 5)]
# At the lower power both spectra are nearly alike. At the higher one the first radical is saturated: broader and lower.
spectra = [
    [derivative_of_lorentzian(1.2, 1.0), derivative_of_lorentzian(1.5, 1.0)],
    [derivative_of_lorentzian(1.6, 0.5), derivative_of_lorentzian(1.5, 2.0)],
]
gradients = [half_circle(20, 10.0, 0.1), half_circle(15, 14.0, 0.0)]

backend = backends.create_numpy_backend()
projections = multisrc.proj2d(images, PIXEL_CM, field, spectra, gradients, backend=backend, eps=1e-12)
random = np.random.default_rng(7)
projections = [single(p + 0.02 * np.abs(p).max() * random.standard_normal(p.shape)) for p in projections]
shape = (NUM_PIXELS, NUM_PIXELS)
found = processing.tv_multisrc(
    projections, field, gradients, PIXEL_CM, spectra, LAMBDA, [shape, shape], backend=backend, tol=TOLERANCE, eps=1e-10
)

def save(name, values):
    np.save(f"powers-{name}.npy", np.ascontiguousarray(values, dtype=np.float32))


for number in range(2):
    save(f"{number + 1}-proj", projections[number])
    save(f"{number + 1}-B", field)
    save(f"{number + 1}-fgrad", gradients[number])
    save(f"{number + 1}-htam", spectra[number][0])
    save(f"{number + 1}-htempo", spectra[number][1])
save("tv-tam", found[0])
save("tv-tempo", found[1])
