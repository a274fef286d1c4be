"""Declarations are told apart by their identity: two functions that are equal are two declarations."""

import functools
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Annotated, Any, NamedTuple

import pytest

from pointwork_guest import BaseContext, Depends, Module, Reply, controller, get
from pointwork_guest.testing import TestApp


class Reader(StrEnum):
    STAFF = "staff"

    def __call__(self) -> bool:
        return True


class Writer(StrEnum):
    STAFF = "staff"

    def __call__(self) -> bool:
        return False


class Open(IntEnum):
    ONE = 1

    def __call__(self) -> bool:
        return True


class Shut(IntEnum):
    ONE = 1

    def __call__(self) -> bool:
        return False


class May(NamedTuple):
    role: str

    def __call__(self) -> bool:
        return True


class MayNot(NamedTuple):
    role: str

    def __call__(self) -> bool:
        return False


@dataclass(frozen=True)
class Rule:
    name: str
    admits: bool = field(compare=False)

    def __call__(self) -> bool:
        return self.admits

    def check(self) -> bool:
        return self.admits


class Same:
    """Objects that are all equal, also those of classes below."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    def __hash__(self) -> int:
        return 1


PAIRS: list[tuple[Any, Any]] = [
    (Reader.STAFF, Writer.STAFF),
    (Open.ONE, Shut.ONE),
    (May("staff"), MayNot("staff")),
    (Rule("staff", True), Rule("staff", False)),
    (Rule("staff", True).check, Rule("staff", False).check),
    (functools.partial(Rule("staff", True)), functools.partial(Rule("staff", False))),
    (Same(True), Same(False)),
]


@pytest.mark.parametrize(("admits", "refuses"), PAIRS)
def test_each_of_two_equal_guards_runs(admits: Any, refuses: Any) -> None:
    @controller("x", guards=[admits])
    class Secret:
        @get(guards=[refuses])
        def show(self) -> str:
            return "secret"

    app = TestApp(Module(controllers=[Secret]))
    assert app.get("/x").status == 403
    assert len(app.manifest["controllers"][0]["routes"][0]["metadata"]) == 2
    assert TestApp(Module(controllers=[Secret]), overrides={refuses: lambda: True}).get("/x").status == 200
    # The guard that is not overridden still refuses.
    assert TestApp(Module(controllers=[Secret]), overrides={admits: lambda: True}).get("/x").status == 403


@pytest.mark.parametrize(("yes", "no"), PAIRS)
def test_each_of_two_equal_dependencies_gives_its_own_value(yes: Any, no: Any) -> None:
    @controller("x")
    class Shown:
        @get()
        def show(self, one: Annotated[bool, Depends(yes)], two: Annotated[bool, Depends(no)]) -> list[bool]:
            return [one, two]

        @get("nested")
        def nested(self, one: Annotated[bool, Depends(nested_of(yes, no))]) -> bool:
            return one

    app = TestApp(Module(controllers=[Shown]))
    assert app.get("/x").json() == [True, False]
    assert app.get("/x/nested").json() is True


def nested_of(one: Any, two: Any) -> Any:
    def nested(first: Annotated[bool, Depends(one)], second: Annotated[bool, Depends(two)]) -> bool:
        return first and not second

    return nested


class Outer(Same):
    """A dependency that equals what it depends on."""

    def __call__(self, inner: Annotated[str, Depends(Same("inner"))]) -> str:  # type: ignore[override]
        return f"outer of {inner}"


def test_a_dependency_may_equal_what_it_depends_on() -> None:
    @controller("x")
    class Shown:
        @get()
        def show(self, one: Annotated[str, Depends(Outer(None))]) -> str:
            return one

    assert TestApp(Module(controllers=[Shown])).get("/x").text() == "outer of inner"


@dataclass(frozen=True)
class Mark:
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mark) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class Marks(Mark):
    """A hook and a function of `errors` that equals `MarksToo` of the same text."""

    def __call__(self, outcome: Any, ctx: BaseContext) -> Any:
        return outcome.header("x-one", self.text) if isinstance(outcome, Reply) else Reply.text("one", status=409)


class MarksToo(Mark):
    def __call__(self, outcome: Any, ctx: BaseContext) -> Any:
        return outcome.header("x-two", self.text) if isinstance(outcome, Reply) else Reply.text("two", status=410)


def test_each_of_two_equal_hooks_and_functions_of_errors_runs() -> None:
    @controller("x", after=[Marks("a")])
    class Shown:
        @get(after=[MarksToo("a")])
        def show(self) -> str:
            return ""

    answer = TestApp(Module(controllers=[Shown])).get("/x")
    assert (answer.header("x-one"), answer.header("x-two")) == ("a", "a")

    @controller("x")
    class Failing:
        @get("key")
        def key(self) -> str:
            raise KeyError

        @get("value")
        def value(self) -> str:
            raise ValueError

    app = TestApp(Module(controllers=[Failing], errors={KeyError: Marks("a"), ValueError: MarksToo("a")}))
    assert [app.get(f"/x/{name}").text() for name in ("key", "value")] == ["one", "two"]


class Service:
    def __init__(self) -> None:
        self.calls = 0

    def check(self) -> bool:
        self.calls += 1
        return True


def test_a_method_that_is_read_twice_is_one_declaration() -> None:
    service = Service()

    @controller("x", guards=[service.check])
    class Shown:
        @get(guards=[service.check])
        def show(self, one: Annotated[bool, Depends(service.check)]) -> bool:
            return one

    module = Module(controllers=[Shown], guards=[service.check])
    assert TestApp(module).get("/x").json() is True
    assert service.calls == 1
    assert TestApp(module, overrides={service.check: lambda: False}).get("/x").status == 403
    # A temporary object that is replaced leaves no identity that another object could have.
    assert TestApp(module, overrides={Service().check: lambda: False}).get("/x").json() is True
    texts = ["yes"]

    @controller("x", guards=[texts.copy])
    class Listed:
        @get(guards=[texts.copy])
        def show(self) -> str:
            return ""

    listed = TestApp(Module(controllers=[Listed]), overrides={texts.copy: lambda: False})
    assert len(listed.manifest["controllers"][0]["routes"][0]["metadata"]) == 1
    assert listed.get("/x").status == 403
