"""What a session can be asked, as those see it who ask it in an editor or a notebook."""

import inspect
import tempfile

import jedi
import polars as pl
import pytest

import onesided as od
from onesided.remote._session import RemoteSession
from onesided.session._asks import QUESTIONS, Asks

# A worker's own: jedi's shared one is read while another process writes it.
jedi.settings.cache_directory = tempfile.mkdtemp(prefix="onesided-jedi-")
METHODS = {name: one.question for name, one in vars(Asks).items() if hasattr(one, "question")}
SESSION = od.Session(pl.DataFrame({"age": [7]}), policy=od.policy.addition_only(), budget=9)


def arguments(name):
    """The question's, but for what the method's name says."""
    fixed = getattr(Asks, name).fixed
    return [one for one in inspect.signature(METHODS[name]).parameters if one not in fixed]


def test_a_method_that_says_it_in_its_name_takes_no_other():
    assert "q" not in arguments("maximum")
    for more in ({"q": "1/2"}, {"q": 1}):
        with pytest.raises(od.errors.ParameterError, match="name says"):
            SESSION.maximum("age", epsilon=1, candidates=[9], **more)
    with pytest.raises(od.errors.ParameterError, match="multiple values"):
        SESSION.maximum("age", "1/2", epsilon=1, candidates=[9])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_shows_its_questions_arguments_words_and_answer(name):
    method, question = getattr(SESSION, name), METHODS[name]
    told, own = inspect.signature(method), inspect.signature(question)
    assert list(told.parameters) == arguments(name)
    assert set(own.parameters) == set(told.parameters) | set(method.fixed)
    assert told.return_annotation is not inspect.Signature.empty
    assert method.__name__ == name
    assert (
        ":class:`Quantile`" in method.__doc__
        if method.fixed
        else method.__doc__ == question.__doc__
    )
    assert getattr(od.Session, name) is getattr(RemoteSession, name)


@pytest.mark.parametrize("name", METHODS)
def test_an_editor_completes_the_arguments(name):
    editor = jedi.Interpreter(f"session.{name}(", [{"session": SESSION}])
    (told,) = editor.get_signatures()
    names = [one.name for one in told.params]
    assert names == arguments(name)


def test_answers_are_typed_where_there_is_one_class_of_them():
    returned = {
        name: inspect.signature(getattr(SESSION, name)).return_annotation for name in METHODS
    }
    assert returned["count"] is od.Release
    assert returned["ask_all"] is od.session.Answers


def test_every_question_with_a_form_in_json_is_a_method():
    """``ratio`` takes its two questions one by one."""
    assert set(QUESTIONS.values()) == {*METHODS.values(), od.Ratio}
    assert {one.__name__: one for one in QUESTIONS.values()} == QUESTIONS
