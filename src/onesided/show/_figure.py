"""Who draws a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from onesided.errors import ParameterError
from onesided.show._chart import Chart
from onesided.show._matplotlib import matplotlib_figure
from onesided.show._plotly import plotly_figure

_BACKENDS: Final[Mapping[str, Callable[[Chart], Any]]] = {
    "plotly": plotly_figure,
    "matplotlib": matplotlib_figure,
}


def figure(chart: Chart, backend: str = "plotly") -> Any:
    """The chart as a figure of ``backend``: "plotly" or "matplotlib".

    Errors: ParameterError for another name; MissingDependencyError if it is not installed.

    >>> import numpy as np
    >>> from onesided.show import Dots
    >>> dots = Dots(labels=["gym", "bar"], estimate=np.array([3.0, 1.0]))
    >>> chart = Chart(title="Counts", shape=dots, value_name="people", caption="at no cost")
    >>> figure(chart).layout.title.text
    'Counts<br><sup>at no cost</sup>'
    """
    if backend not in _BACKENDS:
        raise ParameterError(
            f"backend={backend!r} draws no pictures here.",
            hint=f"Use {' or '.join(map(repr, _BACKENDS))}.",
            backend=backend,
        )
    return _BACKENDS[backend](chart)
