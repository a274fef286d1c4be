"""`/health`."""

from typing import Any

from pointwork_guest import CallError, Context, ServiceUnavailable, controller, get, log

from events import COUNT_PRODUCTS


@controller("health")
class Health:
    @get(summary="200 if the database answers, 503 if not")
    def show(self, ctx: Context) -> Any:
        try:
            return {"status": "up", "products": ctx.call(COUNT_PRODUCTS, None)["products"]}
        except CallError as error:
            log.error(str(error))
            raise ServiceUnavailable("the database does not answer") from None
