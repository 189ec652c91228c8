"""The files of all measured runs, in one compressed archive. New runs are in folders beside it until they are added.

    python results/archive.py add                                  move final runs from GROUP/ROW/seed-N into it
    python results/archive.py list [GROUP[/ROW]]                   print the names of its files
    python results/archive.py show GROUP/ROW/seed-1/metrics.json   print a file

`tar -xf results/runs.tar.xz` unpacks everything. A run has metrics.json, recipe.yaml and log.jsonl; a run of an
external program has metrics.json alone. Runs with a tag, and those on validation data only, stay out of the archive.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import re
import shutil
import tarfile
from pathlib import Path

from saccade.files import write_atomically

HERE = Path(__file__).parent
ARCHIVE = "runs.tar.xz"
FILE = re.compile(r"[\w.-]+/[\w.-]+/seed-\d+/(metrics\.json|recipe\.yaml|log\.jsonl)")
LARGEST = 64 << 20
"""Most bytes of the unpacked archive."""


def read(out: Path) -> dict[str, bytes]:
    """Return the files of all runs by name, GROUP/ROW/seed-N/FILE; a folder replaces the run of the archive."""
    return packed(out / ARCHIVE) | loose(out)


def packed(path: Path) -> dict[str, bytes]:
    """Return the files of an archive; of none if there is no archive."""
    if not path.exists():
        return {}
    with lzma.open(path) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise SystemExit(f"{path} holds more than {LARGEST:,} bytes, which it should not")
    found = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isreg() and FILE.fullmatch(member.name) else None
            if file is None:
                raise SystemExit(f"{path} holds {member.name!r}, which is no file of a run")
            found[member.name] = file.read()
    return found


def loose(out: Path) -> dict[str, bytes]:
    """Return the files of runs in folders."""
    paths = {path.relative_to(out).as_posix(): path for path in sorted(out.glob("*/*/seed-*/*"))}
    return {name: path.read_bytes() for name, path in paths.items() if FILE.fullmatch(name)}


def pack(files: dict[str, bytes], path: Path) -> None:
    """Write an archive. Equal files give equal bytes; files of one kind lie together, which compresses best."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files, key=lambda name: (name.rpartition("/")[2], name)):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            tar.addfile(member, io.BytesIO(files[name]))
    write_atomically(path, lzma.compress(content.getvalue(), preset=6 | lzma.PRESET_EXTREME))


def add(out: Path) -> list[str]:
    """Move the final runs without a tag from their folders into the archive, and return their names."""
    files = loose(out)
    reports = {name.rpartition("/")[0]: json.loads(text) for name, text in files.items() if name.endswith(".json")}
    runs = [run for run, report in reports.items() if report["final"] and not report["tag"]]
    kept = {name: text for name, text in packed(out / ARCHIVE).items() if name.rpartition("/")[0] not in runs}
    pack(kept | {name: text for name, text in files.items() if name.rpartition("/")[0] in runs}, out / ARCHIVE)
    for run in runs:
        shutil.rmtree(out / run)
        if not any((out / run).parent.iterdir()):
            (out / run).parent.rmdir()
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["add", "list", "show"])
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the archive")
    arguments = parser.parse_args()
    if arguments.what == "add":
        print("\n".join(f"added {run}" for run in add(arguments.out)) or "there is no new final run")
        return
    files = read(arguments.out)
    if arguments.what == "list":
        print("\n".join(name for name in sorted(files) if name.startswith(arguments.name)))
    elif arguments.name in files:
        print(files[arguments.name].decode("utf-8"), end="")
    else:
        raise SystemExit(f"there is no file {arguments.name!r}. See: python results/archive.py list")


if __name__ == "__main__":
    main()
