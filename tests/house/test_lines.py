"""Lines of Python fall freely, and rise only with a reason."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("lines", ROOT / "scripts" / "lines.py")
lines = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lines)

OLD = "# why\nwheel 100 it began\n"


def test_a_sum_may_fall_but_not_rise_unsaid():
    assert lines.mistakes([OLD], {"wheel": 90}) == []
    assert "Delete 5" in lines.mistakes([OLD], {"wheel": 105})[0]


def test_a_sum_that_was_raised_needs_a_new_reason():
    raised = "wheel 110 it began\n"
    assert "no new reason" in lines.mistakes([raised, OLD], {"wheel": 105})[0]
    assert lines.mistakes(["wheel 110 a mirror for decisions\n", OLD], {"wheel": 105}) == []
    assert lines.mistakes(["wheel 90 it began\n", OLD], {"wheel": 90}) == []
