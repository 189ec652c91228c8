"""Attention figures for the terminal, papers and web pages, from plain words and numbers; needs no torch.

`draw…` draws a figure for the terminal, `save…` writes one as a file. The figures are the alignment matrix, two lanes
of words joined by ribbons (`…_ribbons`), also one written word at a time (`…_steps`), a text with a line for each word
read (`…_reading`), heads as curves between words (`…_arcs`), a small matrix for each head (`…_heads`), heatmaps over an
input image (`…_overlay`), a spectrogram above the attention over time (`…_sound`), points in the plane with the answer
drawn through them (`…_points`), the glimpses of an image with the beliefs after them (`…_glimpses`), and a long source
as running text (`…_passage`). `report` makes one HTML page of a whole evaluation.
"""

from saccade.deprecated import renamed
from saccade.look.arcs import draw_arcs, save_arcs
from saccade.look.curves import Curve, Point, save_lengths
from saccade.look.design import SIZES, Size
from saccade.look.figure import save
from saccade.look.figure_spec import STYLES, FigureSpec
from saccade.look.glimpse_path import GlimpsePath
from saccade.look.glimpses import draw_glimpses, save_glimpses
from saccade.look.heads import Heads, draw_heads, save_heads
from saccade.look.html import Sample, Table, report
from saccade.look.map import Link, Map, Marks
from saccade.look.output import Format
from saccade.look.overlay import Overlay, save_overlay, save_overlay_heads
from saccade.look.overlay_terminal import draw_overlay, draw_overlay_heads
from saccade.look.passage import draw_passage, save_passage
from saccade.look.picture import Picture
from saccade.look.points import draw_points, save_points
from saccade.look.reading import draw_reading, save_reading
from saccade.look.ribbons import save_ribbons
from saccade.look.sound import Spectrogram, draw_sound, save_sound
from saccade.look.steps import save_steps
from saccade.look.terminal import draw

__all__ = [
    "SIZES",
    "STYLES",
    "Curve",
    "FigureSpec",
    "Format",
    "GlimpsePath",
    "Heads",
    "Link",
    "Map",
    "Marks",
    "Overlay",
    "Picture",
    "Point",
    "Sample",
    "Size",
    "Spectrogram",
    "Table",
    "draw",
    "draw_arcs",
    "draw_glimpses",
    "draw_heads",
    "draw_overlay",
    "draw_overlay_heads",
    "draw_passage",
    "draw_points",
    "draw_reading",
    "draw_sound",
    "report",
    "save",
    "save_arcs",
    "save_glimpses",
    "save_heads",
    "save_lengths",
    "save_overlay",
    "save_overlay_heads",
    "save_passage",
    "save_points",
    "save_reading",
    "save_ribbons",
    "save_sound",
    "save_steps",
]

__getattr__ = renamed(__name__, {"View": ("saccade.look", "FigureSpec")})
