"""Streams exist once: no copies, no forks, and a step that fails has not been taken."""

import copy
import os
import pickle

import pytest

from onesided import _process
from onesided.errors import NoiseError, OnesidedError, ParameterError
from onesided.mechanism import SparseVector
from onesided.noise import NotPrivateSeededNoise


class Failing:
    """Fails at chosen draws, and passes the others on."""

    def __init__(self, fails):
        self.inner, self.fails, self.draws = NotPrivateSeededNoise(5), set(fails), 0

    def _next(self):
        self.draws += 1
        if self.draws in self.fails:
            raise NoiseError("No bits.")

    def geometric(self, rate, size):
        self._next()
        return self.inner.geometric(rate, size)


STREAMS = {
    "sparse": (
        lambda noise: SparseVector([2] * 40, upper_rate=1, max_answers=9).stream(noise=noise),
        lambda stream, count: stream.ask(count),
    )
}


@pytest.fixture(params=STREAMS.values(), ids=STREAMS)
def kind(request):
    return request.param


@pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps])
def test_no_stream_can_be_doubled(kind, double):
    opened, ask = kind
    stream = opened(None)
    ask(stream, 3)
    with pytest.raises(ParameterError, match="copied"):
        double(stream)


def test_no_stream_goes_on_in_a_fork(kind, monkeypatch):
    opened, ask = kind
    stream = opened(None)
    ask(stream, 3)
    monkeypatch.setattr(_process.os, "getpid", lambda: -1)
    with pytest.raises(ParameterError, match="forked"):
        ask(stream, 3)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_refuses_even_while_the_stream_was_busy(kind):
    opened, ask = kind
    stream = opened(None)
    with stream._lock:  # as if another thread were in the middle of a step
        child = os.fork()
        if child == 0:
            try:
                ask(stream, 3)
            except ParameterError:
                os._exit(7)
            finally:
                os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    ask(stream, 3)


def test_a_draw_that_fails_is_a_step_not_taken(kind):
    """Retried until it works, a stream answers as one whose noise never failed."""
    opened, ask = kind
    counts, answers = [3, 0, 2, 5, 1, 0, 0, 4, 1, 2, 2, 0, 3, 1, 1], []
    for fails in ((), (1, 2, 4, 5, 9, 12)):
        stream, told = opened(Failing(fails)), []
        for count in counts:
            for _ in range(9):
                try:
                    told.append(repr(ask(stream, count)))
                    break
                except OnesidedError as error:
                    if isinstance(error, ParameterError):  # the sparse vector has stopped
                        told.append("stopped")
                        break
        answers.append(told)
    assert answers[0] == answers[1]
