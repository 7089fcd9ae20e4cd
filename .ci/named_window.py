"""A window under Xvfb, driven as a screen reader and a hand would: widgets are found by their names on the accessibility
bus (AT-SPI) and clicked where they are (xdotool), so that a script knows names and no coordinates. Run with Debian's
python3, which has python3-gi, under `xvfb-run … dbus-run-session`; takes the packages at-spi2-core, dbus, gir1.2-atspi-2.0,
python3-gi, xdotool and imagemagick."""

import os
import subprocess
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True).stdout


class Widget:
    """Name and role of a node, and the rectangle that it fills on the screen."""

    def __init__(self, node):
        self.name, self.role = node.get_name(), node.get_role_name()
        extents = node.get_extents(Atspi.CoordType.SCREEN)
        self.box = (extents.x, extents.y, extents.width, extents.height)

    def at(self, across=0.5, down=0.5):
        x, y, width, height = self.box
        return round(x + across * width), round(y + down * height)


class NamedWindow:
    """A program with one window, until `close`."""

    def __init__(self, *command, folder="."):
        # Programs offer their names once somebody is known to listen.
        self.bus = subprocess.Popen(["/usr/libexec/at-spi-bus-launcher", "--launch-immediately"], stderr=subprocess.DEVNULL)
        time.sleep(2)
        for key in ("IsEnabled", "ScreenReaderEnabled"):
            run("gdbus", "call", "--session", "--dest", "org.a11y.Bus", "--object-path", "/org/a11y/bus",
                "--method", "org.freedesktop.DBus.Properties.Set", "org.a11y.Status", key, "<true>")
        Atspi.init()
        self.command, self.folder = [str(word) for word in command], folder
        self._start()

    def _start(self):
        self.program = subprocess.Popen(self.command, cwd=self.folder)
        # Without a window manager nobody else gives it the keys.
        found = run("xdotool", "search", "--sync", "--onlyvisible", "--pid", self.program.pid)
        run("xdotool", "windowfocus", found.split()[-1])

    def restart(self):
        """Ends the program and starts it again."""
        self.program.terminate()
        self.program.wait()
        self._start()

    def close(self):
        for process in (self.program, self.bus):
            process.terminate()
            process.wait()

    def _walk(self, node):
        # What is being drawn anew while it is asked answers with an error, and is asked again next time.
        try:
            children = [node.get_child_at_index(index) for index in range(node.get_child_count())]
        except GLib.Error:
            return
        for child in filter(None, children):
            try:
                yield Widget(child)
            except GLib.Error:
                pass
            yield from self._walk(child)

    def widgets(self):
        """All that the window shows now."""
        desktop = Atspi.get_desktop(0)
        for index in range(desktop.get_child_count()):
            application = desktop.get_child_at_index(index)
            if application and application.get_process_id() == self.program.pid:
                Atspi.Accessible.clear_cache(application)
                yield from self._walk(application)

    def find(self, name, role=None):
        """The widget of this name, or whose name begins so where it ends with `*`; None without one."""
        found = [w for w in self.widgets() if (w.name == name or (name.endswith("*") and w.name.startswith(name[:-1])))
                 and role in (None, w.role) and w.box[2] > 0]
        return found[0] if found else None

    def wait(self, name, role=None, secs=300):
        """The widget of this name, once it is there."""
        end = time.monotonic() + secs
        while time.monotonic() < end:
            if self.program.poll() is not None:
                raise SystemExit("the window closed by itself")
            widget = self.find(name, role)
            if widget:
                return widget
            time.sleep(0.2)
        names = sorted({w.name for w in self.widgets()})
        raise SystemExit(f"nothing called '{name}' came in {secs} s; there are: {names}")

    def move(self, x, y):
        run("xdotool", "mousemove", x, y)
        time.sleep(0.3)

    def click(self, name, role=None, across=0.5, down=0.5):
        self.move(*self.wait(name, role, 60).at(across, down))
        run("xdotool", "click", 1)
        time.sleep(0.7)

    def drag(self, name, start, end, role=None, steps=6):
        """Drags between two places of a widget, as fractions of its width and height."""
        widget = self.wait(name, role, 60)
        self.move(*widget.at(*start))
        run("xdotool", "mousedown", 1)
        for step in range(1, steps + 1):
            part = step / steps
            self.move(*widget.at(*(a + part * (b - a) for a, b in zip(start, end))))
        run("xdotool", "mouseup", 1)
        time.sleep(0.7)

    def key(self, keys):
        run("xdotool", "key", keys)
        time.sleep(0.7)

    def type(self, text):
        run("xdotool", "type", "--delay", 40, text)
        time.sleep(0.7)

    def picture(self, path, box=None):
        """The screen, or the part (x, y, width, height) of it, as a PNG of few colours."""
        time.sleep(0.5)
        crop = ["-crop", "{2}x{3}+{0}+{1}".format(*box), "+repage"] if box else []
        run("import", "-window", "root", *crop, "-depth", "8", "+dither", "-colors", "128", f"png8:{path}")
        print(f"{path}: {os.path.getsize(path)} bytes", flush=True)
