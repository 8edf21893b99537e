"""Arrows between floors point down, files stay short, nothing heavy is imported early."""

import ast
import functools
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import onesided

SOURCE = Path(onesided.__file__).parent
# Lowest first. A floor may import itself and what stands before it; never what stands after.
FLOORS = [
    "_english",
    "errors",
    "_plugins",
    "_numbers",
    "_process",
    "fields",
    "store",
    "show",
    "numbers",
    "noise",
    "schema",
    "conditions",
    "policy",
    "linear",
    "mechanism",
    "bounds",
    "accounting",
    "ledger",
    "engine",
    "session",
    "remote",
    "monitor",
    "spark",
    "verify",
    "serve",
    "cli",
]
# Neighbours that must not know each other although one stands below.
FORBIDDEN = {
    ("policy", "noise"),
    ("linear", "noise"),
    ("ledger", "policy"),
    ("ledger", "mechanism"),
    ("ledger", "noise"),
    ("ledger", "bounds"),
    ("ledger", "accounting"),
    ("bounds", "noise"),
    ("bounds", "mechanism"),
    ("accounting", "noise"),
}


def floor_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_floors(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "onesided":
                names = [f"onesided.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("onesided.")}
    return found & set(FLOORS)


@functools.cache
def parsed() -> dict[Path, ast.Module]:
    """Every file of all distributions, parsed once for all that is asked of their text."""
    sources = [SOURCE.parent, *SOURCE.parents[1].glob("*/src")]
    files = sorted(path for source in sources for path in source.rglob("*.py"))
    return {path: ast.parse(path.read_text()) for path in files}


def test_arrows_point_down():
    wrong = []
    for path, tree in parsed().items():
        if SOURCE not in path.parents:
            continue
        floor = floor_of(path)
        if floor in ("__init__", "__main__"):
            continue
        assert floor in FLOORS, f"{floor} is not a floor of the house"
        below = set(FLOORS[: FLOORS.index(floor) + 1])
        others = imported_floors(tree) - {floor}
        up = {other for other in others if other not in below or (floor, other) in FORBIDDEN}
        wrong += [f"{path}: {floor} imports {other}" for other in up]
    assert not wrong


def test_the_check_sees_an_arrow_that_points_up():
    bad = "from onesided import session\nimport onesided.cli._app\n"
    assert imported_floors(ast.parse(bad)) == {"session", "cli"}


# A file is as long as its idea; a function fits on a screen and a half.
LONGEST_FILE, LONGEST_FUNCTION = 800, 60


def test_files_and_functions_stay_short():
    wrong = []
    for path, tree in parsed().items():
        lines = path.read_text().count("\n")
        if lines > LONGEST_FILE:
            wrong.append(f"{path} has {lines} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                if lines > LONGEST_FUNCTION:
                    wrong.append(f"{path}: {node.name} has {lines} lines")
    assert not wrong


def test_no_assert_validates():
    for path, tree in parsed().items():
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path


PUBLIC = {
    "onesided": [
        "Above",
        "AtLeast",
        "AtMost",
        "Below",
        "Calendar",
        "Count",
        "CrossTable",
        "Discover",
        "Enclosed",
        "Guarantee",
        "Histogram",
        "INFINITE",
        "Ledger",
        "LinearQuery",
        "Mean",
        "Monitor",
        "Ngrams",
        "Plan",
        "Quantile",
        "RangeQuery",
        "Ratio",
        "Release",
        "RowCount",
        "Sample",
        "Schema",
        "Series",
        "Session",
        "Several",
        "Shift",
        "Statement",
        "Sum",
        "Synthetic",
        "TopK",
        "Variance",
        "__version__",
        "accounting",
        "bounds",
        "column",
        "connect",
        "certain",
        "cross",
        "errors",
        "linear",
        "mechanism",
        "noise",
        "policy",
        "risk",
        "session",
        "spark",
        "verify",
    ],
    "onesided.policy": [
        "ABSENT",
        "Addition",
        "Attributes",
        "CellMoves",
        "Cells",
        "EARTH_RADIUS",
        "Edge",
        "Family",
        "Field",
        "Graph",
        "GroupCount",
        "Guarantee",
        "Intersection",
        "KindPolicy",
        "Local",
        "Neighbourhood",
        "Option",
        "Path",
        "Policy",
        "Predicate",
        "Presence",
        "Record",
        "Rule",
        "Shift",
        "Widened",
        "data_distance",
        "families",
        "from_toml",
        "implied_places",
        "joint_records",
        "path",
        "paths_from",
        "possible_pairs",
        "together",
    ],
    "onesided.mechanism": [
        "AGeo",
        "AGrid",
        "ALap",
        "Ahp",
        "StreamAnswer",
        "AtMost",
        "CheckRecord",
        "Compounds",
        "Counts",
        "CubeCounts",
        "CubeEstimates",
        "CubeThresholds",
        "Cumulative",
        "Dawa",
        "GaussianCounts",
        "GaussianSums",
        "Hierarchical",
        "Interval",
        "Linear",
        "LinearAnswers",
        "Mechanism",
        "NoisyMaxQuantile",
        "NoisyMaxRank",
        "NoisyTopK",
        "PeeledTopK",
        "OpenShape",
        "OpenShapeCounts",
        "Partition",
        "PersistentSample",
        "RecordSample",
        "SeveralQuantiles",
        "SparseAnswers",
        "SparseStream",
        "SparseVector",
        "AdaptiveAnswers",
        "AdaptiveSparseVector",
        "SplitCounts",
        "SplitHistogram",
        "StairSums",
        "Staircase",
        "Subsampled",
        "Sums",
        "TopK",
        "TopKAnswer",
        "TruncatedCounts",
        "TwoPhase",
        "UniformGrid",
        "UnknownKeys",
        "Zeroed",
        "Zeros",
        "isotonic",
        "local",
        "zeros",
    ],
    "onesided.numbers": [
        "INFINITE",
        "Infinite",
        "Loss",
        "Number",
        "exp_neg_bounds",
        "non_negative",
        "many",
        "positive",
        "rate",
        "regular",
        "rough",
        "round_up",
        "strict_share",
        "text",
        "whole",
    ],
    "onesided.mechanism.kit": [
        "CONFIDENCE",
        "KEY_BYTES",
        "KeyedCoins",
        "Chosen",
        "Correction",
        "Counted",
        "Exact",
        "Field",
        "Fitted",
        "Gaussian",
        "MaybeWhole",
        "Move",
        "Once",
        "OneOf",
        "Rate",
        "Steps",
        "Thresholds",
        "Together",
        "TwoRates",
        "Whole",
        "both_ways",
        "confident",
        "count_moves",
        "counts_of",
        "decide",
        "largest_rate",
        "named_shifts",
        "open_kinds",
        "rates_over",
        "samples_for",
        "settle",
        "shared",
        "source_of",
        "steps_in",
        "tail_bound",
        "thresholds_of",
        "with_thresholds",
    ],
    "onesided.mechanism.histograms": [
        "AGrid",
        "Ahp",
        "Dawa",
        "Hierarchical",
        "Look",
        "OpenShape",
        "OpenShapeCounts",
        "Partition",
        "SplitCounts",
        "SplitHistogram",
        "TwoPhase",
        "UniformGrid",
        "Zeroed",
        "Zeros",
        "zeros",
    ],
    "onesided.mechanism.local": [
        "Channel",
        "Estimate",
        "RandomisedResponse",
        "Randomiser",
        "Report",
        "ShuffledCounts",
        "Tally",
        "UnaryResponse",
        "context_aware",
        "for_policy",
        "k_ary_response",
        "mangat",
        "optimised_unary",
        "rappor",
        "utility_optimised_rappor",
        "utility_optimised_response",
        "warner",
    ],
    "onesided.linear": [
        "Bins",
        "Blocks",
        "Border",
        "Dense",
        "EdgeCounts",
        "Grid",
        "Haar",
        "Hierarchy",
        "Identity",
        "Kron",
        "LengthError",
        "Meets",
        "Moves",
        "Operator",
        "Prefix",
        "Product",
        "Quadtree",
        "Ranges",
        "Relabelled",
        "Stack",
        "Suffix",
        "Tents",
        "OperatorSum",
        "all_ranges",
        "block_prefix",
        "by_length",
        "candidates",
        "conjugate_gradients",
        "edge_counts",
        "error_factors",
        "expected_error",
        "grid_blocks",
        "kron",
        "laplace_variance",
        "least_squares",
        "likeliest",
        "marginals",
        "moves_of",
        "non_negative",
        "optimised",
        "row_prefix",
        "sampled_ranges",
        "sensitivity",
        "staggered",
        "strategy_shifts",
        "summed_area",
    ],
    "onesided.bounds": [
        "Correlation",
        "household",
        "walk",
        "certified_share",
        "correlation_from_toml",
    ],
    "onesided.accounting": [
        "Bound",
        "Charged",
        "LossDistribution",
        "NOTE",
        "Repeated",
        "SampleAndNoise",
        "SessionTotal",
        "added",
        "along_path",
        "amplify_addition",
        "amplify_removal",
        "amplify_replacement",
        "bound_loss",
        "bounds_of",
        "by_orders",
        "by_way_of_absence",
        "certain_loss",
        "charge_divergences",
        "charge_loss",
        "compose",
        "compose_under",
        "counts_loss",
        "divergences",
        "extended_to_osdp",
        "from_dp",
        "guarantee",
        "less",
        "noise_note",
        "noted",
        "parallel",
        "repeated",
        "reverse",
        "sample_and_noise",
        "sample_loss",
        "sampling_addition",
        "sampling_removal",
        "several_note",
        "steps_note",
        "tight_guarantee",
        "total_loss",
        "total_of",
        "two_sided",
        "two_sided_by_sampling",
        "two_sided_loss",
        "two_way_loss",
        "worst_of",
    ],
    "onesided.session": [
        "Answers",
        "Assurance",
        "Count",
        "CrossTable",
        "Diagnostics",
        "Health",
        "health_of",
        "ledger_total",
        "Discover",
        "Enclosed",
        "Grouped",
        "Histogram",
        "TopK",
        "LinearQuery",
        "Mean",
        "Ngrams",
        "OwnMechanism",
        "PlanOfSeveral",
        "PlanOption",
        "Plan",
        "Quantile",
        "Question",
        "RangeQuery",
        "Ratio",
        "Release",
        "Sample",
        "SampleRelease",
        "Series",
        "Session",
        "Several",
        "Statement",
        "Suggestion",
        "RowCount",
        "Sum",
        "Synthetic",
        "Above",
        "AtLeast",
        "AtMost",
        "Below",
        "Bounds",
        "Total",
        "Variance",
        "ask_releases",
        "certain",
        "question_from_json",
        "question_to_json",
        "questions_schema",
        "release_from_json",
        "release_to_json",
        "statement_of",
        "total_guarantee",
    ],
    "onesided.remote": ["RemotePlan", "RemoteSession", "connect"],
    "onesided.monitor": [
        "Batch",
        "Guarantees",
        "Machine",
        "Monitor",
        "MonitorRelease",
        "rules_for",
    ],
    "onesided.serve": [
        "DatasetConfig",
        "MonitorConfig",
        "OidcConfig",
        "ServiceConfig",
        "create_app",
    ],
    "onesided.show": [
        "Crossed",
        "crossed",
        "crossed_html",
        "Bars",
        "Card",
        "Chart",
        "Dots",
        "EMPTY",
        "ESTIMATE",
        "FORMATS",
        "GROUND",
        "Heat",
        "INK",
        "Limit",
        "Lines",
        "MOST_PLACES",
        "NewFolder",
        "OWN_LIMITS",
        "Numbers",
        "Outline",
        "Page",
        "Panels",
        "Picture",
        "Places",
        "Role",
        "RoleColumn",
        "RoleTable",
        "SIDES",
        "Shape",
        "Shown",
        "Side",
        "TABLE_LIMIT",
        "UNSURE",
        "cell_text",
        "csv_text",
        "drawn_twice",
        "element",
        "figure",
        "fill",
        "long",
        "moment",
        "new_folder",
        "outline_around",
        "read_outline",
        "require_formats",
        "require_sheet",
        "require_structure",
        "resource",
        "svg_text",
        "text",
        "unwritable",
        "write_tables",
    ],
    "onesided.verify": [
        "Agreement",
        "AlignedReport",
        "AuditReport",
        "Case",
        "CheckResult",
        "Data",
        "Line",
        "EachCount",
        "Effort",
        "ExactReport",
        "Finding",
        "Households",
        "Law",
        "Line",
        "Misaligned",
        "NoisePath",
        "PathNoise",
        "RiskReport",
        "SumUniverse",
        "Universe",
        "Verdict",
        "agrees",
        "aligned",
        "as_json",
        "as_junit",
        "audit",
        "cases_in",
        "catalogue",
        "estimate",
        "exact",
        "geometric_law",
        "law",
        "losses_of",
        "in_place_of",
        "markdown",
        "own_checks",
        "paths",
        "power",
        "program",
        "risk",
        "shipped",
        "sources",
        "two_sided_law",
        "update",
        "verdicts",
    ],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_the_declared_ones(module):
    loaded = importlib.import_module(module)
    once = {name for name in loaded.__all__ if is_declared_once(getattr(loaded, name), name)}
    once = set() if module == "onesided" else once
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    assert set(PUBLIC[module]) <= set(loaded.__all__), "a public name is gone"
    assert set(loaded.__all__) - set(PUBLIC[module]) <= once, "a new name is not declared"
    for name in loaded.__all__:
        assert getattr(loaded, name) is not None


def is_declared_once(value, name):
    """What other tests hold to its kind when it is new: no second list of it is kept here.

    Families of policies (their registry), mechanisms (the exact checks), questions and releases
    (one protocol).
    """
    if name in onesided.policy.families():
        return True
    if not inspect.isclass(value):
        return False
    mechanism = hasattr(value, "release") and hasattr(value, "loss")
    kinds = (onesided.policy.Policy, onesided.Release)
    return mechanism or hasattr(value, "prepare") or issubclass(value, kinds)


HEAVY = [
    "pyspark",
    "sqlglot",
    "narwhals",
    "polars",
    "pandas",
    "pyarrow",
    "duckdb",
    "plotly",
    "sqlalchemy",
    "typer",
    "rich",
    "jinja2",
    "scipy",
    "fastapi",
    "httpx",
    "jwt",
]


def test_import_loads_no_engine_and_no_plotting_library():
    code = f"import sys, onesided; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_error_is_in_the_drawn_tree():
    tree = onesided.errors.__doc__
    for name, value in vars(onesided.errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert name in tree
