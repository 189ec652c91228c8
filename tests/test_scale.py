"""The page about large files: its numbers are those of the measurements, and its simulation behaves."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
scale = runpy.run_path(str(ROOT / "benchmarks" / "scale.py"))


def test_the_page_is_what_the_script_computes():
    page = (ROOT / "docs" / "how-to" / "scale.md").read_text(encoding="utf-8")
    written = page.partition(scale["BEGIN"])[2].partition("\n" + scale["END"])[0]
    assert written == scale["text"](), "run python benchmarks/scale.py"


def test_the_arithmetic_by_hand():
    """decoding_cpu.md has 486 and 472 sentences/s of two cores for the small Transformer, beam 5, int8."""
    each = (486.0 + 472.1) / 2 / 2
    (row,) = [row for row in scale["rates"]() if (row.model, row.search) == ("small Transformer", "beam 5, int8")]
    assert row.each == pytest.approx(each)
    hours, cores = 1e9 / each / 3600, 1e9 / 86_400 / each
    assert (
        f"| small Transformer | beam 5, int8 | 240 | {hours:,.0f} core hours | {int(cores) + 1} cores |"
        in scale["costs"]()
    )


def test_the_simulation_at_its_limits():
    simulate = scale["simulate"]
    free = simulate(10, 100.0, 64, 0.0, 0.0)
    assert free.workers_busy > 0.97
    assert free.reader_busy < 0.01
    bound = simulate(100, 1000.0, 1000, 1e-4, 0.0)  # 10,000 rows/s for 100 workers of 1,000
    assert bound.rows_per_s == pytest.approx(10_000, rel=0.02)
    assert bound.reader_busy > 0.98
    assert simulate(100, 1000.0, 1000, 1e-4, 0.0, runs=10).rows_per_s > 0.9 * 100_000
    assert simulate(10, 100.0, 64, 0.0, 6.0).rows_per_s == pytest.approx(1000 * 600 / 606, rel=0.03)
