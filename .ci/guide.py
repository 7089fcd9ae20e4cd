"""The illustrated guide: a session in the window, step by step. Each chapter is a function that does what its text says; the
text and the pictures that it took become assets/guide.md. `.ci/guide.sh` runs it."""

import sys
import time
from pathlib import Path

from named_window import NamedWindow, run

ASSETS = Path("assets")
PICTURES = ASSETS / "screenshots"
SLICE = "Transaxial slice"

TITLE = """# A guide to the window

For clinicians and medical physicists: the panels, the actions and the values of the window. Everything here was done with
the program as it starts, on its built-in study, a simulated scan of the NEMA image quality phantom (2001: four hot spheres
of 10 to 22 mm, four times as active as the background, two cold ones of 28 and 37 mm, a cold lung insert). The pictures were taken by the script
that wrote this page (`.ci/guide.sh`). tomoscope is no medical device: it is for research and quality assurance.
"""

class Session:
    """The window, where files go, and the pictures of the chapter under way."""

    def __init__(self, program, scratch):
        self.window, self.scratch, self.taken = NamedWindow(program, folder=scratch), Path(scratch), []

    def picture(self, name, words, box=None):
        self.window.picture(PICTURES / f"{name}.png", box)
        self.taken.append(f"![{words}](screenshots/{name}.png)")

    def from_top_of(self, name):
        """The box of the whole width from a widget down to the status line."""
        _, top, _, _ = self.window.wait(name).box
        return 0, top - 6, 1280, 880 - top


def watching(session):
    """## Live reconstruction

    The reconstruction starts automatically. Left: the study, the run buttons and the settings. Middle: three slices through
    the crosshair, with the phantom's regions. Below: the values of the regions and their curves. Every iterate
    appears as soon as it is complete. All values refer to the displayed image. The status line shows the device, the
    accumulation mode, the iteration and the speed.

    - *Pause* (Space) pauses after the current step, *Step* (S) does a single step, *Stop and keep image* ends the run.
    - A click in a slice sets the crosshair, the mouse wheel scrolls through slices, Ctrl + wheel zooms, a drag with the right button sets the window.
      The hint below the slices explains the mouse actions.
    - The slider above the slices shows earlier iterates (arrow keys); *Live* (L) shows the newest one.
    """
    session.window.wait("running · iteration 2 of 4*")
    session.picture("watching", "The window during the second of four iterations")


def regions(session):
    """## Regions and their numbers

    Choose *Circle*, *Rectangle* or *Sphere* (more under *More…*) and drag in a slice: circles and spheres from the middle outwards, rectangles from corner to corner. The new region is selected: a drag inside moves
    it, its handles change its size, Ctrl+D copies it, Delete removes it, Ctrl+Z undoes. In its fields give it a name and a
    role: *hot* (with the true ratio of its activity to the background's), *cold* or *background*.

    | value | meaning |
    |---|---|
    | mean, SD | Mean and standard deviation of the values of the region's voxels; a voxel cut by the edge has a partial weight |
    | NSR (CV) | Noise-to-signal ratio SD / mean, also called coefficient of variation: the noise of a uniform region |
    | recovery | Part of the true contrast that the image shows. Hot: (mean / b − 1) / (true ratio − 1); cold: 1 − mean / b, where b is the mean of all background regions. 100 % is the truth |
    | CNR | Contrast-to-noise ratio (mean − b) / √((SD² + SD_b²) / 2): visibility of the region in the noise; negative for cold regions |
    | mL | Volume of the region; for a flat one the volume in its slice |

    Values are in counts/mm until a calibration turns them into Bq/mL. *Copy table* puts the table on the clipboard.
    """
    window = session.window
    window.wait("completed · iteration 4 of 4*")
    window.click("Sphere")
    window.drag(SLICE, (0.5, 0.63), (0.532, 0.63))
    window.click("Crosshair")
    window.drag(SLICE, (0.5, 0.63), (0.70, 0.605))
    window.move(640, 560)
    session.picture("regions", "A new region, drawn and moved; its fields and its numbers below")


def iterations(session):
    """## Choosing the iteration

    More iterations increase contrast and noise: the plots below the slices show both. *vs NSR* draws contrast against noise,
    one line per sphere, with numbered iterations. Beyond the point where a line becomes flat, noise
    increases and contrast does not. **A click on a line shows the image of that iteration**, with its numbers. Hovering shows values, a drag zooms,
    a double click resets the zoom, the context menu saves the plot as SVG, PNG or CSV.

    *Likelihood* is the log-likelihood of the image (larger is better); *Gain* is its increase per iteration, and
    *Residual* is Σ (y − e)² / Σ e for data y and expected counts e: 1 for Poisson noise alone.
    *Pin* keeps an iterate in the history. *Save image…* saves the displayed image.
    """
    window = session.window
    window.click("vs NSR")
    plot = "Plot: contrast recovery against noise"
    for across, down in [(x / 10, y / 10) for x in (4, 3, 5) for y in (3, 4, 2, 5)]:
        window.click(plot, None, across, down)
        if any(window.find(f"iteration {number}") for number in (1, 2, 3)):
            break
    else:
        raise SystemExit("no click in the plot chose an iterate")
    window.move(*window.wait(plot).at(0.45, 0.35))
    session.picture("iterations", "Recovery against noise; the ring is the iterate on the screen", session.from_top_of("Regions"))
    window.key("l")


def comparing(session):
    """## Comparing two reconstructions

    *Repeat run with…* repeats the run with one setting changed. The first run stays: its curves become fainter, and *Compare*
    lists the differences. Above the slices choose the comparison: side by side, up to a line that
    you drag (*swipe*), alternating (*blink*), or subtracted (*difference*). C selects the next one.

    Here the second run adds *non-atomic*: threads that update the same voxel lose additions. It shows the effect of unsynchronised updates, is marked red, and
    is not for diagnosis. On a CPU few additions are lost, on a GPU many; *Race* shows their share.
    *CC* is the correlation coefficient of both images, 1 if they differ only by a factor and a constant; *relative difference* is ‖a − b‖ / ‖b‖ over all voxels.
    """
    window = session.window
    window.click("Repeat run with…")
    window.click("Accumulation")
    window.click("non-atomic", "push button")
    window.wait("completed · iteration 4 of 4*", None, 600)
    window.click("Compare")
    window.click("side by side")
    window.wait("CC *")
    window.move(640, 590)
    session.picture("comparing", "Two runs side by side, their settings and results below")
    window.click("difference")
    window.move(640, 590)
    box = window.wait(SLICE).box
    session.picture("difference", "The difference of two images, in colours around 0", (300, box[1] - 30, 980, box[3] + 34))
    window.click("off")


def profiles(session):
    """## Profiles and widths

    Choose *Line* and drag across what you want to look at. The profile is drawn at the lower right, with the truth where it is known
    (phantoms). Each separate peak has its full width at half maximum (FWHM, of a fitted Gaussian) ± its standard deviation,
    in mm: the narrower, the better the resolution. A width in mm next to *line* averages over a band and lowers the noise.
    """
    window = session.window
    window.click("Line", "toggle button")
    window.drag(SLICE, (0.34, 0.36), (0.67, 0.36))
    window.click("Crosshair")
    window.move(640, 590)
    session.picture("profiles", "A line across two hot spheres, and its profile")


def stopping(session):
    """## Stopping rules

    Under *Stop automatically* a run ends when the noise exceeds a limit (*NSR above*, mean of the background regions),
    when the recovery of a region has converged, or when the likelihood hardly increases. The rule is a line in its plot. The
    window shows the reason.
    """
    window = session.window
    window.click("deterministic", "radio button")
    window.click("Stop automatically")
    window.click("NSR above")
    window.click("Restart")
    window.wait("stopped*", None, 600)
    window.move(640, 590)
    session.picture("stopping", "The run has ended after the iteration whose noise passed 10 %")
    window.click("Stop automatically: 1 on")


def nema(session):
    """## NEMA image quality

    For an image of the NEMA body phantom, *NEMA*, *NU 2 template* under *Regions* finds the phantom automatically and places the circles of the standard:
    six spheres, 60 background circles, lung insert. Circles that you move are measured where they are. *NEMA report…* writes the report as PDF:

    - *contrast* of a hot sphere Q = (C_H / C_B − 1) / (a_H / a_B − 1), of a cold one Q = 1 − C_C / C_B, in %, with the mean C_B of the background
      circles of the same size and the true ratio a_H / a_B;
    - *background variability* N = SD of the means of these circles / C_B, in %;
    - *lung residual*: mean of the lung insert / C_B, in %, slice by slice: activity where there is none.

    The small-animal phantom of NU 4 has its own template and report.
    """
    window, report = session.window, session.scratch / "report.pdf"
    window.click("Regions")
    window.click("NEMA")
    window.click("NEMA NU 2 template")
    window.click("NEMA")
    window.click("NEMA report…")
    window.wait("OK")
    window.type(report.name)
    window.click("OK")
    while not report.exists():
        time.sleep(0.5)
    # Until the note of it has gone.
    time.sleep(6)
    window.click("NEMA")
    window.click("NEMA NU 2 template")
    window.move(640, 590)
    session.picture("nema", "The template's circles, and their numbers")
    run("pdftoppm", "-png", "-r", "55", "-f", 1, "-l", 1, "-singlefile", report, session.scratch / "report")
    png = PICTURES / "report.png"
    run("convert", session.scratch / "report.png", "-bordercolor", "grey", "-border", 1, "+dither", "-colors", 64, f"png8:{png}")
    session.taken.append("![The first page of the report](screenshots/report.png)")
    window.click("Reset ROIs")


def views(session):
    """## Other views

    *Views* has the layouts (row, one large, two by two), thick slices (mean or maximum over some mm), and a view that a drag turns: a maximum intensity projection (MIP), in which
    a click sets the crosshair to the brightest voxel behind it, or an oblique slice through the crosshair. *Fit object* (F) zooms to the
    active region.
    """
    window = session.window
    window.click("Views")
    window.click("Two by two, with MIP or oblique slice")
    window.key("Escape")
    window.drag("MIP", (0.5, 0.5), (0.3, 0.42))
    window.move(640, 590)
    session.picture("views", "Three slices and a projection that a drag has turned")
    window.click("Views")
    window.click("Oblique slice")
    window.key("Escape")
    window.drag("Oblique slice", (0.5, 0.5), (0.55, 0.62), "image")
    window.move(640, 590)
    top, (_, y, _, height) = window.wait(SLICE).box[1], window.wait("Oblique slice", "image").box
    session.picture("oblique", "An oblique slice", (300, top - 4, 980, y + height + 8 - top))


def layouts(session):
    """## Layouts

    The window consists of panes with titles. Drag a title to move its pane, or a border to resize it. A double click on a title maximises
    the pane, and Esc returns it to its place. *Layout* arranges all panes for a kind of work: *Watch* (F2), *Compare* (F3), *Fusion* (F4),
    *QA (NEMA)* (F6), *EPRI* (F7). It also shows and hides panes, and saves the present layout under a name.
    """
    window = session.window
    window.key("F6")
    window.click("Layout")
    window.wait("Layout Fusion")
    session.picture("layouts", "The layout for phantoms, and the menu of the layouts")
    window.key("Escape")
    window.key("F2")


def exporting(session):
    """## Saving and exporting

    *Save image…* (Ctrl+S) writes the image on the screen: NIfTI, Interfile, NumPy, or a DICOM PET series; the ending of the name chooses. *Export CSV…* (Ctrl+E) writes the
    numbers of every iterate, *Save ROIs…* the regions, *Save picture* (Ctrl+P) the window, or the slices alone, as PNG at twice the resolution. A `.json` next to an image or a table is its provenance record: data, algorithm,
    iteration, settings, device. F1 or ? lists all keys.
    """
    window = session.window
    window.key("F1")
    window.wait("Close")
    session.picture("keys", "The keys (F1)", (340, 90, 600, 720))
    window.key("Escape")
    window.click("Save image…")
    window.wait("OK")
    window.type("patient-7.dcm")
    x, y, width, height = window.wait("OK").box
    session.picture("exporting", "Without file dialogs of the desktop: type a path", (x - 40, y - 150, 620, 210))
    window.key("Escape")


def going_on(session):
    """## Sessions

    *Save session…* (Ctrl+Shift+S) saves the study, the run settings, the regions, the views and the plots in a small text file
    (`.session`). Open it like a study, drop it on the window, or start `tomoscope FILE.session`: the images are reconstructed again, and the
    settings of the other runs are under *Repeat run with…*. The program also looks for moved data in the folder of the session file.
    The last work is stored automatically and offered when the program opens.
    """
    window = session.window
    window.click("Regions")
    window.click("Add sphere")
    # The window keeps the work twice a minute.
    time.sleep(35)
    window.restart()
    x, y, _, _ = window.wait("Last session: *").box
    window.wait("running · iteration 1 of 4*")
    session.picture("restoring", "*Restore* loads the last session", (0, 0, 640, y + 320))


CHAPTERS = [watching, regions, iterations, comparing, profiles, stopping, nema, views, layouts, exporting, going_on]


def text_of(chapter):
    """Its docstring without the indentation of code."""
    return "\n".join(line.removeprefix("    ") for line in chapter.__doc__.strip().splitlines()) + "\n"


def main():
    program, scratch = sys.argv[1:]
    PICTURES.mkdir(exist_ok=True)
    session = Session(program, scratch)
    parts = [TITLE]
    try:
        for chapter in CHAPTERS:
            print(chapter.__name__, flush=True)
            session.taken = []
            chapter(session)
            parts += [text_of(chapter), "\n\n".join(session.taken) + "\n"]
    finally:
        session.window.close()
    (ASSETS / "guide.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
