"""Conditional requests, by RFC 9110."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from .cookies import http_date
from .exceptions import PreconditionFailed
from .reply import Reply

_DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")
_TAG = re.compile(r'[ \t,]*(W/)?"([^"]*)"(?=[ \t,]|$)')
_NO_TAG = re.compile(r'["\x00-\x20\x7f]')


@dataclass(frozen=True, slots=True)
class Validators:
    """The validators of the present version of what a path shows. `etag` is without quotation marks; `W/` before it
    makes it weak.
    """

    etag: str | None = None
    last_modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a request. A date that is malformed is no condition."""

    method: str
    if_match: str | None
    if_none_match: str | None
    if_modified_since: str | None
    if_unmodified_since: str | None

    def not_modified(self, validators: Validators) -> Reply | None:
        """For a handler that reads: the reply 304 if the client has this version already, `None` if it does not, or
        the error 412.

        `return ctx.conditions.not_modified(v) or ctx.conditions.dressed(Reply.of(value), v)`
        """
        verdict = self._verdict(validators)
        if verdict == "failed":
            raise _failed()
        return None if verdict == "holds" else dressed(Reply.empty(304), validators)

    def require(self, validators: Validators) -> None:
        """For a handler that writes, before it does: 412 if a condition fails."""
        if self._verdict(validators) != "holds":
            raise _failed()

    def _verdict(self, validators: Validators) -> Literal["holds", "not-modified", "failed"]:
        """The order of section 13.2.2. A date counts only without tags, and where there is a time of change."""
        reads = self.method in ("GET", "HEAD")
        modified = _whole(validators.last_modified)
        if self.if_match is not None:
            if not _is_in(self.if_match, validators.etag, strong=True):
                return "failed"
        else:
            since = _time(self.if_unmodified_since)
            if since is not None and modified is not None and modified > since:
                return "failed"
        if self.if_none_match is not None:
            if not _is_in(self.if_none_match, validators.etag, strong=False):
                return "holds"
            return "not-modified" if reads else "failed"
        since = _time(self.if_modified_since)
        fresh = reads and since is not None and modified is not None and modified <= since
        return "not-modified" if fresh else "holds"


def _failed() -> PreconditionFailed:
    return PreconditionFailed("the present version does not fit the conditions of the request")


def dressed(reply: Reply, validators: Validators) -> Reply:
    """The reply with the headers `etag` and `last-modified`."""
    if validators.etag is not None:
        weak, tag = ("W/", validators.etag[2:]) if validators.etag.startswith("W/") else ("", validators.etag)
        if _NO_TAG.search(tag):
            return reply.wrong(f"`{validators.etag}` cannot be a tag, expected no quotation marks and spaces")
        reply.header("etag", f'{weak}"{tag}"')
    if validators.last_modified is not None:
        reply.header("last-modified", http_date(validators.last_modified))
    return reply


def _whole(time: datetime | None) -> float | None:
    if time is None:
        return None
    zoned = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return zoned.timestamp() // 1


def _time(text: str | None) -> float | None:
    if text is None or not _DATE.fullmatch(text.strip()):
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None


def _is_in(tags: str, etag: str | None, *, strong: bool) -> bool:
    """Whether a list of tags has this one, by weak or strong comparison. What follows a mistake in the list does not
    count.
    """
    if tags.strip() == "*":
        return True
    if etag is None:
        return False
    is_weak, wanted = (True, etag[2:]) if etag.startswith("W/") else (False, etag)
    at = 0
    # A tag may have a comma, so the list is not split at commas.
    while found := _TAG.match(tags, at):
        if found[2] == wanted and not (strong and (is_weak or found[1])):
            return True
        at = found.end()
    return False
