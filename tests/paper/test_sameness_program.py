"""The table of differences keeps to its bars, and notices when one is broken."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from kerneton import DCK, SCK


@pytest.fixture
def program():
    path = Path(__file__).parents[2] / "benchmarks" / "sameness.py"
    spec = importlib.util.spec_from_file_location("sameness", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.KERNELS = {"SCK order 2": SCK(order=2), "DCK window": DCK(joints=(3, 6), sigma_span=5.0)}
    return module


def test_bars_are_kept(program):
    rows = program.table(14)
    assert len(rows) >= 5
    assert [row["comparison"] for row in rows if not row["kept"]] == []
    assert set(rows[0]["differences"]) == set(program.KERNELS)


def test_a_broken_bar_is_noticed(program, monkeypatch, capsys):
    whole = program.features

    def careless(X, **options):
        found = whole(X, **options)
        return (
            {k: v * (1 + 1e-9) for k, v in found.items()}
            if options.get("batch_size") == 7
            else found
        )

    monkeypatch.setattr(program, "features", careless)
    monkeypatch.setattr("sys.argv", ["sameness.py", "--frames", "10"])
    assert program.main() == 1
    assert [
        line.split()[2] for line in capsys.readouterr().out.splitlines() if "BROKEN" in line
    ] == ["7"]
