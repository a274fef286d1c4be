"""Products and their events."""

from dataclasses import dataclass

from pointwork_guest import Event


@dataclass
class NewProduct:
    name: str
    price: float


@dataclass
class Product:
    id: int
    name: str
    price: float


ALL = Event[None, list[Product]]("db:product:all")
BY_ID = Event[int, Product | None]("db:product:by-id")
VIEWED = Event[int, None]("product:viewed")
SEND = Event[str, None]("response:send")


@dataclass
class Login:
    user: str
