"""Pictures of where a model looked: in the terminal, as a figure, as a page. Plain words and numbers in, no torch.

A picture is drawn by `draw…` for the terminal and by `save…` for papers and slides: the matrix, a reader at work
(`…_reading`), heads as lines (`…_arcs`), all heads at a glance (`…_heads`), and what was seen of a picture
(`…_overlay`). `report` makes one HTML page of a whole evaluation.
"""

from saccade.look.arcs import draw_arcs, save_arcs
from saccade.look.curves import Curve, Point, save_lengths
from saccade.look.figure import save
from saccade.look.heads import Heads, draw_heads, save_heads
from saccade.look.html import Sample, Table, report
from saccade.look.map import Link, Map, Marks
from saccade.look.overlay import Overlay, save_overlay, save_overlay_heads
from saccade.look.overlay_terminal import draw_overlay, draw_overlay_heads
from saccade.look.picture import Picture
from saccade.look.reading import draw_reading, save_reading
from saccade.look.terminal import draw
from saccade.look.view import STYLES, View

__all__ = [
    "STYLES",
    "Curve",
    "Heads",
    "Link",
    "Map",
    "Marks",
    "Overlay",
    "Picture",
    "Point",
    "Sample",
    "Table",
    "View",
    "draw",
    "draw_arcs",
    "draw_heads",
    "draw_overlay",
    "draw_overlay_heads",
    "draw_reading",
    "report",
    "save",
    "save_arcs",
    "save_heads",
    "save_lengths",
    "save_overlay",
    "save_overlay_heads",
    "save_reading",
]
