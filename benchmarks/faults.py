"""Fault injection: killed runs, damaged files and requests, clients that send half a request.

    python benchmarks/faults.py kills                     # 200 kills; about 15 minutes on one core
    python benchmarks/faults.py files 1250                # of each of four kinds; about half an hour
    python benchmarks/faults.py requests                  # 2,500 each to a text server and an image server
    python benchmarks/faults.py connections               # half a minute
    python benchmarks/faults.py kills 5 --out /tmp/faults      # a quick check

Each part is a module with `add_arguments(parser)` and `run(options, record)`. `record` appends one raw line to
faults.jsonl.xz. `run` returns a Section (faults_report.py), which replaces the section of the same title in faults.md.
The exit status is 1 if a part finds a fault.
"""

from __future__ import annotations

import argparse
import lzma
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import faults_connections
import faults_files
import faults_kills
import faults_requests
import torch
from faults_report import record_to, replace_section

PARTS = {
    "kills": faults_kills,
    "files": faults_files,
    "requests": faults_requests,
    "connections": faults_connections,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    for name, module in PARTS.items():
        part = parts.add_parser(name, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        part.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder of the results")
        module.add_arguments(part)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    day = datetime.now(UTC).date().isoformat()
    with lzma.open(options.out / "faults.jsonl.xz", "at", encoding="utf-8") as lines:
        section = PARTS[options.part].run(options, record_to(lines, options.part, day))
    machine = f"{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}, {day}"
    body = f"{machine}. Made by `python benchmarks/faults.py {section.command}`.\n\n{section.text}"
    path = options.out / "faults.md"
    report = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(replace_section(report, section.title, body), encoding="utf-8")
    print(body)
    sys.exit(int(section.faults > 0))


if __name__ == "__main__":
    main()
