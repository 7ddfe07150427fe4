"""Who may ask: pages of this server only, and beyond loopback only those who know the token."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """What a request must carry; ``token`` is empty on loopback."""

    port: int
    token: str = ""

    def refusal(self, path: str, headers: Mapping[str, str], given: str) -> str:
        """Why a request is refused; empty if it is welcome. ``given`` is the token it brought."""
        host = headers.get("host", "")
        if not self.token and host not in {
            f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")
        }:
            return "this page is served to this machine only"  # a foreign name that points here, too
        origin = headers.get("origin")
        if origin is not None and origin.split("://", 1)[-1] != host:
            return "requests from other pages are refused"
        if path != "/" and headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return "requests from other pages are refused"
        if self.token and not hmac.compare_digest(given.encode(), self.token.encode()):
            return "the address must end with the token that krohn explore printed"
        return ""
