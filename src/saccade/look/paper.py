"""Drawing on paper: matplotlib, loaded when it is needed, without its global state, and the same bytes each time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.errors import ConfigError
from saccade.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FAINT", "INK", "MUTED", "check_suffix", "drawing", "write"]

INK = "#1f2430"
MUTED = "#666d7a"
FAINT = "#d5d9e0"

DOTS_PER_INCH = 200
# what matplotlib would write the date or its version into
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": "saccade"},
    ".svg": {"Date": None, "Creator": "saccade"},
}
STYLE: dict[Any, Any] = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.parse_math": False,  # a word with dollar signs is a word, not a formula
    "svg.hashsalt": "saccade",  # names inside the file would be random without it
}
# matplotlib brings DejaVu; the others, where a machine has them, know the scripts it does not
FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Thai",
    "Nirmala UI",
    "Arial Unicode MS",
)


@contextmanager
def drawing() -> Iterator[None]:
    """Inside, matplotlib has our style and nobody else's; afterwards it is as it was."""
    try:
        import matplotlib
        from matplotlib.font_manager import fontManager
    except ImportError as error:
        raise ConfigError(
            "pictures need matplotlib, which is not installed. pip install 'saccade[pictures]'"
        ) from error
    known = set(fontManager.get_font_names())
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        matplotlib.rcParams["font.family"] = [name for name in FONTS if name in known]
        # a letter no font knows is drawn as a box; that is no reason to fail
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def check_suffix(path: Path) -> str:
    """.png, .pdf or .svg, or an error."""
    suffix = path.suffix.lower()
    if suffix not in METADATA:
        raise ConfigError(f"{path.name} ends in {suffix or 'nothing'}. Choose a name that ends in .png, .pdf or .svg.")
    return suffix


def write(figure: Figure, path: Path) -> None:
    """The figure as its suffix says, cut to what is drawn, with a small margin."""
    suffix = check_suffix(path)
    file = BytesIO()
    figure.savefig(
        file,
        format=suffix[1:],
        dpi=DOTS_PER_INCH,
        bbox_inches="tight",
        pad_inches=0.15,
        facecolor="white",
        metadata=METADATA[suffix],
    )
    write_atomically(path, file.getvalue())
