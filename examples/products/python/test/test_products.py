"""Unit tests of the controllers, without a host. Functions are the listeners of the events."""

from typing import Any

from pointwork_guest import Conflict
from pointwork_guest.testing import TestApp

from events import ALL_PRODUCTS, COUNT_PRODUCTS, CREATE_PRODUCT, ONE_PRODUCT, UPDATE_PRODUCT
from shop import app

TEA = {"id": 1, "sku": "TEA", "name": "Assam", "price_cents": 690, "description": ""}


def test_a_product_is_shown_and_viewed() -> None:
    answer = TestApp(app).on(ONE_PRODUCT, lambda id: TEA if id == 1 else None).get("/products/1")
    assert (answer.json(), answer.emitted("product:viewed")) == (TEA, [1])
    missing = TestApp(app).on(ONE_PRODUCT, lambda id: None).get("/products/2")
    assert (missing.status, missing.json()["message"]) == (404, "no product has the id 2")


def test_a_page_of_the_catalogue() -> None:
    tested = TestApp(app).on(ALL_PRODUCTS, lambda window: [TEA]).on(COUNT_PRODUCTS, lambda _: {"products": 21})
    answer = tested.get("/products?page=3&per_page=10")
    assert answer.json() == {"products": [TEA], "page": 3, "per_page": 10, "total": 21}
    assert answer.called("db:product:all") == [{"limit": 10, "offset": 20}]
    assert tested.get("/products?page=first").json()["message"] == "query: `page`: invalid digit found in string"


def test_a_product_is_refused_with_the_place_or_as_a_conflict() -> None:
    def taken(_: Any) -> Any:
        raise Conflict("unique", code="conflict")

    tested = TestApp(app).on(CREATE_PRODUCT, taken).on(UPDATE_PRODUCT, lambda change: {**TEA, "name": change["name"]})
    wrong = tested.post(
        "/products", body='{"sku": "TEA-MATE", "name": 7}', headers={"content-type": "application/json"}
    )
    message = "body: `name`: invalid type: integer `7`, expected a string at line 1 column 29"
    assert (wrong.status, wrong.json()["message"]) == (400, message)
    again = tested.post("/products", json={"sku": "TEA", "name": "Assam", "price_cents": 1})
    assert (again.status, again.json()["message"]) == (409, "another product has the SKU `TEA`")
    assert tested.patch("/products/1", json={"name": "Mate"}).json()["name"] == "Mate"


def test_the_label_is_sent_by_the_channel() -> None:
    answer = TestApp(app).on(ONE_PRODUCT, lambda id: TEA).get("/products/1/label")
    assert answer.handed_over("response:send") == ["Assam (TEA): 6.90\n"]
