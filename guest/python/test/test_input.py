"""What a client may send: its cost, its encoding, and names by which programs in JavaScript are attacked."""

import json
import sys
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from pointwork_guest import (
    CallError,
    Context,
    Cookies,
    Event,
    Fields,
    Module,
    Reply,
    channel,
    controller,
    get,
    on,
    post,
)
from pointwork_guest import base_context, fields, jsonplaces, misfits, multipart, readers, scalars
from pointwork_guest.testing import TestApp

FORM = {"content-type": "application/x-www-form-urlencoded"}
FORM_HEADER = {"content_type": FORM["content-type"]}


@dataclass
class Numbers:
    values: list[int]


KEPT: list[Any] = []


@controller("x")
class Input:
    @post("json")
    def json(self, ctx: Context) -> Any:
        return ctx.json()

    @post("typed")
    def typed(self, body: Numbers) -> Any:
        return len(body.values)

    @post("text")
    def text(self, ctx: Context) -> str:
        return ctx.text()

    @post("form")
    def form(self, ctx: Context) -> Any:
        return ctx.form().grouped()

    @post("parts")
    def parts(self, ctx: Context) -> Any:
        return [part.text() for part in ctx.parts()]

    @get("query")
    def query(self, a: int = 0, b: int = 0, c: int = 0) -> Any:
        return [a, b, c]

    @get("cookies")
    def cookies(self, ctx: Context) -> Any:
        return [ctx.cookies.get("a"), ctx.cookies.get("b")]

    @post("caught")
    def caught(self, ctx: Context) -> Any:
        try:
            return ctx.json(Numbers)
        except Exception as error:
            KEPT.append(error)
            raise

    @get("call")
    def call(self, ctx: Context) -> Any:
        return ctx.call("db:any")

    @get("surrogate")
    def surrogate(self, where: str) -> Any:
        half = "ab\ud800"
        values = {"text": half, "json": {"a": [half]}, "key": {half: 1}}
        if where == "header":
            return Reply.text("a", headers={"x": half})
        if where == "cookie":
            return Reply.text("a").cookie("x", half)
        if where == "location":
            return Reply.redirect(half)
        return values[where]

    @get("emit")
    def emit(self, ctx: Context) -> None:
        ctx.emit("a:b", {"name": "\ud800"})


@channel("x")
class Listens:
    @on("any")
    def any(self, payload: Any) -> Any:
        return payload

    @on("typed")
    def typed(self, payload: Numbers) -> int:
        return len(payload.values)


APP = TestApp(Module(controllers=[Input], channels=[Listens]))


def sent(path: str, body: str | bytes, **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = APP.post(f"/x/{path}", body=body, headers=named)
    is_json = answer.header("content-type") == "application/json"
    return answer.status, answer.json() if is_json else answer.text()


class Counted:
    """Counts the calls of a function."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls += 1
        return self.function(*given, **named)


def test_a_list_of_wrong_items_is_read_to_the_51st_and_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    refused, scans = Counted(misfits.refused), Counted(jsonplaces._ends)
    monkeypatch.setattr(scalars, "refused", refused)
    monkeypatch.setattr(jsonplaces, "_ends", scans)
    status, body = sent("caught", json.dumps({"values": ["x"] * 4000}))
    assert (status, body["message"], len(body["fields"])) == (422, "more than 50 fields are not valid", 50)
    assert (refused.calls, scans.calls) == (51, 0)
    error = KEPT.pop()
    assert [one.place for one in error.invalid[:2]] == ["line 1 column 15", "line 1 column 20"]
    assert len({one.place for one in error.invalid}) == 50 and scans.calls == 1
    exactly = sent("typed", json.dumps({"values": ["x"] * 50}))[1]
    assert (exactly["message"], len(exactly["fields"])) == ("50 fields are not valid", 50)


def test_other_types_stop_at_the_51st_as_well() -> None:
    hints: list[tuple[Any, Any]] = [
        (dict[str, int], dict.fromkeys(map(str, range(4000)), "x")),
        (set[int], ["x"] * 4000),
        (tuple[int, ...], ["x"] * 4000),
        (list[list[int]], [["x"] * 30] * 4000),
        (list[Numbers], [{}] * 4000),
    ]
    for hint, value in hints:
        with pytest.raises(misfits.Misfit) as found:
            readers.JSON.reader(hint).read(value)
        assert len(found.value.found) == 51
    closed = readers.COMPILERS[False, True].reader(Numbers)
    with pytest.raises(misfits.Misfit) as unknown:
        closed.read(dict.fromkeys(map(str, range(4000))))
    assert len(unknown.value.found) == 51


def test_values_of_the_declared_type_are_not_read_one_by_one() -> None:
    values = list(range(1000))
    assert readers.JSON.reader(list[int]).read(values) is values
    named = dict.fromkeys(map(str, values), "a")
    assert readers.JSON.reader(dict[str, str]).read(named) is named


@dataclass(frozen=True)
class Point:
    x: int


def test_values_of_one_hash_are_refused_where_they_are_hashed() -> None:
    prime = sys.hash_info.modulus
    numbers = [number * prime for number in range(1000)]
    for hint, value in (
        (set[int], numbers),
        (frozenset[int], numbers),
        (dict[int, str], {str(one): "" for one in numbers}),
        (set[int | str], numbers),
        (set[UUID], [str(UUID(int=one)) for one in numbers]),
        (dict[UUID, str], {str(UUID(int=one)): "" for one in numbers}),
        (set[Point], [{"x": one} for one in numbers]),
    ):
        with pytest.raises(misfits.Invalid, match="got many with one hash"):
            readers.JSON.reader(hint).read(value)
    assert readers.JSON.reader(list[int]).read(numbers) is numbers
    assert readers.JSON.reader(set[int]).read([*range(5000), *[7] * 5000]) == set(range(5000))


def test_places_behind_too_many_values_are_not_searched() -> None:
    places = jsonplaces.Places("[" + "1," * 30_000 + '"x"]', [(30_000,)])
    assert places.of((30_000,)) is None
    near = jsonplaces.Places('{"a": [1, {"b": "x"}],\n "c": 2}', [("a", 1, "b"), ("c",), ("d",), ()])
    assert [near.of(path) for path in (("a", 1, "b"), ("c",), ("d",), ())] == [
        "line 1 column 19",
        "line 2 column 7",
        None,
        "line 2 column 8",
    ]


def test_the_query_and_the_cookies_are_read_once_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, cookies = Counted(fields.parse_fields), Counted(Cookies)
    monkeypatch.setattr(base_context, "parse_fields", parse)
    monkeypatch.setattr(base_context, "Cookies", cookies)
    assert APP.get("/x/query?a=1&b=2&c=3").json() == [1, 2, 3]
    assert APP.get("/x/cookies", cookies={"a": "1", "b": "2"}).json() == ["1", "2"]
    assert (parse.calls, cookies.calls) == (1, 1)


def test_names_of_fields_are_grouped_in_one_pass() -> None:
    class Pairs(list[tuple[str, str]]):
        passes = 0

        def __iter__(self) -> Any:
            self.passes += 1
            return super().__iter__()

    pairs = Pairs([("a", str(number)) for number in range(100)] + [("b", "1")])
    found = Fields(pairs)
    assert (found.get("a"), found.get("c"), len(found.all("a")), "b" in found) == ("0", None, 100, True)
    assert found.grouped() == {"a": [str(number) for number in range(100)], "b": "1"}
    assert pairs.passes == 1
    assert sent("form", "a&" * 100_001, **FORM_HEADER) == (413, {"message": "body: it has more than 100000 fields"})


def part(name: str, text: bytes = b"x", more: str = "") -> bytes:
    return f'--b\r\ncontent-disposition: form-data; name="{name}"\r\n{more}\r\n'.encode() + text + b"\r\n"


PARTS = {"content_type": "multipart/form-data; boundary=b"}


def test_a_body_has_at_most_1000_parts() -> None:
    assert sent("parts", part("a") * 1000 + b"--b--", **PARTS) == (200, ["x"] * 1000)
    assert sent("parts", part("a") * 1001 + b"--b--", **PARTS) == (
        413,
        {"message": "body: there are too many parts, expected 1000 at most"},
    )


def test_a_head_ends_within_64_kib_the_preamble_included() -> None:
    endless = (400, {"message": "body: a part has no end of its head within 65536 bytes"})
    padded = part("a").replace(b"\r\n\r\n", b"\r\nx-a: " + b"y" * 70_000 + b"\r\n\r\n", 1)
    for body in [padded, b"p" * 66_000 + b"\r\n" + part("a"), b"p" * 65_500 + b"\r\n" + part("a")]:
        assert sent("parts", body + b"--b--", **PARTS) == endless
    assert sent("parts", b"p" * 60_000 + b"\r\n" + part("a") + b"--b--", **PARTS) == (200, ["x"])
    long = part("a").replace(b"\r\n\r\nx", b"\r\n\r\n" + b"x" * 100_000, 1)
    assert sent("parts", long + part("a") + b"--b--", **PARTS)[0] == 200


def test_a_head_that_arrives_byte_by_byte_is_searched_once() -> None:
    class Searched(bytes):
        searched = 0

        def find(self, *given: Any) -> int:
            Searched.searched += len(self) - (given[1] if len(given) > 1 else 0)
            return super().find(*given)

        def __getitem__(self, at: Any) -> Any:
            return Searched(super().__getitem__(at))

        def __add__(self, more: Any) -> "Searched":
            return Searched(super().__add__(more))

    parser = multipart.Parser("b")
    parser._buffer = Searched(parser._buffer)
    head = b'--b\r\ncontent-disposition: form-data; name="a"\r\nx: ' + b"y" * 5000 + b"\r\n\r\n"
    steps = parser.head()
    next(steps)
    with pytest.raises(StopIteration) as end:
        for byte in head:
            steps.send(bytes([byte]))
    assert end.value.value["x"] == "y" * 5000
    assert Searched.searched < 8 * len(head)


def test_payloads_and_results_are_nested_as_deep_as_bodies() -> None:
    deepest: Any = []
    for _ in range(127):
        deepest = [deepest]
    assert APP.deliver("x:any", deepest) == deepest
    with pytest.raises(
        CallError, match="the payload of `x:any`: it is nested more than 128 deep at line 1 column 129"
    ) as deep:
        APP.deliver("x:any", [deepest])
    assert deep.value.code == "bad-payload"
    failed = TestApp(Module(controllers=[Input])).on("db:any", lambda _: [deepest]).get("/x/call")
    assert failed.status == 500 and str(failed.exception).startswith("the result of `db:any`: it is nested")


@pytest.mark.parametrize(
    ("body", "key", "place"),
    [
        ('{"__proto__": 1}', "__proto__", "line 1, column 2"),
        ('{"a": "__proto__", "b": [{"\\u005f_proto__": {}}]}', "__proto__", "line 1, column 27"),
        ('{"a": "\\\\", "__pr\\u006Fto__":\n1}', "__proto__", "line 1, column 13"),
        ('{"a": 1,\n "constructor": {"b": {}, "prototype": {}}}', "constructor.prototype", "line 2, column 27"),
        (
            '{"constructor" : {"c": [{"constructor": 1}], "prot\\u006ftype" : 1}}',
            "constructor.prototype",
            "line 1, column 46",
        ),
        (
            '[{"constructor": {}}, {"constructor": {"constructor": {"prototype": 1}}}]',
            "constructor.prototype",
            "line 1, column 56",
        ),
        (
            '{"constructo\\u0072":{"constructor":{"a":[{"prototype":1}],"prototyp\\u0065":{}}}}',
            "constructor.prototype",
            "line 1, column 59",
        ),
        ('{"constructor":{"constructor":{"a":1},"prototype":1}}', "constructor.prototype", "line 1, column 39"),
        ('{"constructor":{"prototype":1},"__proto__":1}', "constructor.prototype", "line 1, column 17"),
        ('{"__proto__":{"constructor":{"prototype":1}}}', "__proto__", "line 1, column 2"),
    ],
)
def test_keys_of_prototypes_are_refused(body: str, key: str, place: str) -> None:
    message = f"the key `{key}` at {place} is not allowed"
    assert sent("json", body) == (400, {"message": f"body: {message}"})
    answer = TestApp(Module(controllers=[Input]))
    failed = answer.on("db:any", lambda _: json.loads(body)).get("/x/call")
    assert failed.status == 500 and str(failed.exception).startswith("the result of `db:any`: the key")
    for event in ("x:any", "x:typed"):
        with pytest.raises(CallError, match=f"the payload of `{event}`: the key `{key}` at ") as misfit:
            APP.deliver(event, json.loads(body))
        assert (misfit.value.code, misfit.value.status) == ("bad-payload", 400)


@pytest.mark.parametrize(
    "body",
    [
        r'{"\\proto\\": 1, "__proto": 2}',
        '["__proto__", "constructor", "prototype"]',
        '{"a": "\\"__proto__\\":", "constructor": "prototype", "prototype": {}}',
        '{"constructor": {"a": {"prototype": 1}}, "b": "{\\"constructor\\": {\\"prototype\\": 1}}"}',
        '{"constructor": [{"prototype": 1}], "\\u0061": "\\u005f_proto__"}',
        '[{"constructor": {}, "x": [{"prototype": 1}]}, "}"]',
        '{"__proto": 1, "proto__": 2, "\\\\u005f_proto__": 3}',
    ],
)
def test_texts_like_keys_of_prototypes_are_values(body: str) -> None:
    assert sent("json", body) == (200, json.loads(body))


def test_names_of_prototypes_in_forms_queries_and_parts() -> None:
    refused = {"message": "body: the name `__proto__` is not allowed"}
    assert sent("form", "a=1&__proto__=2", **FORM_HEADER) == (400, refused)
    assert sent("form", "%5f_proto__", **FORM_HEADER) == (400, refused)
    assert sent("parts", part("__proto__") + b"--b--", **PARTS) == (400, refused)
    assert APP.get("/x/query?__proto__=1").json() == {"message": "query: the name `__proto__` is not allowed"}


def test_half_of_a_character_is_not_read() -> None:
    for body, place in (
        ('"\\ud800"', "`\\ud800` at line 1, column 2"),
        ('["a",\n"\\uDC00"]', "`\\udc00` at line 2, column 2"),
        ('"\\ud800\\ud800\\udc00"', "`\\ud800` at line 1, column 2"),
        ('"\\ud83d\\ude00\\ude00"', "`\\ude00` at line 1, column 14"),
        ('{"a\\ud800": 1}', "`\\ud800` at line 1, column 4"),
        ('{"\\ud800": 1, "__proto__": 1}', "`\\ud800` at line 1, column 3"),
    ):
        status, told = sent("json", body)
        problem = f"{place} is half of a surrogate pair, expected both halves"
        assert (status, told) == (400, {"message": f"body: {problem}"})
    for body in ('["\\ud83d\\ude00"]', '["\\\\ud800"]', '["\\\\\\ud83d\\ude00", "ud800"]'):
        assert sent("json", body) == (200, json.loads(body))
    with pytest.raises(
        CallError, match=r"the payload of `x:any`: `\\ud800` at line 1, column 2 is half"
    ) as failed:
        APP.deliver("x:any", Halved())
    assert failed.value.code == "bad-payload"


class Halved(dict[str, Any]):
    """A payload of a module in another language."""


@pytest.fixture(autouse=True)
def _halved(monkeypatch: pytest.MonkeyPatch) -> None:
    from pointwork_guest import raw
    from pointwork_guest.payload import lower_payload
    from pointwork_guest.testing import app

    lower = lower_payload
    monkeypatch.setattr(
        app,
        "lower_payload",
        lambda value, what, name: (
            raw.Payload_Json('"\\ud800"') if isinstance(value, Halved) else lower(value, what, name)
        ),
    )


def test_half_of_a_character_is_not_sent() -> None:
    half = "half of a character, `\\ud800`, at position 2, expected text that UTF-8 can write"
    for where, message in (
        ("text", f"what was returned by `Input.surrogate` has {half}"),
        ("json", f"what was returned by `Input.surrogate` cannot be written as JSON: `a.0` has {half}"),
        ("key", f"what was returned by `Input.surrogate` cannot be written as JSON: a key of the value has {half}"),
    ):
        answer = APP.get(f"/x/surrogate?where={where}")
        assert (answer.status, str(answer.exception)) == (500, message)
    for where in ("header", "cookie", "location"):
        answer = APP.get(f"/x/surrogate?where={where}")
        assert answer.status == 500 and f"has {half}" in answer.lines[0].message
    told = "the payload of `a:b` cannot be written as JSON: `name` has half of a character"
    assert told in str(APP.get("/x/emit").exception)


def test_a_byte_order_mark_is_removed_and_other_encodings_are_refused() -> None:
    assert sent("json", "\ufeff[1]") == (200, [1])
    assert sent("text", "\ufeffa") == (200, "a")
    assert sent("form", "\ufeffa=1", **FORM_HEADER) == (200, {"a": "1"})
    assert sent("parts", part("a", b"\xef\xbb\xbfx") + b"--b--", **PARTS) == (200, ["x"])
    for path, kind in (("json", "application/json"), ("text", "text/plain"), ("form", FORM["content-type"])):
        for charset in ("utf-16", "latin1", '"iso-8859-1"'):
            status, told = sent(path, "a", content_type=f"{kind}; charset={charset}")
            assert status == 415 and told["message"].startswith("body: expected `charset=utf-8`, got `")
        for charset in ("utf-8", "UTF-8", '"utf-8"', "us-ascii", "utf8"):
            assert sent(path, "1", content_type=f"{kind}; charset={charset}")[0] == 200
    latin = part("a", b"x", "content-type: text/plain; charset=latin1\r\n") + b"--b--"
    assert sent("parts", latin, **PARTS)[0] == 415


def test_a_typed_event_has_bytes_only_where_it_declares_them() -> None:
    @controller("y")
    class Calls:
        @get("bytes")
        def bytes(self, ctx: Context) -> Any:
            return len(ctx.call(Event[None, bytes]("db:bytes"), None))

        @get("json")
        def json(self, ctx: Context) -> Any:
            return ctx.call(Event[None, int]("db:bytes"), None)

    app = TestApp(Module(controllers=[Calls])).on("db:bytes", lambda _: b"abc")
    assert app.get("/y/bytes").json() == 3
    failed = app.get("/y/json")
    told = "is bytes of the type `application/octet-stream`, expected JSON"
    assert failed.status == 500 and told in str(failed.exception)
