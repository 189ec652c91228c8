"""Pictures of where a model looked: in the terminal, as a figure, as a page. Plain words and numbers in, no torch.

`draw` is for the terminal and `save` for papers and slides; `report` makes one HTML page of a whole evaluation.
"""

from saccade.look.curves import Curve, Point, save_lengths
from saccade.look.figure import save
from saccade.look.html import Sample, Table, report
from saccade.look.map import Link, Map
from saccade.look.terminal import draw

__all__ = ["Curve", "Link", "Map", "Point", "Sample", "Table", "draw", "report", "save", "save_lengths"]
