"""Types of requests and replies besides those of the events, and their validation, in the words of the Rust
controllers.
"""

import json
import re
from typing import Annotated, Any, TypedDict, cast

from pointwork_guest import BadRequest, Context, Depends, Invalid, UnprocessableContent, ValidationError

from events import Change, Fields, NewProduct, Product

_LONGEST = 200
"""The maximum length of an SKU or name, in characters."""
_TYPES = {"sku": "a string", "name": "a string", "price_cents": "i64", "description": "a string"}


class Page(TypedDict):
    """One page of the catalogue. `total` is the number of products on all pages."""

    products: list[Product]
    page: int
    per_page: int
    total: int


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{json.dumps(value)}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f"string {json.dumps(value, ensure_ascii=False)}"
    return "sequence" if isinstance(value, list) else "map"


def _checked(value: Any, struct: str, required: tuple[str, ...]) -> dict[str, Any]:
    """An object with the fields of a product: with those that must be there, or, if none must, with any, each of which
    may be `None`.
    """
    if not isinstance(value, dict):
        raise Invalid(f"invalid type: {_shown(value)}, expected struct {struct}")
    for name, given in value.items():
        if name not in _TYPES:
            known = ", ".join(f"`{one}`" for one in _TYPES)
            raise Invalid(f"unknown field `{name}`, expected one of {known}", name)
        if given is None and not required:
            continue
        if type(given) is not (int if name == "price_cents" else str):
            raise Invalid(f"invalid type: {_shown(given)}, expected {_TYPES[name]}", name)
        if isinstance(given, int) and not -(2**63) <= given < 2**63:
            raise Invalid(f"invalid value: {_shown(given)}, expected {_TYPES[name]}", name)
    for name in required:
        if name not in value:
            raise Invalid(f"missing field `{name}`")
    return value


def _new_product(value: Any) -> NewProduct:
    given = _checked(value, "NewProduct", ("sku", "name", "price_cents"))
    return NewProduct(
        sku=given["sku"], name=given["name"], price_cents=given["price_cents"], description=given.get("description", "")
    )


def _fields(value: Any) -> Fields:
    return cast(Fields, _checked(value, "Fields", ()))


def _refused(error: ValidationError) -> BadRequest:
    first = error.invalid[0]
    field = f"`{first.field}`: " if first.field else ""
    place = f" at {first.place}" if first.place else ""
    return BadRequest(f"body: {field}{first.message}{place}")


def new_product(ctx: Context) -> NewProduct:
    """The body of a request: a whole product."""
    try:
        product = ctx.json(_new_product)
    except ValidationError as error:
        raise _refused(error) from None
    _check(Fields(**product))
    return product


def fields(ctx: Context) -> Fields:
    """The body of a request: the fields that change."""
    try:
        found = ctx.json(_fields)
    except ValidationError as error:
        raise _refused(error) from None
    _check(found)
    return found


def _check(fields: Fields) -> None:
    """422 with the field and what was expected."""
    for name, text in (("sku", fields.get("sku")), ("name", fields.get("name"))):
        if text is not None and (not text.strip() or len(text) > _LONGEST):
            raise UnprocessableContent(f"body: `{name}`: expected 1 to {_LONGEST} characters")
    price = fields.get("price_cents")
    if price is not None and price < 0:
        raise UnprocessableContent(f"body: `price_cents`: expected 0 or more, got {price}")


def change_of(id: int, fields: Fields) -> Change:
    return Change(
        id=id,
        sku=fields.get("sku"),
        name=fields.get("name"),
        price_cents=fields.get("price_cents"),
        description=fields.get("description"),
    )


def natural(text: str, most: int) -> int:
    """A number of a path or a query, with the errors of the Rust controllers."""
    if not text:
        raise ValueError("cannot parse integer from empty string")
    if not re.fullmatch(r"\+?[0-9]+", text):
        raise ValueError("invalid digit found in string")
    digits = text.lstrip("+0")
    # Python refuses to read thousands of digits.
    if len(digits) > 20 or int(digits or "0") > most:
        raise ValueError("number too large to fit in target type")
    return int(digits or "0")


def _id(ctx: Context) -> int:
    text = ctx.param("id")
    try:
        return natural(text, 2**64 - 1)
    except ValueError as error:
        raise BadRequest(f"path parameter `id`: {error}, got `{text}`") from None


Id = Annotated[int, Depends(_id)]


def query_field(ctx: Context, name: str) -> str | None:
    """The only field of the query of that name."""
    texts = ctx.query.all(name)
    if len(texts) > 1:
        raise BadRequest(f"query: `{name}`: unsupported value")
    return texts[0] if texts else None
