"""A small OpenID Connect provider: whoever opens it chooses who to be."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "treelab"
USERS = ("ann@x.org", "bob@x.org", "root@x.org")


class Provider(BaseHTTPRequestHandler):
    """Answers what a client of the authorization code flow asks for."""

    key: RSAKey  # set for each server

    def log_message(self, *_) -> None:
        """Print nothing."""

    @property
    def issuer(self) -> str:
        return f"http://{self.headers['Host']}"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/.well-known/openid-configuration":
            names = {"authorization": "authorize", "token": "token"}
            ends = {f"{k}_endpoint": f"{self.issuer}/{v}" for k, v in names.items()}
            known = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"} | ends
            self.answer(known | {"id_token_signing_alg_values_supported": ["RS256"]})
        elif address.path == "/keys":
            self.answer({"keys": [self.key.as_dict(private=False)]})
        elif address.path == "/authorize":
            asked = {name: own[0] for name, own in parse_qs(address.query).items()}
            links = []
            for user in USERS:
                code = json.dumps([user, asked["nonce"]])
                params = urlencode({"code": code, "state": asked["state"]})
                links.append(f'<a href="{asked["redirect_uri"]}?{params}">{user}</a>')
            self.answer("<br>".join(links))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        user, nonce = json.loads(parse_qs(body)["code"][0])
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": user, "nonce": nonce}
        claims |= {"email": user, "email_verified": True, "iat": now, "exp": now + 600}
        header = {"alg": "RS256", "kid": self.key.kid}
        token = jwt.encode(header, claims, self.key)
        self.answer({"id_token": token, "access_token": "a", "token_type": "Bearer"})

    def answer(self, what: dict | str) -> None:
        """Send JSON, or a page."""
        is_page = isinstance(what, str)
        content = (what if is_page else json.dumps(what)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def provider() -> Iterator[str]:
    """Serve a provider, and yield its address."""
    key = RSAKey.generate_key(2048, auto_kid=True)
    own = type("OwnProvider", (Provider,), {"key": key})
    server = ThreadingHTTPServer(("127.0.0.1", 0), own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
