"""Sessions: tables, units, public keys and contribution bounds, each engine doing its own work."""

from onesided.session._assurance import Assurance
from onesided.session._count import Count
from onesided.session._curator import Curator
from onesided.session._enclosed import Enclosed
from onesided.session._estimates import Estimates
from onesided.session._groups import Grouped
from onesided.session._histogram import Histogram, HistogramRelease
from onesided.session._largest import Largest, TopRelease
from onesided.session._linear import Linear, LinearRelease
from onesided.session._mean import Mean, Variance
from onesided.session._ngrams import Ngrams
from onesided.session._plan import Option, Plan
from onesided.session._quantile import Quantile, QuantileRelease
from onesided.session._question import Question
from onesided.session._ranges import Ranges
from onesided.session._release import Release
from onesided.session._sample import Sample, SampleRelease, Total
from onesided.session._session import Session
from onesided.session._shaped import ShapedRelease
from onesided.session._sum import Sum
from onesided.session._threshold import Threshold, ThresholdRelease
from onesided.session._total import total_guarantee
from onesided.session._unknown import Discover, KeysRelease

__all__ = [
    "Assurance",
    "Count",
    "Curator",
    "Discover",
    "Enclosed",
    "Estimates",
    "Grouped",
    "Histogram",
    "HistogramRelease",
    "KeysRelease",
    "Largest",
    "Linear",
    "LinearRelease",
    "Mean",
    "Ngrams",
    "Option",
    "Plan",
    "Quantile",
    "QuantileRelease",
    "Question",
    "Ranges",
    "Release",
    "Sample",
    "SampleRelease",
    "Session",
    "ShapedRelease",
    "Sum",
    "Threshold",
    "ThresholdRelease",
    "TopRelease",
    "Total",
    "Variance",
    "total_guarantee",
]
