"""Build the site from the repository's Markdown: `make site`.

The source folder is the root of the repository, so links lead to the same pages and files as on GitHub.
"""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

project = html_title = "saccade"
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/**",
    "benchmarks/results/*.md",
    "results/*/README.md",
    "examples/**",
    "src/**/README.md",
]
exclude_patterns = ["**/.*", "SECURITY.md"]
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
highlight_language = "none"
html_theme = "furo"
html_math_renderer = "mathml"
html_copy_source = html_show_copyright = html_use_index = False
START = (
    '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">saccade</a>'
)


def write_math(writer, node):
    """Write an equation as MathML, which browsers draw without a script."""
    block = node.tagname == "math_block"
    written = tex2mathml(node.astext().replace(r"\lt", "<"), as_block=block)
    writer.body.append(f"<p>{written}</p>" if block else written)
    raise SkipNode


def write_start(app, error):
    """Let the root of the site lead to its first page."""
    if error is None:
        (app.outdir / "index.html").write_text(START, encoding="utf-8")


def setup(app):
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("build-finished", write_start)
