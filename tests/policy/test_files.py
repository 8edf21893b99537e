"""Policy files: every message names the line that it is about."""

from pathlib import Path

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from onesided import errors
from onesided import policy as p

HEAD = "onesided_policy = 1\n"
WRONG = {
    "version": ("# a policy\nonesided_policy = 7\nfamily = 'bounded'", 2),
    "family": (f"{HEAD}\nfamily = 'magic'", 3),
    "unknown field": (f"{HEAD}family = 'bounded'\n\ncolour = 3", 4),
    "unknown parameter": (f"{HEAD}family = 'bounded'\n[parameters]\n\nx = 1", 5),
    "missing parameter": (f"{HEAD}family = 'presence'\n[parameters]\n", 3),
    "missing table": (f"{HEAD}family = 'presence'", 2),
    "wrong type": (f"{HEAD}family = 'sensitive'\n[parameters]\n# text\npredicate = 3", 5),
    "bad number": (f"{HEAD}family = 'presence'\n[parameters]\nmax_groups = 0", 4),
    "NaN": (f"{HEAD}family = 'presence'\n[parameters]\nmax_groups = nan", 4),
    "bad weight": (
        f"{HEAD}family = 'custom'\n[parameters]\nkinds = ['a']\nedges = [\n  ['a', 'a', '-1'],\n]",
        6,
    ),
    "unknown kind in an edge": (
        f"{HEAD}family = 'custom'\n[parameters]\nkinds = ['a']\nedges = [\n ['a', 'a'],\n"
        " ['a', 'b'],\n]",
        7,
    ),
    "empty predicate": (f"{HEAD}family = 'sensitive'\n[parameters]\n\npredicate = ' '", 5),
    "tier order": (
        f"{HEAD}family = 'tiers'\n[parameters]\ntiers = [\n ['lax', '2', 'x'],\n ['firm', '1'],\n]",
        6,
    ),
    "tier twice": (
        f"{HEAD}family = 'tiers'\n[parameters]\ntiers = [\n ['b', '2', 'x'],\n ['b', '1'],\n]",
        5,
    ),
    "no tiers": (f"{HEAD}family = 'tiers'\n[parameters]\ntiers = []", 4),
    "radius": (f"{HEAD}family = 'neighbourhood'\n[parameters]\nradius = '-3'", 4),
    "metric": (f"{HEAD}family = 'neighbourhood'\n[parameters]\nradius = 3\nmetric = 'taxi'", 5),
    "letter": (
        f"{HEAD}family = 'local'\n[parameters]\nalphabet = ['a', 'b']\nsensitive = ['z']",
        5,
    ),
    "attribute": (f"{HEAD}family = 'attributes'\n[parameters.sensitive]\nx = 3", 4),
    "nothing sensitive": (f"{HEAD}family = 'attributes'\n[parameters.sensitive]\nx = []", 3),
    "part": (
        f"{HEAD}family = 'intersection'\n[[parameters.parts]]\nfamily = 'bounded'\n"
        "[[parameters.parts]]\nfamily = 'presence'\nparameters.max_groups = 0",
        7,
    ),
    "family of a part": (
        f"{HEAD}family = 'intersection'\n[[parameters.parts]]\nfamily = 'magic'",
        4,
    ),
    "no parts": (f"{HEAD}family = 'intersection'\nparameters.parts = []", 3),
    "expression": (f"{HEAD}family = 'sensitive'\n[parameters]\npredicate = 'x'\nsql = false", 5),
    "not TOML": (f"{HEAD}family = ", 2),
}


@pytest.mark.parametrize(("text", "line"), WRONG.values(), ids=WRONG)
def test_errors_name_the_line_and_what_to_do(text, line):
    with pytest.raises(errors.PolicyError) as caught:
        p.from_toml(text)
    assert f"line {line}" in caught.value.reason.lower()
    assert caught.value.hint


GUIDE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("family", p.families().values(), ids=p.families())
def test_a_family_is_documented_and_its_example_is_read(family):
    assert f"`{family.name}`" in GUIDE
    assert all(f"`{name}`" in GUIDE for name in family.fields)
    document = {"onesided_policy": 1, "family": family.name, "parameters": family.example}
    policy = p.from_toml(tomli_w.dumps(document))
    assert policy.name == family.name
    again = p.from_toml(policy.to_toml())
    assert again == policy
    assert again.identity == policy.identity
    assert policy.explain().count("Protected (") >= 1
    assert policy.name in policy.to_svg()
    assert policy.relaxes(policy)
    assert set(policy.joins) == set(policy.edges)
    # Nothing that the command line asks for by name is missing from the file's fields.
    assert {option.parameter for option in (family.options or {}).values()} <= set(family.fields)


@pytest.mark.parametrize("family", p.families().values(), ids=p.families())
def test_a_family_is_made_by_a_public_function_of_its_name(family):
    if family.name != "intersection":  # which & makes
        assert callable(getattr(p, family.name))


@given(st.text(alphabet="abc=[]{}'\"\n#.1, ", max_size=60))
def test_any_other_text_is_refused_as_a_policy_error(text):
    with pytest.raises(errors.PolicyError):
        p.from_toml(f"{HEAD}family = 'custom'\n[parameters]\n{text}")


def test_policies_written_by_hand_are_read():
    text = f"""{HEAD}
family = "neighbourhood"

[parameters]
radius = 250
metric = "haversine"
sources = [[52.5, 13.4]]
places.north = [52.6, "13.4"]
"""
    policy = p.from_toml(text)
    assert policy.metric == "haversine"
    assert p.from_toml(policy.to_toml()) == policy
    both = p.from_toml(
        f"{HEAD}family = 'intersection'\n[[parameters.parts]]\nfamily = 'bounded'\n"
        "[[parameters.parts]]\nfamily = 'sensitive'\nparameters = {predicate = 'x'}"
    )
    assert both == p.bounded() & p.sensitive("x")
