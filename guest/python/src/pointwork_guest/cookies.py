"""Cookies: those of a request, those that a reply sets, and signed ones."""

import hmac
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Literal
from urllib.parse import quote

from .fields import percent_decoded
from .header import printable
from .jsontext import surrogate_problem

_NAME = re.compile(r"[A-Za-z0-9!$&'*+\-._~]+")
_WRONG = re.compile(r"[;\x00-\x1f\x7f]")
FEWEST = 32
_SIGNATURE = 44


class CookieProblem(ValueError):
    """Why a cookie cannot be set."""


def cookie_header(
    name: str,
    value: str,
    *,
    path: str | None,
    domain: str | None,
    max_age: int | None,
    expires: datetime | None,
    http_only: bool,
    secure: bool,
    same_site: Literal["strict", "lax", "none"] | None,
) -> str:
    """The value of `set-cookie`."""
    if not _NAME.fullmatch(name):
        raise CookieProblem(
            f"`{printable(name)}` cannot be the name of a cookie, expected letters, digits or `-`, such as `session`"
        )
    problem = surrogate_problem(value)
    if problem is not None:
        raise CookieProblem(f"the value of cookie `{name}` {problem}")
    parts = [f"{name}={quote(value, safe='!*()~-._')}"]
    for attribute, text in (("path", path), ("domain", domain)):
        if text is None:
            continue
        found = _WRONG.search(text)
        if found is not None:
            raise CookieProblem(f"the {attribute} of cookie `{name}` has the byte {ord(found[0])}")
        parts.append(f"{attribute.capitalize()}={text}")
    if max_age is not None:
        parts.append(f"Max-Age={max_age}")
    if expires is not None:
        parts.append(f"Expires={http_date(expires)}")
    if http_only:
        parts.append("HttpOnly")
    if secure:
        parts.append("Secure")
    if same_site is not None:
        parts.append(f"SameSite={same_site.capitalize()}")
    return "; ".join(parts)


def http_date(time: datetime) -> str:
    """The time in the form of HTTP. A time without a zone is one of UTC."""
    zoned = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return format_datetime(zoned, usegmt=True)


class Cookies:
    """The cookies of a request. Of several with one name the first counts; those that are malformed are left out."""

    def __init__(self, headers: Iterable[str]) -> None:
        self._values: dict[str, str] = {}
        for pair in ";".join(headers).split(";"):
            name, equals, value = pair.partition("=")
            name = name.strip()
            # An encoded name could pass for one with the prefix `__Host-`, which browsers guard only as it is written.
            if not equals or not name or "%" in name or name in self._values:
                continue
            try:
                self._values[name] = percent_decoded(value.strip())
            except UnicodeDecodeError:
                # Any page of the domain can set a cookie that is malformed.
                continue

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._values.items())

    def signed(self, key: "CookieKey", name: str) -> str | None:
        """The value of a cookie that `CookieKey.sign` signed; `None` if the signature is not by this key."""
        value = self.get(name)
        return None if value is None else key.verify(value)


class CookieKey:
    """The key by which cookies are signed: clients can read such a cookie, and cannot change it."""

    def __init__(self, secret: str | bytes) -> None:
        """A key from a secret of 32 random bytes or more, in any encoding."""
        self._secret = secret.encode() if isinstance(secret, str) else secret
        if len(self._secret) < FEWEST:
            from .exceptions import VariableError

            raise VariableError(
                f"the secret of cookies has {len(self._secret)} bytes, expected {FEWEST} random bytes or more"
            )

    @classmethod
    def from_variable(cls, name: str) -> "CookieKey":
        """A key from a variable of the module."""
        from .exceptions import VariableError
        from .variables import env

        secret = env.get(name)
        if secret is None:
            raise VariableError(f"the module has no variable `{name}`, expected {FEWEST} random bytes or more")
        return cls(secret)

    def _signature(self, value: str) -> str:
        return b64encode(hmac.digest(self._secret, value.encode(), "sha256")).decode()

    def sign(self, value: str) -> str:
        """The value with its signature, for `Reply.cookie`. The signature is that of the value: it is valid for each
        cookie of the key.
        """
        return self._signature(value) + value

    def verify(self, signed: str) -> str | None:
        """The value without its signature; `None` if a client wrote it, or it is older than the key."""
        value = signed[_SIGNATURE:]
        try:
            expected = self._signature(value)
        except UnicodeEncodeError:
            return None
        return value if hmac.compare_digest(expected.encode(), signed[:_SIGNATURE].encode("utf-8", "replace")) else None
