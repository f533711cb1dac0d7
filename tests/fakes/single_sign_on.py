"""Two providers of single sign-on that speak the real protocols: OpenID Connect over HTTP, and SAML by signed XML."""

from __future__ import annotations

import base64
import datetime as dt
import json
import secrets
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from lxml import etree
from onelogin.saml2.utils import OneLogin_Saml2_Utils


class FakeOpenIDConnect:
    """A provider on this machine. ``person`` is who signs in there; ``asked`` the parameters of the last request."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.asked: dict[str, str] = {}
        self._codes: dict[str, dict[str, Any]] = {}
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(fake._get(urlsplit(self.path).path, self.headers.get("Authorization", "")))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._answer(fake._token({name: values[0] for name, values in parse_qs(body).items()}))

            def _answer(self, found: dict[str, Any] | None) -> None:
                raw = json.dumps(found).encode()
                self.send_response(400 if found is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def sign_in(self, address: str) -> str:
        """What a browser does at the provider: the person signs in and is sent back. Returns where to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?") and asked["response_type"] == "code"
        code = secrets.token_hex(8)
        self.asked, self._codes[code] = asked, asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def _get(self, path: str, authorization: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        if path == "/userinfo" and authorization == "Bearer access":
            return self.person
        if path == "/keys":
            key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
            return {"keys": [key | {"kid": "1", "use": "sig", "alg": "RS256"}]}
        return None

    def _token(self, sent: dict[str, str]) -> dict[str, Any] | None:
        asked = self._codes.pop(sent.get("code", ""), None)
        if asked is None or sent.get("client_secret") != "its secret" or "code_verifier" not in sent:
            return None
        now = dt.datetime.now(dt.UTC)
        claims = {"iss": self.issuer, "aud": sent["client_id"], "iat": now, "exp": now + dt.timedelta(minutes=5)}
        token = jwt.encode(claims | self.person, self._key, algorithm="RS256", headers={"kid": "1"})
        return {"access_token": "access", "token_type": "Bearer", "id_token": token, "expires_in": 300}


class FakeSAML:
    """A provider whose answers are signed as Keycloak signs them: RSA-SHA256, the assertion by itself."""

    entity = "https://idp.example/realms/lab"
    sso_url = "https://idp.example/realms/lab/protocol/saml"

    def __init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "idp.example")])
        now = dt.datetime.now(dt.UTC)
        built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        built = built.serial_number(1).not_valid_before(now - dt.timedelta(days=1))
        built = built.not_valid_after(now + dt.timedelta(days=1))
        self._key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        self.certificate = built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def sign_in(self, address: str, attributes: dict[str, str], *, signed: bool = True, valid: int = 300) -> str:
        """The SAMLResponse that the browser posts back; ``valid``: for how many seconds."""
        asked = parse_qs(urlsplit(address).query)["SAMLRequest"][0]
        request = etree.fromstring(zlib.decompress(base64.b64decode(asked), -15))
        back, to = request.get("AssertionConsumerServiceURL"), request.get("ID")
        audience = request.findtext("{urn:oasis:names:tc:SAML:2.0:assertion}Issuer")
        now = dt.datetime.now(dt.UTC)
        when, until = (f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in (now, now + dt.timedelta(seconds=valid)))
        early = f"{now - dt.timedelta(minutes=10):%Y-%m-%dT%H:%M:%SZ}"
        told = "".join(
            f'<saml:Attribute Name="{name}"><saml:AttributeValue>{value}</saml:AttributeValue></saml:Attribute>'
            for name, value in attributes.items()
        )
        assertion = f"""<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_{secrets.token_hex(8)}"
 Version="2.0" IssueInstant="{when}"><saml:Issuer>{self.entity}</saml:Issuer><saml:Subject><saml:NameID
 Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">{attributes["uid"]}</saml:NameID><saml:SubjectConfirmation
 Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="{until}" Recipient="{back}"
 InResponseTo="{to}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="{early}"
 NotOnOrAfter="{until}"><saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction>
</saml:Conditions><saml:AuthnStatement AuthnInstant="{when}" SessionIndex="_1"><saml:AuthnContext>
<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>
</saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>{told}</saml:AttributeStatement></saml:Assertion>"""
        if signed:
            assertion = OneLogin_Saml2_Utils.add_sign(assertion, self._key, self.certificate).decode()
            assertion = assertion.removeprefix("<?xml version='1.0' encoding='utf-8'?>").strip()
        response = f"""<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_{secrets.token_hex(8)}"
 Version="2.0" IssueInstant="{when}" Destination="{back}" InResponseTo="{to}"><saml:Issuer
 xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">{self.entity}</saml:Issuer><samlp:Status><samlp:StatusCode
 Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>{assertion}</samlp:Response>"""
        return base64.b64encode(response.encode()).decode()
