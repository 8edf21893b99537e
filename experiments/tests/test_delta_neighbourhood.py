"""The paper's tables to the digit, and what is measured against what is foretold."""

import duckdb
import numpy as np
import pytest

from onesided.errors import ParameterError
from onesided.linear import (
    Grid,
    Suffix,
    all_ranges,
    least_squares,
    moves_of,
    non_negative,
    sampled_ranges,
    sensitivity,
    staggered,
    strategy_shifts,
)
from onesided.policy import neighbourhood
from onesided_experiments import Setup, reproduce
from onesided_experiments.delta_neighbourhood import (
    PAPER,
    _binary,
    _city,
    _data,
    _line,
    _plane,
    _tables,
)
from onesided_experiments.delta_neighbourhood._data import (
    least,
    least_from_zero,
    tile_matrix,
    tiles,
)


def column(rows, table, value):
    return [row[value] for row in rows if row["table"] == table]


def test_table_3_to_the_digit():
    rows = _tables.tables()
    assert column(rows, "Table 1", "laplace_worst") == pytest.approx([8, 16, 24, 32], abs=1e-12)
    assert column(rows, "Table 2", "laplace_worst") == pytest.approx([4, 4, 4, 2], abs=1e-12)
    assert column(rows, "Table 1", "queries") == [4, 3, 2, 1]
    assert {*column(rows, "Table 1", "sensitivity")} == {2}
    assert {*column(rows, "Table 1, 0.25-neighbourhood", "sensitivity")} == {2}
    assert {*column(rows, "Table 2", "sensitivity")} == {1}
    assert {*column(rows, "Table 2, standard", "sensitivity")} == {3}


def test_erratum_ranges_that_reach_the_last_value_need_one_sum_alone():
    """Table 3 prints 4 in rows 1 to 3; that is not the mean over its queries."""
    rows = _tables.tables()
    means = column(rows, "Table 2", "laplace_mean")
    assert means == pytest.approx([3.5, 10 / 3, 3, 2])
    total = sum(n * m for n, m in zip((4, 3, 2, 1), means, strict=True))
    assert total == pytest.approx(32)


def test_table_2_is_the_best_strategy_of_zeros_and_ones():
    rows = _tables.search(repeated=0)
    assert rows[0]["tried"] == 31_462
    assert rows[0]["is_table_2"]
    assert rows[0]["total_variance"] == pytest.approx(32)
    assert rows[1]["total_variance"] > 70


def test_without_the_source_another_strategy_is_as_good_or_better():
    """The search sees the policy: with nobody coming or going, Table 2's total is free to drop."""
    moves = moves_of(neighbourhood(radius="0.25"), _tables.paper_cells())
    best = min(_binary.every_binary_strategy(moves, all_ranges(4)), key=lambda one: one.error)
    assert 2 * best.error <= 32


def test_prefix_sums_have_the_error_foretold_on_real_data(data):
    path = data / "dpbench1d" / "hepth.npy"
    if not path.is_file():
        pytest.skip("skipped: data not found")
    rows = _line.standard(path=str(path), epsilon="1", repeats=20, seed=3)
    found = {row["method"]: row["error"] for row in rows if row["part"] == "data"}
    (known,) = [row for row in _line.ours(delta=1, epsilon="1") if row["part"] == "ours"]
    # 20 draws of 4,096 sums, of which 2,000 ranges use nearly all: within a tenth by far.
    assert found["ours"] == pytest.approx(known["error"], rel=0.1)
    assert known["strategy"] == "prefix"
    assert found["isotonic"] < found["ours"]
    assert found["identity"] > 1_000 * found["ours"]


def test_the_error_grows_with_delta_and_the_strategy_changes():
    rows = [_line.ours(delta=delta, epsilon="1")[0] for delta in (1, 16, 4096)]
    errors = [row["error"] for row in rows]
    assert errors == sorted(errors)
    assert [row["strategy"].split()[0] for row in rows] == ["prefix", "block", "hierarchy"]


def test_tiles_are_priced_for_steps_across_corners():
    grid = Grid((16, 16), box=True)
    for width, weight in ((1, 1), (1, 2), (2, 1), (4, 2)):
        shifts = strategy_shifts(
            tiles(16, width, weight), moves_of(neighbourhood(radius=width), grid)
        )
        # Two levels at most are crossed, one per axis, and the cell itself is left.
        assert sensitivity(shifts) <= 2 * weight + 4 * (1 if width == 1 else 2)
    sides = moves_of(neighbourhood(radius=1, metric="grid"), Grid((16, 16)))
    assert sensitivity(strategy_shifts(tiles(16, 1, 1), sides)) == 4


def test_tiles_are_solved_as_the_library_solves_them():
    noisy = np.random.default_rng(1).normal(size=tiles(8, 1, 1).shape[0])
    own = least(tile_matrix(8, 1, 1), noisy)
    assert own == pytest.approx(least_squares(tiles(8, 1, 1), noisy), abs=1e-4)
    assert tiles(8, 1, 1).dense().tolist() == staggered((8, 8)).dense().tolist()
    both = tiles(8, 2, 2)
    noisy = np.random.default_rng(2).normal(size=both.shape[0])
    found = least(tile_matrix(8, 2, 2), noisy)
    assert found == pytest.approx(least_squares(both, noisy), abs=1e-4)
    kept = least_from_zero(tile_matrix(8, 2, 2), noisy)
    assert kept == pytest.approx(non_negative(both, noisy), abs=1e-2)


def test_a_plane_is_read_at_half_its_side(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(16).reshape(4, 4))
    assert _data.read(str(tmp_path / "a.npy"), side=2).tolist() == [[10, 18], [42, 50]]
    (tmp_path / "b.npy").write_bytes(b"short")
    with pytest.raises(Exception, match="cannot be read"):
        _data.read(str(tmp_path / "b.npy"))
    ranges = _data.of_lengths(10, [1, 10], 5, seed=1)
    assert ranges.lengths.tolist() == [1] * 5 + [10] * 5
    assert _data.squared(ranges, np.ones(10), np.zeros(10)).tolist() == [1] * 5 + [100] * 5


def test_errors_of_the_plane_are_the_same_from_the_same_seed():
    ask = {"side": 16, "delta": 1, "metric": "euclidean", "repeats": 2}
    one, two = (_plane.ours(**ask, seed=5) for _ in range(2))
    assert one == two
    exact = sampled_ranges((16, 16), 2_000, seed=1).lengths.mean()
    (plain,) = [row for row in one if row["strategy"] == "identity" and row["epsilon"] == "1"]
    assert plain["error"] == pytest.approx(exact * 7.835396178)


def test_without_data_only_the_tables_run(tmp_path):
    done = reproduce(PAPER, Setup(data=tmp_path / "nowhere", quick=True), tmp_path)
    told = {one.experiment.name: one.skipped for one in done}
    assert told == {"tables": False, "line": True, "plane": True, "city": True}


def test_a_city_is_read_into_its_boxes_and_its_error_grows_with_the_radius(tmp_path):
    city = _city.CITIES[0]
    path = tmp_path / city.file
    duckdb.sql(
        "SELECT * FROM (VALUES (40.55, -74.3), (40.56, -74.28), (40.99, -73.71)) AS t(lat, lon)"
    ).write_parquet(str(path))
    counts = _city.visits(str(path), city, 8)
    assert (counts[0, 0], counts[7, 7], counts.sum()) == (2, 1, 3)
    assert city.grid(8).locate([("40.56", "-74.28"), ("40.99", "-73.71")]).tolist() == [0, 63]
    assert [job.function.__name__ for job in _city.jobs(Setup(data=tmp_path, quick=True))] == [
        *["ours"] * 7,
        *["standard"] * 2,
    ]
    rows = _city.ours(strategy="quadtree 4", side=8, repeats=1, seed=1)
    for name in ("New York", "Tokyo"):
        mine = [r for r in rows if (r["city"], r["epsilon"]) == (name, "1")]
        errors = [row["error"] for row in sorted(mine, key=lambda r: r["metres"] or 10**6)]
        assert errors == sorted(errors)
        assert mine[-1]["sensitivity"] == 4


def test_no_binary_strategy_of_different_rows_is_better_than_table_2():
    moves, asked = moves_of(_tables.paper_policy(), _tables.paper_cells()), all_ranges(4)
    found = sorted(_binary.every_binary_strategy(moves, asked), key=lambda one: one.error)
    assert len(found) == 31_462
    assert found[0].error == pytest.approx(16)
    assert found[1].error > 37
    assert sorted(found[0].matrix.tolist()) == sorted(Suffix(4).dense().tolist())


def test_repeated_rows_are_no_better_either():
    moves, asked = moves_of(_tables.paper_policy(), _tables.paper_cells()), all_ranges(4)
    best = _binary.best_repeated(moves, asked, 5)
    assert best.error == pytest.approx(16)
    assert len(best.matrix) == 4
    with pytest.raises(ParameterError, match="No strategy"):
        _binary.best_repeated(moves, asked, 3)
