"""A schema: what it takes, what it refuses and says, and that TOML keeps it."""

import copy
import datetime as dt
import pickle
import time
import tracemalloc
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided.errors import ParameterError, SchemaError
from onesided.schema import TYPES

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
MOMENTS = st.datetimes(allow_imaginary=False).filter(lambda m: 1 < m.year < 9999)
ZONES = st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=-5, minutes=-30))])
VALUES = {
    "text": NAMES,
    "boolean": st.booleans(),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "date": st.dates(),
    "datetime": MOMENTS,
    "datetime with zone": st.builds(lambda m, z: m.replace(tzinfo=z), MOMENTS, ZONES),
}


FORMS = {
    "number": [{}, {"decimal": ","}, {"decimal": ",", "thousands": "."}],
    "integer": [{}, {"thousands": "'"}, {"thousands": "."}],
    "boolean": [{}, {"true": ("ja", "j"), "false": ("nein",)}],
    "date": [{}, {"date": "%d/%m/%Y"}],
    "datetime with zone": [{}, {"zone": "Europe/Zurich"}],
}
WORDS = st.lists(NAMES | st.just(""), min_size=1, max_size=3, unique=True)


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(TYPES))
    more = {"about": draw(st.one_of(st.just(""), NAMES)), "required": draw(st.booleans())}
    more["missing"] = draw(st.one_of(st.none(), WORDS))
    more["unreadable"] = draw(st.sampled_from([None, "missing", "refuse"]))
    if kind in VALUES and draw(st.booleans()):
        keys = draw(st.lists(VALUES[kind], min_size=1, max_size=4, unique=True))
        more["keys"] = draw(st.sampled_from([keys, "places.csv"]))
    more |= draw(st.sampled_from(FORMS.get(kind, [{}])))
    if kind == "number" and draw(st.booleans()):
        step = draw(st.fractions(min_value=Fraction(1, 10**6)).filter(bool))
        low = draw(st.integers(-(10**9), 10**9))
        more |= {"step": step, "bounds": (step * low, step * (low + 1 + draw(st.integers(0, 9))))}
    if kind in ("integer", "date", "datetime", "datetime with zone") and draw(st.booleans()):
        ends = draw(st.lists(VALUES[kind], min_size=2, max_size=2, unique=True))
        more["bounds"] = tuple(sorted(ends))
    return od.column(kind, **more)


SCHEMAS = st.builds(
    od.Schema,
    unit=st.one_of(st.none(), NAMES),
    missing=st.one_of(st.none(), WORDS),
    unreadable=st.sampled_from([None, "missing"]),
    missing_unit=st.sampled_from([None, "drop"]),
    noun=st.one_of(st.none(), st.tuples(NAMES, NAMES)),
    columns=st.lists(st.tuples(NAMES, columns()), max_size=4, unique_by=lambda c: c[0].lower()).map(
        dict
    ),
)


@given(SCHEMAS)
def test_toml_keeps_a_schema(schema):
    again = od.Schema.from_toml(schema.to_toml())
    assert again == schema
    assert (again.identity, again.explain()) == (schema.identity, schema.explain())
    assert list(again.columns) == list(schema.columns)
    assert pickle.loads(pickle.dumps(schema)) == copy.deepcopy(schema) == schema


def test_numbers_are_exact():
    text = '[columns.x]\ntype = "number"\nbounds = [0.1, "1/3"]\n'
    assert od.Schema.from_toml(text).columns["x"].bounds == (Fraction(1, 10), Fraction(1, 3))


def test_its_identity_is_of_facts_and_not_of_words_or_order():
    age, place = od.column("integer", bounds=(0, 110)), od.column("text", keys=["a"])
    one = od.Schema(unit="p", columns={"age": age, "place": place})
    same = od.Schema(
        unit="p",
        columns={
            "place": place,
            "age": od.column("integer", bounds=("0", Fraction(110)), about="years"),
        },
        folder="elsewhere",
    )
    assert one.identity == same.identity
    others = [
        od.Schema(columns=one.columns),
        od.Schema(unit="p", columns={"age": age}),
        od.Schema(unit="p", columns={"age": age, "place": od.column("text", keys=["b"])}),
        od.Schema(unit="p", columns={"age": od.column("number"), "place": place}),
        od.Schema(
            unit="p", columns={"age": od.column("integer", bounds=(0, 110), step=2), "place": place}
        ),
    ]
    read = [{"missing": ["NA"]}, {"unreadable": "missing"}, {"required": True}]
    others += [
        od.Schema(unit="p", columns={"age": age, "place": od.column("text", keys=["a"], **more)})
        for more in read
    ]
    others += [od.Schema(unit="p", columns=one.columns, **more) for more in read[:2]]
    marked = od.column("integer", bounds=(0, 110), thousands=",")
    others.append(od.Schema(unit="p", columns={"age": marked, "place": place}))
    assert len({one.identity, *(other.identity for other in others)}) == 12
    words = {"noun": ("person", "people"), "name": "visits"}
    said = od.column("integer", bounds=(0, 110), measured_in="years")
    named = od.Schema(unit="p", columns={"age": said, "place": place}, **words)
    assert named.identity == one.identity
    assert od.Schema.from_toml(named.to_toml()) == named != one


@pytest.mark.parametrize(
    ("declare", "key"),
    [
        (lambda: od.Schema(name=""), "name"),
        (lambda: od.Schema(name="a\nb"), "name"),
        (lambda: od.Schema(name=3), "name"),
        (lambda: od.column("integer", measured_in="a\nb"), "measured_in"),
        (lambda: od.column("integer", measured_in=3), "measured_in"),
        (lambda: od.column("text", measured_in="years"), "measured_in"),
        (lambda: od.column("integer", measured_in="x" * 61), "measured_in"),
    ],
)
def test_words_for_people_are_short_and_on_one_line(declare, key):
    with pytest.raises(od.errors.SchemaError) as error:
        declare()
    assert error.value.values["key"] == key


def test_identities_of_schemas_that_say_nothing_new_stay():
    schema = od.Schema(unit="p", columns={"age": od.column("integer", bounds=(0, 110))})
    assert schema.identity == IDENTITY


def test_a_schema_cannot_be_changed():
    schema = od.Schema(unit="p", columns={"age": od.column("integer")})
    with pytest.raises(AttributeError):
        schema.unit = "q"
    with pytest.raises(TypeError):
        schema.columns["x"] = od.column("text")
    with pytest.raises(AttributeError):
        schema.columns["age"].type = "text"


def test_it_is_told_in_plain_words():
    schema = od.Schema(
        unit="person",
        columns={
            "age": od.column("integer", bounds=(0, 110), step=1, about="at the end of last year"),
            "place": od.column("text", keys=["gym"]),
            "town": od.column("text", keys="towns.csv"),
        },
    )
    told = schema.explain()
    for words in (
        "Each value of 'person' is one unit",
        "age: integer from 0 to 110 in steps of 1 (at the end of last year).",
        "place: text; 1 public key: 'gym'.",
        "town: text; its public keys stand in 'towns.csv'.",
    ):
        assert words in told
    assert repr(schema) == "Schema(unit 'person'; age: integer, place: text, town: text)"


# Of a schema of 0.1.0: ledgers hold it.
IDENTITY = "8e689f95866f72e5e0026bac4acc59cc7e021ec1da4ad3cf6891af5e454d3956"
AGE = '[columns.age]\ntype = "integer"\n'


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("x = 1", 1, "no 'x'"),
        ("a", None, "not valid TOML"),
        ('unit = ["a"]', 1, "unit is"),
        ('unit = ""', 1, "''"),
        ("unit = 1.5", 1, "unit is"),
        ("columns = 3", 1, "columns must be a table"),
        ("[columns]\nx = 1", 2, "must be a table"),
        ("[columns.x]\nbounds = [0, 1]", 1, "has no type"),
        ('unit = "p"\n[columns.x]\ntype = "float"', 3, "no type 'float'"),
        (f"{AGE}bound = 3", 3, "has no 'bound'"),
        (f"{AGE}bounds = 3", 3, "pair"),
        (f"{AGE}bounds = [0]", 3, "pair"),
        (f"{AGE}bounds = [3, 1]", 3, "from 3 to 1"),
        (f"{AGE}bounds = [0, nan]", 3, "no finite number"),
        (f"{AGE}bounds = [0, 1e999999999999999999999]", 3, "no finite number"),
        (f"{AGE}bounds = [0, 1.5]", 3, "3/2"),
        (f"{AGE}step = 0", 3, "no grid"),
        (f"{AGE}step = -1", 3, "no grid"),
        (f"{AGE}step = 0.5", 3, "no grid"),
        (f"{AGE}step = 2\nbounds = [0, 5]", 4, "steps of 2"),
        (f"{AGE}keys = []", 3, "no values"),
        (f"{AGE}keys = [1, 2, 1]", 3, "given twice"),
        (f"{AGE}keys = [1, true]", 3, "True"),
        (f'{AGE}keys = "a.txt"', 3, "no .csv or .parquet"),
        (f"{AGE}about = 3", 3, "must be text"),
        (f'{AGE}[columns.AGE]\ntype = "text"', 3, "capitals"),
        ('[columns.x]\ntype = "text"\nbounds = [0, 1]', 3, "has no bounds"),
        ('[columns.x]\ntype = "text"\nkeys = [1.5]', 3, "no value of type text"),
        ('[columns.x]\ntype = "number"\nkeys = [1]', 3, "has no keys"),
        ('[columns.x]\ntype = "date"\nkeys = ["2007-02-29"]', 3, "no value of type date"),
        ('[columns.x]\ntype = "date"\nkeys = [2008-02-29T07:30:00]', 3, "no value of type date"),
        ('[columns.x]\ntype = "datetime"\nkeys = [2008-02-29T07:30:00Z]', 3, "no value of"),
        (f'{AGE}decimal = ","', 3, "type integer has no decimal"),
        ('[columns.x]\ntype = "number"\nthousands = "."', 3, "thousands and decimal are both '.'"),
        (f'{AGE}thousands = "x"', 3, "thousands is 'x'"),
        (f"{AGE}thousands = 1", 3, "thousands is 1"),
        (f'{AGE}date = "%d"', 3, "type integer has no date"),
        ('[columns.x]\ntype = "number"\ndecimal = ";"', 3, "decimal is ';'"),
        ('[columns.x]\ntype = "number"\nthousands = ","\ndecimal = ","', 3, "both ','"),
        ('[columns.x]\ntype = "boolean"\ntrue = ["ja"]', 3, "true is declared alone"),
        ('[columns.x]\ntype = "boolean"\ntrue = ["a"]\nfalse = ["a"]', 3, "true and false"),
        ('[columns.x]\ntype = "date"\ndate = "%d/%m/%y"', 3, "no form of a column of type date"),
        ('[columns.x]\ntype = "date"\ndate = "%d/%m"', 3, "no form"),
        ('[columns.x]\ntype = "date"\ndate = "%d/%m/%Y %d"', 3, "no form"),
        ('[columns.x]\ntype = "date"\ndate = "%d/%m/%Y %H"', 3, "no form"),
        ('[columns.x]\ntype = "date"\ndate = "%d/%m/%Y%"', 3, "no form"),
        ('[columns.x]\ntype = "date"\ndate = "20%d/%m/%Y"', 3, "no form"),
        ('[columns.x]\ntype = "date"\ndate = 3', 3, "date holds 3"),
        ('[columns.x]\ntype = "datetime"\ndate = "%d/%m/%Y"', 3, "no form"),
        ('[columns.x]\ntype = "datetime"\nzone = "UTC"', 3, "has no zone"),
        ('[columns.x]\ntype = "datetime with zone"\nzone = "../etc/passwd"', 3, "no zone"),
        ('[columns.x]\ntype = "datetime with zone"\ndate = "%Y-%m-%d %H:%M"', 3, "no form"),
        ('noun = "person"', 1, "noun is 'person'"),
        ('noun = ["person"]', 1, "noun is"),
        (f'{AGE}unreadable = "null"', 3, "unreadable is 'null'"),
        (f"{AGE}required = 1", 3, "required is 1"),
        (f'{AGE}missing = "NA"', 3, "missing must list"),
        (f"{AGE}missing = []", 3, "missing must list"),
        (f'{AGE}missing = ["NA", "NA"]', 3, "missing must list"),
        (f"{AGE}missing = [1.5]", 3, "missing must list"),
        ("missing = [7]", 1, "missing must list"),
        ('missing_unit = "skip"', 1, "missing_unit is 'skip'"),
        ("unreadable = true", 1, "unreadable is True"),
        ('columns = {x = {type = "text"}, y = {type = "float"}}', 1, "no type 'float'"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_line(text, line, says):
    with pytest.raises(SchemaError) as caught:
        od.Schema.from_toml(text)
    assert says in caught.value.reason
    assert caught.value.hint
    assert caught.value.values.get("line") == line
    if line:
        assert caught.value.reason.startswith(f"Line {line}: ")


@pytest.mark.parametrize(
    "make",
    [
        lambda: od.Schema(unit=3),
        lambda: od.Schema(columns=["age"]),
        lambda: od.Schema(columns={"age": "integer"}),
        lambda: od.Schema(columns={"": od.column("text")}),
        lambda: od.Schema(columns={3: od.column("text")}),
        lambda: od.Schema(columns={"a" * 1001: od.column("text")}),
        lambda: od.column("str"),
        lambda: od.column(int),
        lambda: od.column("integer", bounds="01"),
        lambda: od.column("integer", bounds=(0, float("inf"))),
        lambda: od.column("integer", bounds=(0, 10**5000 + 1), step="x"),
        lambda: od.column("text", keys=["\ud800"]),
        lambda: od.column("text", keys={"a": 1}),
        lambda: od.column("text", about=None),
        lambda: od.Schema.from_toml(b"unit = 'a'"),
        lambda: od.Schema.read("nowhere.toml"),
        lambda: od.Schema.read("."),
    ],
)
def test_what_cannot_be_declared_is_refused(make):
    with pytest.raises(SchemaError) as caught:
        make()
    assert caught.value.hint


HOSTILE = {
    "deep": "unit = " + "[" * 400_000,
    "tables": "[columns." + "a." * 200_000 + "b]",
    "dots": "a" + ".a" * 200_000 + " = 1",
    "names": '[columns."' + "n" * 400_000 + '"]\ntype = "x"',
    "columns": "[columns]\n" + "".join(f"c{i} = 1\n" for i in range(40_000)),
    "digits": '[columns.x]\ntype = "integer"\nstep = ' + "9" * 400_000,
    "point": '[columns.x]\ntype = "number"\nstep = 1.' + "9" * 400_000,
    "exponent": '[columns.x]\ntype = "number"\nstep = 1e' + "9" * 400_000,
    "keys": '[columns.x]\ntype = "integer"\nkeys = [' + "1," * 200_000 + "]",
    "spaces": '[columns.x]\ntype = "x"' + " " * 400_000,
    "commas": "[columns.x]\n" + "," * 400_000,
    "braces": "columns = " + "{a=" * 100_000,
    "quotes": '[columns.x]\ntype = "' + '"' * 400_000,
    "long": "#" * 600_000,
    "lines": "\n" * 400_000 + "x = 1",
    "fraction": '[columns.x]\ntype = "number"\nstep = "1/' + "9" * 400_000 + '"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_ends_in_our_error_soon(name):
    start = time.process_time()
    with pytest.raises(SchemaError) as caught:
        od.Schema.from_toml(HOSTILE[name])
    assert time.process_time() - start < 1
    assert len(str(caught.value)) < 2_000


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["deep", "keys", "braces"])
def test_a_hostile_text_takes_little_memory(name):
    tracemalloc.start()
    with pytest.raises(SchemaError):
        od.Schema.from_toml(HOSTILE[name])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200 * 2**20


def test_a_file_says_what_is_wrong_and_where(tmp_path):
    path = tmp_path / "v.schema.toml"
    path.write_text('unit = "p"\n[columns.x]\ntype = "float"\n')
    with pytest.raises(SchemaError, match=r"v\.schema\.toml.*Line 3"):
        od.Schema.read(path)
    path.write_bytes(b'unit = "p"\nx = "\xe9"\n')
    with pytest.raises(SchemaError, match=r"byte 0xE9 at position 16 \(line 2\)"):
        od.Schema.read(path)
    path.write_bytes(b"#" * 10**6)
    with pytest.raises(SchemaError, match="larger than"):
        od.Schema.read(path)


def test_two_units_are_refused():
    schema = od.Schema(unit="person")
    assert schema.unit_of(None) == schema.unit_of("person") == "person"
    assert od.Schema().unit_of("x") == "x"
    with pytest.raises(ParameterError, match="is not the schema's unit"):
        schema.unit_of("household")
