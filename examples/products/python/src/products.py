"""`/products`."""

from collections.abc import Callable
from typing import Annotated, NoReturn, TypeVar

from pointwork_guest import (
    BadRequest,
    CallError,
    Conflict,
    Context,
    Depends,
    NotFound,
    Reply,
    controller,
    delete,
    get,
    patch,
    post,
    put,
)

from events import (
    ALL_PRODUCTS,
    COUNT_PRODUCTS,
    CREATE_PRODUCT,
    DELETE_PRODUCT,
    ONE_PRODUCT,
    PRODUCT_VIEWED,
    PRODUCT_VIEWS,
    SEARCH_PRODUCTS,
    SEND,
    UPDATE_PRODUCT,
    Fields,
    Needle,
    NewProduct,
    Product,
    Views,
    Window,
)
from model import Id, Page, change_of, fields, natural, new_product, query_field

T = TypeVar("T")
_MOST = 100
"""The maximum number of products in one reply."""


@controller("products")
class Products:
    @get(summary="`GET /products?page=1&per_page=20`")
    def page(self, ctx: Context) -> Page:
        number, per_page = _number(ctx, "page", 1), _number(ctx, "per_page", 20)
        if number == 0 or not 1 <= per_page <= _MOST:
            raise BadRequest(f"query: expected a `page` of 1 or more and a `per_page` of 1 to {_MOST}")
        products = ctx.call(ALL_PRODUCTS, Window(limit=per_page, offset=(number - 1) * per_page))
        total = ctx.call(COUNT_PRODUCTS, None)["products"]
        return {
            "products": [_shown(product) for product in products],
            "page": number,
            "per_page": per_page,
            "total": total,
        }

    @get("search", summary="`GET /products/search?q=tea`")
    def search(self, ctx: Context) -> list[Product]:
        text = query_field(ctx, "q")
        if text is None:
            raise BadRequest("query: missing field `q`")
        return [_shown(product) for product in ctx.call(SEARCH_PRODUCTS, Needle(text=text, limit=_MOST))]

    @get(":id", summary="`GET /products/:id`, which counts as a view")
    def show(self, id: Id, ctx: Context) -> Product:
        product = _find(ctx, id)
        ctx.emit(PRODUCT_VIEWED, id)
        return product

    @get(":id/views")
    def views(self, id: Id, ctx: Context) -> Views:
        return ctx.call(PRODUCT_VIEWS, id) or _missing(id)

    @get(":id/label", summary="the text for the shelf, which the channel `response` sends")
    def label(self, id: Id, ctx: Context) -> None:
        product = _find(ctx, id)
        price = product["price_cents"]
        ctx.hand_over(SEND, f"{product['name']} ({product['sku']}): {price // 100}.{price % 100:02}\n")

    @post()
    def create(self, wanted: Annotated[NewProduct, Depends(new_product)], ctx: Context) -> Reply:
        product = _conflicting(lambda: ctx.call(CREATE_PRODUCT, wanted), wanted["sku"])
        # The path of the request, which includes a global prefix of the server.
        return Reply.created(f"{ctx.path}/{product['id']}", _shown(product))

    @put(":id", summary="the whole product")
    def replace(self, id: Id, wanted: Annotated[NewProduct, Depends(new_product)], ctx: Context) -> Product:
        return _change(ctx, id, Fields(**wanted))

    @patch(":id", summary="the fields that are there")
    def update(self, id: Id, wanted: Annotated[Fields, Depends(fields)], ctx: Context) -> Product:
        return _change(ctx, id, wanted)

    @delete(":id")
    def delete(self, id: Id, ctx: Context) -> Reply:
        return Reply.no_content() if ctx.call(DELETE_PRODUCT, id) else _missing(id)


def _number(ctx: Context, name: str, usual: int) -> int:
    text = query_field(ctx, name)
    try:
        return usual if text is None else natural(text, 2**32 - 1)
    except ValueError as error:
        raise BadRequest(f"query: `{name}`: {error}") from None


def _find(ctx: Context, id: int) -> Product:
    return _shown(ctx.call(ONE_PRODUCT, id) or _missing(id))


def _change(ctx: Context, id: int, fields: Fields) -> Product:
    changed = _conflicting(lambda: ctx.call(UPDATE_PRODUCT, change_of(id, fields)), fields.get("sku"))
    return _shown(changed or _missing(id))


def _shown(product: Product) -> Product:
    """A product with its fields in the order of the replies. That of a row is not kept."""
    return Product(
        id=product["id"],
        sku=product["sku"],
        name=product["name"],
        price_cents=product["price_cents"],
        description=product["description"],
    )


def _missing(id: int) -> NoReturn:
    raise NotFound(f"no product has the id {id}")


def _conflicting(call: Callable[[], T], sku: str | None) -> T:
    """The result of a call. Its failure `conflict` means that another product has the SKU."""
    try:
        return call()
    except CallError as error:
        if sku is not None and error.code == "conflict":
            raise Conflict(f"another product has the SKU `{sku}`") from None
        raise
