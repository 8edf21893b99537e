# ruff: noqa: E501 - tables of odd values and of texts read better in one line each
"""Random conditions of the language, and random typed columns with everything odd in them."""

import math
import random

import polars as pl

from onesided.schema import DAY, FIRST_DAY, LAST_DAY

TEXTS = ["", " ", "a", "A", "aB", "ab", "ÄÖ", "ä", "ß", "ǅ", "\u212a", "é", "e\u0301", "🤦🏼\u200d♂️", "%", "_", "a%b", "a_b",
         "\\", "a\\b", "it's", '"', "\n", "a\nb", "\t a ", "  a  ", "\u00a0a\u00a0", "\0", "x\0y", "\uffff", "\U0010ffff", "zz", "İ", "ı", "ﬀ"]  # fmt: skip
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.1, 1.5, -2.5, 2.0**53, 2.0**53 + 2, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, math.nan, math.inf, -math.inf, 1e155, 3.0, 1e22, 9.2e18]  # fmt: skip
DAYS = [0, -1, 1, 18262, 18628, FIRST_DAY, LAST_DAY, FIRST_DAY + 1, LAST_DAY - 1, -719163, 2932897, 11016, -141428]  # fmt: skip
CLOCKS = [0, 1, 86_399_999_999, 3_600_000_000, 59_999_999, 43_200_000_000, 12_345_678]
KINDS = ("i8", "i32", "i64", "u64", "j64", "f", "g", "h", "s", "r", "b", "c", "d", "e", "m", "k", "z", "n", "t")  # fmt: skip


def whole(rng, bits, *, signed=True):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return rng.choice([low, high, low + 1, high - 1, 0, 1, max(low, -1), 2, 3, 7, 10, max(low, -7), rng.randint(low, high)])  # fmt: skip


def moment(rng):
    return rng.choice([d * DAY for d in DAYS if FIRST_DAY <= d <= LAST_DAY]) + rng.choice(CLOCKS)


def columns(rng, rows):
    """Values as the schema describes them, or null."""
    makers = {
        "i8": lambda: whole(rng, 8),
        "i32": lambda: whole(rng, 32),
        "i64": lambda: whole(rng, 64),
        "j64": lambda: whole(rng, 64),
        "u64": lambda: whole(rng, 64, signed=False),
        "f": lambda: rng.choice(NUMBERS),
        "g": lambda: rng.choice([*NUMBERS, rng.uniform(-5, 5)]),
        "h": lambda: rng.choice([0.0, 0.1, 1.5, math.nan, math.inf, -3.25]),
        "s": lambda: rng.choice(TEXTS),
        "r": lambda: rng.choice(TEXTS),
        "b": lambda: rng.random() < 0.5,
        "c": lambda: rng.random() < 0.5,
        "d": lambda: rng.choice(DAYS),
        "e": lambda: rng.choice(DAYS),
        "m": lambda: moment(rng),
        "k": lambda: moment(rng),
        "z": lambda: moment(rng),
        "n": lambda: rng.choice(
            [0, -1, 1, 999, 10**18, -(10**18), 2**63 - 2, -(2**63) + 2, 1577836800 * 10**9]
        ),
        "t": lambda: rng.choice(CLOCKS),
    }
    return {
        name: [None if rng.random() < 0.15 else make() for _ in range(rows)]
        for name, make in makers.items()
    }


DTYPES = {
    "i8": pl.Int8,
    "i32": pl.Int32,
    "i64": pl.Int64,
    "j64": pl.Int64,
    "u64": pl.UInt64,
    "f": pl.Float64,
    "g": pl.Float64,
    "h": pl.Float32,
    "s": pl.String,
    "r": pl.String,
    "b": pl.Boolean,
    "c": pl.Boolean,
    "d": pl.Date,
    "e": pl.Date,
    "m": pl.Datetime("us"),
    "k": pl.Datetime("us"),
    "z": pl.Datetime("us", "UTC"),
    "n": pl.Datetime("ns"),
    "t": pl.Time,
}


def frame(values):
    """The columns as a Polars table."""
    made = {}
    for name, column in values.items():
        dtype = DTYPES[name]
        raw = [v * 1000 if name == "t" and v is not None else v for v in column]
        time = dtype in (pl.Date, pl.Time) or isinstance(dtype, pl.Datetime)
        physical = pl.Int32 if dtype == pl.Date else pl.Int64
        made[name] = (
            pl.Series(raw, dtype=physical).cast(dtype) if time else pl.Series(raw, dtype=dtype)
        )
    return pl.DataFrame(made)


def rows(values):
    """Each row as the reference reads it: floats of 32 bits as what they hold."""
    held = dict(values)
    held["h"] = frame({"h": values["h"]})["h"].cast(pl.Float64).to_list()
    count = len(held["i8"])
    odd = {"f", "g", "h"}
    return [
        {
            n: None if n in odd and c[i] is not None and not math.isfinite(c[i]) else c[i]
            for n, c in held.items()
        }
        for i in range(count)
    ]


class Writer:
    """Writes random conditions that have a meaning."""

    def __init__(self, seed, *, fine=True):
        self.rng = random.Random(seed)
        self.fine = fine

    def pick(self, *choices):
        return self.rng.choice(choices)

    def condition(self, depth):
        if depth <= 0:
            return self.comparison(0)
        inner = depth - 1
        return self.pick(
            lambda: f"({self.condition(inner)}) AND ({self.condition(inner)})",
            lambda: f"({self.condition(inner)}) OR ({self.condition(inner)})",
            lambda: f"NOT ({self.condition(inner)})",
            lambda: f"({self.condition(inner)}) IS NULL",
            lambda: f"({self.condition(inner)}) {self.pick('=', '<>')} ({self.condition(inner)})",
            lambda: f"COALESCE({self.condition(inner)}, {self.pick('TRUE', 'FALSE', 'b')})",
            lambda: (
                f"CASE WHEN {self.condition(inner)} THEN {self.condition(inner)} ELSE {self.condition(inner)} END"
            ),
            lambda: self.comparison(inner),
            lambda: self.comparison(inner),
            lambda: self.comparison(inner),
        )()

    def comparison(self, depth):
        op = self.pick("=", "<>", "<", "<=", ">", ">=")
        kinds = [self.whole, self.number, self.text, self.date, self.moment]
        if self.fine:
            kinds.append(self.time)
        make = self.rng.choice(kinds)
        return self.pick(
            lambda: f"{make(depth)} {op} {make(depth)}",
            lambda: f"{make(depth)} {op} {self.literal(make)}",
            lambda: f"{make(depth)} {op} {self.literal(make)}",
            lambda: (
                f"{make(depth)} IN ({', '.join(self.literal(make) for _ in range(self.rng.randint(1, 12)))})"
            ),
            lambda: f"{make(depth)} NOT IN ({self.literal(make)}, {self.literal(make)})",
            lambda: f"{make(depth)} BETWEEN {self.literal(make)} AND {make(depth)}",
            lambda: f"{make(depth)} IS NOT NULL",
            lambda: f"{self.whole(depth)} {op} {self.number(depth)}",
            lambda: f"{self.date(depth)} {op} {self.moment(depth)}",
            lambda: f"{self.text(depth)} {self.pick('LIKE', 'NOT LIKE')} {self.pattern()}",
            lambda: self.pick(
                "b", "c", "NOT b", "b = c", "b <> TRUE", "TRUE", "FALSE", "b IN (TRUE)"
            ),
            lambda: f"{self.number(depth)} {op} {self.literal(self.whole)}",
            lambda: f"{self.whole(depth)} {op} {self.literal(self.number)}",
            lambda: f"{self.date(depth)} {op} {self.literal(self.moment)}",
            lambda: f"{self.moment(depth)} {op} {self.literal(self.date)}",
            lambda: f"z {op} {self.pick(self.literal(self.moment), self.literal(self.date), 'z')}",
            lambda: f"{self.part('z')} {op} {self.rng.randint(0, 60)}",
        )()

    def pattern(self):
        return quoted(
            "".join(
                self.pick("%", "_", "a", "b", "A", "\\", "é", "", "\n", "_", "%", ".", "[", "*")
                for _ in range(self.rng.randint(0, 5))
            )
        )

    def literal(self, make):
        if make == self.whole:
            n = self.pick(
                whole(self.rng, 64),
                whole(self.rng, 8),
                0,
                1,
                -1,
                10**30,
                -(10**38) + 1,
                2**63,
                2**64,
            )
            return str(n)
        if make == self.number:
            return self.pick(
                "0.0",
                "-0.0",
                "0.1",
                "1.5",
                "1e308",
                "-1e308",
                "5e-324",
                "1e22",
                "17.5",
                "9007199254740993.0",
                "-2.5",
                "1e400" if False else "2.0",
            )
        if make == self.text:
            return quoted(self.pick(*[t for t in TEXTS if "\0" not in t]))
        if make == self.date:
            return self.pick(
                "DATE '2020-01-01'",
                "DATE '0001-01-01'",
                "DATE '9999-12-31'",
                "DATE '1970-01-01'",
                "DATE '1582-10-10'",
            )
        if make == self.time:
            return self.pick(
                "TIME '00:00:00'",
                "TIME '12:00:00'",
                "TIME '23:59:59.999999'",
                "TIME '00:00:12.345678'",
            )
        return self.pick(
            "TIMESTAMP '2020-01-01 00:00:00'",
            "TIMESTAMP '1969-12-31 23:59:59.999999'",
            "TIMESTAMP '0001-01-01 00:00:00'",
            "TIMESTAMP '9999-12-31 23:59:59.999999'",
            "TIMESTAMP '2020-01-01 12:00:00.5'",
            "TIMESTAMP '1700-01-01'",
        )

    def whole(self, depth):
        if depth <= 0:
            return self.pick("i8", "i32", "i64", "j64", "u64" if self.fine else "i8")
        inner = depth - 1
        return self.pick(
            lambda: (
                f"({self.whole(inner)} {self.pick('+', '-', '*', '/', '%')} {self.whole(inner)})"
            ),
            lambda: (
                f"({self.whole(inner)} {self.pick('+', '-', '*', '/', '%')} {self.literal(self.whole)})"
            ),
            lambda: (
                f"({self.literal(self.whole)} {self.pick('+', '-', '*', '/', '%')} {self.whole(inner)})"
            ),
            lambda: f"ABS({self.whole(inner)})",
            lambda: f"- {self.whole(inner)}",
            lambda: f"LENGTH({self.text(inner)})",
            lambda: self.part(self.date(inner), dates=True),
            lambda: self.part(self.moment(inner)),
            lambda: (
                f"COALESCE({self.whole(inner)}, {self.whole(inner)}, {self.literal(self.whole)})"
            ),
            lambda: f"CASE WHEN {self.condition(0)} THEN {self.whole(inner)} END",
            lambda: (
                f"CASE {self.whole(inner)} WHEN 1 THEN {self.whole(inner)} WHEN 0 THEN {self.literal(self.whole)} ELSE {self.whole(inner)} END"
            ),
            lambda: self.whole(0),
        )()

    def number(self, depth):
        if depth <= 0:
            return self.pick("f", "g", "h")
        inner = depth - 1
        return self.pick(
            lambda: f"({self.number(inner)} {self.pick('+', '-', '*')} {self.number(inner)})",
            lambda: f"({self.number(inner)} {self.pick('+', '-', '*')} {self.whole(inner)})",
            lambda: f"({self.literal(self.number)} {self.pick('+', '-', '*')} {self.whole(inner)})",
            lambda: f"ABS({self.number(inner)})",
            lambda: f"- {self.number(inner)}",
            lambda: (
                f"COALESCE({self.number(inner)}, {self.whole(inner)}, {self.literal(self.number)})"
            ),
            lambda: (
                f"CASE WHEN {self.condition(0)} THEN {self.number(inner)} ELSE {self.whole(inner)} END"
            ),
            lambda: self.number(0),
        )()

    def text(self, depth):
        if depth <= 0:
            return self.pick("s", "r")
        inner = depth - 1
        return self.pick(
            lambda: f"{self.pick('LOWER', 'UPPER', 'TRIM')}({self.text(inner)})",
            lambda: f"SUBSTRING({self.text(inner)}, {self.rng.randint(1, 4)})",
            lambda: (
                f"SUBSTRING({self.text(inner)}, {self.pick(1, 2, 3, 2147483647)}, {self.pick(0, 1, 2, 2147483647)})"
            ),
            lambda: f"COALESCE({self.text(inner)}, {self.literal(self.text)})",
            lambda: (
                f"CASE WHEN {self.condition(0)} THEN {self.text(inner)} ELSE {self.literal(self.text)} END"
            ),
            lambda: self.text(0),
        )()

    def interval(self, *, days=False):
        unit = "DAY" if days else self.pick("DAY", "HOUR", "MINUTE", "SECOND")
        amount = self.pick(0, 1, -1, 30, 400, 100_000, 3_000_000, -3_000_000, 59)
        return f"INTERVAL '{amount}' {unit}"

    def date(self, depth):
        if depth <= 0:
            return self.pick("d", "e")
        inner = depth - 1
        return self.pick(
            lambda: f"({self.date(inner)} {self.pick('+', '-')} {self.interval(days=True)})",
            lambda: f"COALESCE({self.date(inner)}, {self.literal(self.date)})",
            lambda: (
                f"CASE WHEN {self.condition(0)} THEN {self.date(inner)} ELSE {self.date(inner)} END"
            ),
            lambda: self.date(0),
        )()

    def moment(self, depth):
        if depth <= 0:
            return self.pick("m", "k", "n" if self.fine else "m")
        inner = depth - 1
        return self.pick(
            lambda: f"({self.moment(inner)} {self.pick('+', '-')} {self.interval()})",
            lambda: (
                f"COALESCE({self.moment(inner)}, {self.pick(self.literal(self.moment), self.date(inner))})"
            ),
            lambda: (
                f"CASE WHEN {self.condition(0)} THEN {self.moment(inner)} ELSE {self.moment(inner)} END"
            ),
            lambda: self.moment(0),
        )()

    def time(self, _depth):
        return self.pick("t", "t", f"COALESCE(t, {self.literal(self.time)})")

    def part(self, inner, *, dates=False):
        units = ("YEAR", "MONTH", "DAY", "ISODOW")
        unit = self.rng.choice(units if dates else (*units, "HOUR", "MINUTE", "SECOND"))
        return f"EXTRACT({unit} FROM {inner})"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"
