"""The events between controllers and database, with their types."""

from typing import NotRequired, TypedDict

from pointwork_guest import Event


class NewProduct(TypedDict):
    sku: str
    name: str
    price_cents: int
    description: str


class Product(NewProduct):
    id: int


class Fields(TypedDict):
    """The fields of a product that a client wants to change. `None` leaves one as it is."""

    sku: NotRequired[str | None]
    name: NotRequired[str | None]
    price_cents: NotRequired[int | None]
    description: NotRequired[str | None]


class Change(TypedDict):
    """`None` leaves a field as it is."""

    id: int
    sku: str | None
    name: str | None
    price_cents: int | None
    description: str | None


class Window(TypedDict):
    limit: int
    offset: int


class Needle(TypedDict):
    text: str
    limit: int


class Size(TypedDict):
    products: int


class Views(TypedDict):
    id: int
    views: int


ALL_PRODUCTS = Event[Window, list[Product]]("db:product:all")
COUNT_PRODUCTS = Event[None, Size]("db:product:count")
ONE_PRODUCT = Event[int, Product | None]("db:product:one")
SEARCH_PRODUCTS = Event[Needle, list[Product]]("db:product:search")
CREATE_PRODUCT = Event[NewProduct, Product]("db:product:create")
UPDATE_PRODUCT = Event[Change, Product | None]("db:product:update")
DELETE_PRODUCT = Event[int, int]("db:product:delete")
PRODUCT_VIEWS = Event[int, Views | None]("db:product:views")
PRODUCT_VIEWED = Event[int, None]("product:viewed")
SEND = Event[str, None]("response:send")
