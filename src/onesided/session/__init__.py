"""Sessions: tables, units, public keys and contribution bounds, each engine doing its own work."""

from onesided.session._above import Above, AtLeast, AtMost, Below, TopK
from onesided.session._arithmetic import Bounds, certain
from onesided.session._count import Count, Enclosed
from onesided.session._discover import Discover, Ngrams
from onesided.session._groups import Grouped
from onesided.session._health import Diagnostics, Health, health_of
from onesided.session._json import (
    question_from_json,
    question_to_json,
    questions_schema,
    release_from_json,
    release_to_json,
)
from onesided.session._own_mechanism import OwnMechanism
from onesided.session._plan import Plan, PlanOption
from onesided.session._question import Question
from onesided.session._release import Release
from onesided.session._sample import Sample, SampleRelease, Total
from onesided.session._series import Series
from onesided.session._session import Session
from onesided.session._statement import Statement, statement_of
from onesided.session._suggest import Suggestion
from onesided.session._total import ledger_total, total_guarantee
from onesided.session.histograms._histogram import Histogram
from onesided.session.several._several import Answers, PlanOfSeveral, Several
from onesided.session.sql._published import ask_releases
from onesided.session.values._mean import Mean, Variance
from onesided.session.values._quantile import Quantile
from onesided.session.values._ratio import Ratio
from onesided.session.values._sum import RowCount, Sum
from onesided.session.workloads._linear import Assurance, LinearQuery
from onesided.session.workloads._ranges import RangeQuery
from onesided.session.workloads._synthetic import Synthetic
from onesided.session.workloads._table import CrossTable

__all__ = [
    "Above", "Answers", "Assurance", "AtLeast", "AtMost", "Below", "Bounds", "Count", "CrossTable",
    "Diagnostics", "Discover", "Enclosed", "Grouped", "Health", "Histogram", "LinearQuery", "Mean",
    "Ngrams", "OwnMechanism", "Plan", "PlanOfSeveral", "PlanOption", "Quantile", "Question",
    "RangeQuery", "Ratio", "Release", "RowCount", "Sample", "SampleRelease", "Series", "Session",
    "Several", "Statement", "Suggestion", "Sum", "Synthetic", "TopK", "Total", "Variance",
    "ask_releases", "certain", "health_of", "ledger_total", "question_from_json",
    "question_to_json", "questions_schema", "release_from_json", "release_to_json", "statement_of",
    "total_guarantee",
]  # fmt: skip
