"""Checks of base URLs, without opening anything.

The registry uses this for what a user writes; the transport asks whether a host is this machine.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from wise_pytest.errors import ModelError

_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal")
_METHOD_PATH = re.compile(r"/(?:chat/completions|completions|messages|models|models/[^/]*:\w+)\Z")
"""What an adapter adds to a base URL, and some users have added already."""
_VERSION_PATH = re.compile(r"/v[0-9][0-9a-z.]*\Z")
_WITHOUT_VERSION = frozenset({"api.deepseek.com"})
"""Hosts whose API has no version in its path."""


def check_base_url(url: str, *, where: str, version: str = "/v1") -> str:
    """``url`` without trailing slashes, if requests can be sent below it.

    Parameters
    ----------
    url
        Scheme, host and version path, such as ``http://127.0.0.1:8000/v1``.
    where
        What the URL belongs to, for messages.
    version
        The version path to suggest where there is none.

    Raises
    ------
    ModelError
        If it is no absolute http(s) URL, has no version path, or carries a user
        name, password, query or fragment. The message never repeats a password.
    """
    expected = f"expected something like http://127.0.0.1:8000{version}"
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise ModelError(f"{where}: the base URL cannot be read ({error}); {expected}") from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ModelError(
            f"{where}: the base URL must not hold a user name or password; "
            "name the variable that holds the key in key_env instead"
        )
    if "?" in url or "#" in url:
        # Not repeated: some services take the key as a query parameter.
        raise ModelError(f"{where}: the base URL must not hold a query or a fragment; {expected}")
    if parts.scheme not in ("http", "https"):
        raise ModelError(f"{where}: base URL {url!r} does not begin with http:// or https://; {expected}")
    if not host:
        raise ModelError(f"{where}: base URL {url!r} names no host; {expected}")
    if not url.isascii() or not url.isprintable() or any(char in url for char in ' "<>\\^`{|}'):
        raise ModelError(
            f"{where}: base URL {url!r} holds a character that must be written in its encoded form"
        )
    path = parts.path.rstrip("/")
    trimmed = url.rstrip("/")
    method = _METHOD_PATH.search(path)
    if method is not None:
        shorter = trimmed.removesuffix(method[0])
        raise ModelError(f"{where}: base URL {url!r} must end before {method[0]}; did you mean {shorter}?")
    if not path and host not in _WITHOUT_VERSION:
        raise ModelError(f"{where}: base URL {url!r} has no version path; did you mean {trimmed}{version}?")
    return trimmed


def with_version(url: str, version: str) -> str:
    """``url`` ending with a version path: its own, or else ``version``."""
    trimmed = url.rstrip("/")
    if _VERSION_PATH.search(trimmed) or _METHOD_PATH.search(trimmed):
        return url
    return trimmed + version


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def is_private(host: str) -> bool:
    """Whether ``host`` is this machine or one on a private network, judged by its name alone."""
    if is_loopback(host) or host.endswith(_PRIVATE_SUFFIXES):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host  # a bare name is resolved inside one's own network
