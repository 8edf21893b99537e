"""What can be asked, once: the methods of sessions here and on a server, and questions by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, get_args, get_type_hints

from onesided.errors import ParameterError, called
from onesided.session._above import Above, AtLeast, AtMost, Below, TopK
from onesided.session._count import Count, Enclosed
from onesided.session._discover import Discover, Ngrams
from onesided.session._question import Question
from onesided.session._sample import Sample
from onesided.session.histograms._histogram import Histogram
from onesided.session.several._several import Several, parts_of
from onesided.session.values._mean import Mean, Variance
from onesided.session.values._quantile import Quantile
from onesided.session.values._ratio import Ratio
from onesided.session.values._sum import RowCount, Sum
from onesided.session.workloads._linear import LinearQuery
from onesided.session.workloads._ranges import RangeQuery
from onesided.session.workloads._synthetic import Synthetic
from onesided.session.workloads._table import CrossTable

P = ParamSpec("P")
Result = TypeVar("Result")


def asking(
    question: Callable[P, Question[Result]], *, words: str = "", **fixed: Any
) -> Callable[Concatenate[Any, P], Result]:
    """A method that asks a question of this class; its arguments are the question's.

    fixed: those that the method's name says. words: what it says of itself; the question's if "".
    """

    def ask(session: Any, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        if said := sorted(fixed.keys() & kwargs):
            raise ParameterError(
                f"{said[0]}={kwargs[said[0]]!r} is what this method's name says.",
                hint=f"Leave it out, or ask {question.__name__}(...).",
                value=kwargs[said[0]],
            )
        return session.ask(called(question, *args, **fixed, **kwargs))  # type: ignore[no-any-return]

    ask.__doc__ = words or question.__doc__
    # The list of questions is read off it.
    ask.question, ask.fixed = question, fixed  # type: ignore[attr-defined]
    given = signature(question)
    steps = get_type_hints(question.prepare)["return"]  # type: ignore[attr-defined] # of a class
    answers = get_args(steps) or get_args(steps.__orig_bases__[0])
    own = [one for one in given.parameters.values() if one.name not in fixed]
    ask.__signature__ = given.replace(  # type: ignore[attr-defined] # so that help() shows them
        parameters=[Parameter("self", Parameter.POSITIONAL_ONLY), *own],
        return_annotation=answers[-1],
    )
    return ask


class Asks(ABC):
    """Every question as a method; :meth:`ask` answers them, here or on a server.

    >>> sorted(QUESTIONS)[:3]
    ['Above', 'AtLeast', 'AtMost']
    """

    @abstractmethod
    def ask(self, question: Any) -> Any:
        """Answer ``question``; what every method named after a question does."""

    @abstractmethod
    def plan(self, question: Any) -> Any:
        """What ``question`` would cost and give. Looks at no row and spends nothing."""

    @abstractmethod
    def _read(self, text: str, question: dict[str, Any]) -> tuple[Any, bool]:
        """The question of a query, and whether its plan alone is asked for."""

    above = asking(Above)
    at_least = asking(AtLeast)
    at_most = asking(AtMost)
    below = asking(Below)
    count = asking(Count)
    discover = asking(Discover)
    enclose = asking(Enclosed)
    histogram = asking(Histogram)
    linear = asking(LinearQuery)
    mean = asking(Mean)
    ngrams = asking(Ngrams)
    quantile = asking(Quantile)
    ranges = asking(RangeQuery)
    row_count = asking(RowCount)
    sample = asking(Sample)
    ask_all = asking(Several)
    sum = asking(Sum)
    synthetic = asking(Synthetic)
    table = asking(CrossTable)
    top_k = asking(TopK)
    variance = asking(Variance)

    median = asking(
        Quantile,
        words="A candidate near which half of the units' means are below; see :class:`Quantile`.",
        q=Fraction(1, 2),
    )
    minimum = asking(
        Quantile,
        words="The smallest value's candidate, over all rows of all units; see :class:`Quantile`.",
        q=0,
    )
    maximum = asking(
        Quantile,
        words="The largest value's candidate, over all rows of all units; see :class:`Quantile`.",
        q=1,
    )

    def parts(self, question: Any, *, by: Any, keys: Any = None, **together: Any) -> Any:
        """Answer ``question`` for each of several disjoint parts of the rows, all under one charge.

        by, keys: a column and its public keys; or by={name: condition}, one for each part.
        together: ``epsilon``, ``weights``, ``guesses``, ``id``, ``again`` and ``title``, as in
        ``ask_all(..., disjoint=True)``, which says what is charged.

        >>> import polars as pl, onesided as od
        >>> visits = pl.DataFrame({"place": ["a", "b", "b"], "age": [7, 8, 40]})
        >>> session = od.Session(visits, policy=od.policy.addition_only(), budget=99)
        >>> ages = {"children": "age < 18", "adults": "age >= 18"}
        >>> answers = session.parts(od.Count(epsilon=90), by=ages)
        >>> [int(one.value) for one in answers], answers.guarantee.headline
        ([2, 1], Fraction(90, 1))
        """
        if "disjoint" in together:
            raise ParameterError(
                "Parts are disjoint, and charged as such.",
                hint="Leave disjoint= out; ask_all([...]) asks questions whose charges add up.",
            )
        return self.ask(called(Several, parts_of(question, by, keys), disjoint=True, **together))

    def ratio(self, numerator: Any, denominator: Any, **more: Any) -> Any:
        """One total by another, with bounds; see :class:`Ratio`, whose other arguments are more.

        >>> import polars as pl, onesided as od
        >>> visits = pl.DataFrame({"minutes": [10, 30, 20], "cost": [1, 2, 3]})
        >>> session = od.Session(visits, policy=od.policy.addition_only(), budget=99)
        >>> cost = od.session.Sum("cost", bounds=(0, 9), epsilon=49)
        >>> release = session.ratio(cost, od.Count(epsilon=50), joint=False)
        >>> release.value, release.answers[0].value
        (2.0, 6.0)
        """
        return self.ask(called(Ratio, [numerator, denominator], **more))

    def sql(self, text: str, **question: Any) -> Any:
        """Answer a query in SQL; the plan if it begins with EXPLAIN. See docs/sql.md.

        question: ``epsilon``, ``id``, ``again``, ``weights`` and ``guesses`` as in ``ask_all``, and
        what SQL has no words for, such as ``keys`` or ``max_groups``.
        Errors: SqlError, with the place in the text and the nearest thing that works.

        >>> import polars as pl, onesided as od
        >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
        >>> policy = od.policy.presence(max_groups=2)
        >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
        >>> text = "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"
        >>> session.sql(text, epsilon=90, keys=["a", "b"]).estimate.tolist()
        [1, 3]
        """
        asked, plan_alone = self._read(text, question)
        return self.plan(asked) if plan_alone else self.ask(asked)

    def question(self, text: str, **question: Any) -> Any:
        """The question that a query in SQL asks; takes what :meth:`sql` takes, and asks nothing."""
        return self._read(text, question)[0]


def _named() -> Mapping[str, Any]:
    """The questions by their class's name, each method called as it is found."""
    found = {}
    for name, method in vars(Asks).items():
        if hasattr(method, "question"):
            method.__name__, method.__qualname__ = name, f"Session.{name}"
            found[method.question.__name__] = method.question
    return found


QUESTIONS: Final = {**_named(), Ratio.__name__: Ratio}
