"""Sessions: tables, units, public keys and contribution bounds, each engine doing its own work."""

from onesided.session._above import Above, AboveRelease, AtMost
from onesided.session._count import Count
from onesided.session._diagnostics import Diagnostics
from onesided.session._enclosed import Enclosed
from onesided.session._estimates import Estimates
from onesided.session._groups import Grouped
from onesided.session._health import Health, health_of
from onesided.session._own_mechanism import OwnMechanism, OwnRelease
from onesided.session._plan import Plan, PlanOption
from onesided.session._question import Question
from onesided.session._release import CountRelease, Release
from onesided.session._sample import Sample, SampleRelease, Total
from onesided.session._session import Session
from onesided.session._statement import Statement, statement_of
from onesided.session._top_k import TopK, TopKRelease
from onesided.session._total import total_guarantee
from onesided.session.discover._ngrams import Ngrams
from onesided.session.discover._unknown import Discover, KeysRelease
from onesided.session.histograms._histogram import Histogram
from onesided.session.histograms._histogram_release import HistogramRelease
from onesided.session.several._answers import Answers, PlanOfSeveral
from onesided.session.several._several import Several
from onesided.session.suggestions._suggest import Suggestion
from onesided.session.values._mean import Mean, Variance
from onesided.session.values._noisy_max import QuantileEstimates
from onesided.session.values._quantile import Quantile, QuantileRelease
from onesided.session.values._row_count import RowCount
from onesided.session.values._sum import Sum
from onesided.session.workloads._assurance import Assurance
from onesided.session.workloads._linear import LinearQuery, LinearRelease
from onesided.session.workloads._ranges import RangeQuery
from onesided.session.written._questions import (
    question_from_json,
    question_to_json,
    questions_schema,
)
from onesided.session.written._releases import (
    WrittenRelease,
    release_from_json,
    release_to_json,
)

__all__ = [
    "Above",
    "AboveRelease",
    "Answers",
    "Assurance",
    "AtMost",
    "Count",
    "CountRelease",
    "Diagnostics",
    "Discover",
    "Enclosed",
    "Estimates",
    "Grouped",
    "Health",
    "Histogram",
    "HistogramRelease",
    "KeysRelease",
    "LinearQuery",
    "LinearRelease",
    "Mean",
    "Ngrams",
    "OwnMechanism",
    "OwnRelease",
    "Plan",
    "PlanOfSeveral",
    "PlanOption",
    "Quantile",
    "QuantileEstimates",
    "QuantileRelease",
    "Question",
    "RangeQuery",
    "Release",
    "RowCount",
    "Sample",
    "SampleRelease",
    "Session",
    "Several",
    "Statement",
    "Suggestion",
    "Sum",
    "TopK",
    "TopKRelease",
    "Total",
    "Variance",
    "WrittenRelease",
    "health_of",
    "question_from_json",
    "question_to_json",
    "questions_schema",
    "release_from_json",
    "release_to_json",
    "statement_of",
    "total_guarantee",
]
