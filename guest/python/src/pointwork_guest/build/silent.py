"""Guards that can end without a `return`, and so refuse every request that comes to that end."""

import ast
import inspect
import textwrap
from types import CodeType

from ..guards import declared_type
from ..hints import NONE, distinct, layers_of
from ..manifest import guards_of
from ..module import Module


def silent_guards(app: Module) -> list[tuple[CodeType, str]]:
    """Warnings of guards that can end without a value, where they are not declared `-> None`. A decorator may end without
    one as well, so each function of a guard is checked."""
    guards = distinct(guard for number in range(len(app.handlers)) for guard in guards_of(app, number))
    codes = [
        code
        for guard in guards
        if declared_type(guard) is not NONE
        for one in layers_of(guard)
        if isinstance(code := getattr(one, "__code__", None), CodeType)
    ]
    return [
        (
            code,
            f"the guard `{code.co_qualname}` can end without a `return`, which refuses the request with 403: "
            "end it by `return True`, or declare it `-> None`",
        )
        for code in dict.fromkeys(codes)
        if _can_be_silent(code)
    ]


def _can_be_silent(code: CodeType) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):
        return False
    of = tree.body[0]
    if not isinstance(of, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return _ends(of.body) or any(isinstance(one, ast.Return) and one.value is None for one in _own(of))


def _own(of: ast.AST) -> list[ast.AST]:
    """The nodes of a function without those of functions and classes within."""
    found: list[ast.AST] = []
    for one in ast.iter_child_nodes(of):
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            found += [one, *_own(one)]
    return found


def _ends(body: list[ast.stmt]) -> bool:
    """Whether the code after these statements can be reached."""
    return all(_passes(one) for one in body)


def _passes(one: ast.stmt) -> bool:
    match one:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return False
        case ast.If(body=body, orelse=orelse):
            return _ends(body) or _ends(orelse)
        case ast.While(test=ast.Constant(value=value)) if value:
            return _breaks(one)
        case ast.While(orelse=orelse) | ast.For(orelse=orelse) | ast.AsyncFor(orelse=orelse):
            return _breaks(one) or _ends(orelse)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            # `contextlib.suppress` goes on behind the statement.
            return _ends(body) or any("suppress" in ast.unparse(item.context_expr) for item in items)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final) | ast.TryStar(
            body=body, handlers=handlers, orelse=orelse, finalbody=final
        ):
            return _ends(final) and (_ends([*body, *orelse]) or any(_ends(handler.body) for handler in handlers))
        case ast.Match(cases=cases):
            last = cases[-1]
            is_whole = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
            return not is_whole or any(_ends(case.body) for case in cases)
        case _:
            return True


def _breaks(loop: ast.AST) -> bool:
    """Whether a `break` ends the loop itself."""
    for one in ast.iter_child_nodes(loop):
        if isinstance(one, ast.Break):
            return True
        if not isinstance(
            one, (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ) and _breaks(one):
            return True
    return False
