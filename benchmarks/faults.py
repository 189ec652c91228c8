"""What saccade does under faults: killed runs, damaged files and requests, clients that send half a request.

    python benchmarks/faults.py kills                     # 200 kills; about a quarter of an hour on one core
    python benchmarks/faults.py files 1250                # of each of four kinds; about half an hour
    python benchmarks/faults.py requests                  # 2,500 to a server of texts, as many to one of pictures
    python benchmarks/faults.py connections               # half a minute
    python benchmarks/faults.py kills 5 --out /tmp/faults      # a quick look

Every part is a module with `add_arguments(parser)` and `run(options, record)`. `record` appends one raw line to
faults.jsonl as soon as it is known. `run` returns a Section (faults_report.py), which replaces the one with its title
in faults.md. A part that finds a fault ends the program with 1.
"""

from __future__ import annotations

import argparse
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
    section = PARTS[options.part].run(options, record_to(options.out / "faults.jsonl", options.part, day))
    machine = f"{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}, {day}"
    body = f"{machine}. Made by `python benchmarks/faults.py {section.command}`.\n\n{section.text}"
    path = options.out / "faults.md"
    report = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(replace_section(report, section.title, body), encoding="utf-8")
    print(body)
    sys.exit(int(section.faults > 0))


if __name__ == "__main__":
    main()
