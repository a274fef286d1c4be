"""The channel `db`: a statement of SQL for each event. `:name` is the field `name` of its payload."""

import logging
import sqlite3
import threading
from typing import Any

import pointwork

COLUMNS = "id, sku, name, price_cents, description"

QUERIES = {
    "product:all": f"SELECT {COLUMNS} FROM products ORDER BY id LIMIT :limit OFFSET :offset",
    "product:search": f"""
        SELECT {COLUMNS} FROM products
        WHERE instr(lower(name), lower(:text)) > 0 OR instr(lower(description), lower(:text)) > 0
        ORDER BY id LIMIT :limit""",
}

ONE_ROW = {
    "product:count": "SELECT count(*) AS products FROM products",
    "product:one": f"SELECT {COLUMNS} FROM products WHERE id = :id",
    "product:create": f"""
        INSERT INTO products (sku, name, price_cents, description) VALUES (:sku, :name, :price_cents, :description)
        RETURNING {COLUMNS}""",
    # A field that is null is not changed.
    "product:update": f"""
        UPDATE products SET
            sku = coalesce(:sku, sku), name = coalesce(:name, name), price_cents = coalesce(:price_cents, price_cents),
            description = coalesce(:description, description)
        WHERE id = :id RETURNING {COLUMNS}""",
    "product:views": """
        SELECT id, coalesce(views, 0) AS views FROM products LEFT JOIN product_views ON product_id = id WHERE id = :id""",
}

CHANGES = {
    "product:delete": "DELETE FROM products WHERE id = :id",
    "product:viewed": """
        INSERT INTO product_views (product_id, views) VALUES (:id, 1)
        ON CONFLICT (product_id) DO UPDATE SET views = views + 1""",
}


class Database(threading.local):
    """The connection of a thread: the functions of a channel run in several."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, timeout=5)
        self.connection.row_factory = sqlite3.Row
        self.connection.executescript(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = normal; PRAGMA foreign_keys = on"
        )

    def rows(self, sql: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
        with self.connection:
            return [dict(row) for row in self.connection.execute(sql, fields)]

    def change(self, sql: str, fields: dict[str, Any]) -> int:
        with self.connection:
            return self.connection.execute(sql, fields).rowcount


def fields_of(event: pointwork.Event) -> dict[str, Any]:
    """The parameters of a statement. The events of one product have its id as payload."""
    payload = event.json()
    fields = payload if isinstance(payload, dict) else {"id": payload}
    for name, value in fields.items():
        if isinstance(value, int) and value >= 2**63:
            given = f"the payload's field `{name}`" if isinstance(payload, dict) else "the payload"
            message = f"{given} is {value}; the largest integer that fits is {2**63 - 1}"
            raise pointwork.Failure(400, message, code="bad-payload")
    return fields


def failure_of(error: sqlite3.Error) -> pointwork.Failure:
    """The failure for the caller of an event. The code `conflict` is what the controllers know."""
    match getattr(error, "sqlite_errorname", ""):
        case "SQLITE_CONSTRAINT_UNIQUE" | "SQLITE_CONSTRAINT_FOREIGNKEY":
            return pointwork.Failure(409, "the change contradicts another row", code="conflict")
        case "SQLITE_BUSY":
            return pointwork.Failure(503, "the database is busy", code="overloaded")
        case _:
            logging.error("the database: %s", error)
            return pointwork.Failure(500, "the database failed")


def listen(app: pointwork.App, path: str, schema: str) -> None:
    """Opens the database, runs the file `schema`, and listens to the events."""
    database = Database(path)
    with open(schema, encoding="utf-8") as file:
        database.connection.executescript(f"BEGIN IMMEDIATE; {file.read()}; COMMIT")
    channel = app.channel("db")

    def on(event: str, run: Any) -> None:
        @channel.on(event)
        def listener(event: pointwork.Event) -> Any:
            try:
                return run(fields_of(event))
            except sqlite3.Error as error:
                raise failure_of(error) from error

    for event, sql in QUERIES.items():
        on(event, lambda fields, sql=sql: database.rows(sql, fields))
    for event, sql in ONE_ROW.items():
        on(event, lambda fields, sql=sql: next(iter(database.rows(sql, fields)), None))
    for event, sql in CHANGES.items():
        on(event, lambda fields, sql=sql: database.change(sql, fields))
