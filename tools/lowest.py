"""Print pip constraints that hold every dependency at the lowest version that pyproject.toml allows.

    python tools/lowest.py [--without NAME]… > lowest.txt

What only developers and the documentation need stays free, except Triton, which comes with torch.
"""

import argparse
import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest(without=()):
    """Return `name==version` for each requirement `name>=version` of the package and of its extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    needs = [*project["dependencies"]]
    for extra, more in project["optional-dependencies"].items():
        needs += [need for need in more if extra not in ("dev", "docs") or need.startswith("triton")]
    bounds = dict(re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", need).groups() for need in needs)
    return [f"{name}=={version}" for name, version in sorted(bounds.items()) if name not in without]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without", action="append", default=[], help="a package to leave free")
    print("\n".join(lowest(parser.parse_args().without)))
