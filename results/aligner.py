"""Run the statistical aligner eflomal: its error rate on the gold links, and its links to train a guided head.

    pip install eflomal
    python results/aligner.py ALIGNMENT --links DATA/links [--command eflomal-align]

ALIGNMENT is the folder that `saccade data alignment` makes. As usual for such aligners, eflomal reads the text of all
parts, including the gold sentences but not their links. grow-diag-final-and combines both directions. The script writes
train.align.gz and valid.align.gz to --links, and the error rates to results/alignment/eflomal.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from saccade.data.example import Example, Link, Links
from saccade.data.formats import pairs
from saccade.data.text import find_file
from saccade.data.tokenizer import words_of
from saccade.metrics import alignment_error_rate, alignment_statistics, error_rate, sums_interval

PARTS = ("train", "valid", "test")
_BESIDE = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def grow_diag_final_and(forward: set[Link], backward: set[Link]) -> set[Link]:
    """Combine two directions: the intersection, then neighbors from the union, then links of two unaligned words.

    Paper: Koehn et al. 2005, "Edinburgh system description for the 2005 IWSLT speech translation evaluation".
    """
    made, either = forward & backward, forward | backward
    grown = True
    while grown:
        grown = False
        for source, target in sorted(made):
            for step in _BESIDE:
                near = source + step[0], target + step[1]
                if near in either and near not in made and _alone(near, made) != (False, False):
                    made.add(near)
                    grown = True
    for direction in (forward, backward):
        for link in sorted(direction):
            if _alone(link, made) == (True, True):
                made.add(link)
    return made


def _alone(link: Link, made: set[Link]) -> tuple[bool, bool]:
    """Return whether the source word and the target word of a link are unaligned."""
    return all(link[0] != source for source, _ in made), all(link[1] != target for _, target in made)


def run_aligner(command: str, examples: list[Example]) -> tuple[list[set[Link]], list[set[Link]]]:
    """Run eflomal and return its forward and backward links."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for side in ("source", "target"):
            lines = [" ".join(words_of(getattr(example, side))).lower() for example in examples]
            (folder / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files = ["-s", "source", "-t", "target", "-f", "forward", "-r", "backward"]
        subprocess.run([command, "-m", "3", "--overwrite", *files], cwd=folder, check=True)
        made = [(folder / name).read_text(encoding="utf-8").splitlines() for name in ("forward", "backward")]
    return tuple([set(Links.parse(line).sure) for line in lines] for lines in made)  # type: ignore[return-value]


def score(name: str, links: list[set[Link]], gold: list[Links]) -> dict[str, object]:
    """Return the error rate with its bootstrap interval."""
    found = alignment_error_rate(links, gold)
    band = sums_interval(alignment_statistics(links, gold), error_rate)
    shares = {"precision": found.precision, "recall": found.recall}
    return {"name": name, "aer": found.error_rate, "band": [band.lower, band.upper], **shares}


def _examples(folder: Path, name: str, ends: tuple[str, ...]) -> list[Example]:
    """Read the sentence pairs of a part; the files may be compressed."""
    return list(pairs(*(find_file(folder / f"{name}.{end}") for end in ends)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--links", type=Path, required=True)
    parser.add_argument("--command", default="eflomal-align")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    parts = {name: _examples(arguments.folder, name, ("en", "fr")) for name in PARTS}
    forward, backward = run_aligner(arguments.command, [example for part in parts.values() for example in part])
    joined = [grow_diag_final_and(*both) for both in zip(forward, backward, strict=True)]
    arguments.links.mkdir(parents=True, exist_ok=True)
    begin = 0
    for name in PARTS[:2]:
        lines = (str(Links(frozenset(links))) for links in joined[begin : begin + len(parts[name])])
        text = "".join(f"{line}\n" for line in lines).encode()
        (arguments.links / f"{name}.align.gz").write_bytes(gzip.compress(text, mtime=0))
        begin += len(parts[name])
    known = _examples(arguments.folder, "test", ("en", "fr", "align"))
    gold = [example.links or Links(frozenset()) for example in known]
    ways = {"grow-diag-final-and": joined, "English to French": forward, "French to English": backward}
    scores = [score(way, links[begin:], gold) for way, links in ways.items()]
    report = {
        "group": "alignment",
        "row": "eflomal",
        "seed": 1,
        "tag": "",
        "label": "eflomal (statistical)",
        "final": True,
        "split": "test",
        "metric": "aer",
        "metrics": {"aer": scores[0]["aer"]},
        "bands": {"aer": scores[0]["band"]},
        "ways": scores,
        "sentences": len(gold),
        "command": "python results/aligner.py alignment --links DATA/links",
    }
    place = arguments.out / "alignment" / "eflomal" / "seed-1"
    place.mkdir(parents=True, exist_ok=True)
    (place / "metrics.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for entry in scores:
        print(f"{entry['name']:<22} {entry['aer']:.3f}", file=sys.stderr)


if __name__ == "__main__":
    main()
