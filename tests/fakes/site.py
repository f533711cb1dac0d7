"""A web site with everything that a fetcher meets: HTML, PDF, text, redirects, loops, and ill will."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from functools import cache

from tests.fakes.server import Call, FakeServer, Reply

SENTENCES = (
    "The fort of Ema was built in 1820 by masons from the coast.",
    "Its walls are four metres thick and stand on rock.",
    "A fire destroyed the upper floor in 1901, and it was never rebuilt.",
    "Today a museum on the ground floor shows how the garrison lived.",
    "Some 4,000 people visit it in a year, most of them in summer.",
)


def article(title: str = "The fort of Ema", text: str = "", published: str = "2020-05-01") -> str:
    """A page as news sites write them: menus around a text with its metadata."""
    paragraphs = "".join(f"<p>{each}</p>" for each in (text.split("\n\n") if text else (" ".join(SENTENCES),) * 2))
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta property="og:title" content="{title}"><meta property="og:site_name" content="The Ema Courier">
<meta property="article:published_time" content="{published}T08:00:00Z"></head>
<body><nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<article><h1>{title}</h1>{paragraphs}</article><footer>Copyright: The Ema Courier.</footer></body></html>"""


def html(page: str, charset: str = "utf-8", declared: str = "") -> Reply:
    """An HTML page in one charset, declared as another where wanted."""
    return Reply(body=page.encode(charset), headers={"Content-Type": f"text/html; charset={declared or charset}"})


def redirect(to: str, status: int = 302) -> Reply:
    """A redirect."""
    return Reply(status, headers={"Location": to})


def pdf(*lines: str, title: str = "A report") -> bytes:
    """A PDF of one page with these lines of text."""
    drawn = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
    stream = f"BT /F1 12 Tf 50 750 Td {drawn} ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>".encode("latin-1"),
    ]
    file = b"%PDF-1.4\n"
    places = []
    for number, each in enumerate(objects, start=1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(file))
    return file + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def usual() -> dict[str, Reply]:
    """The pages of a fake site, by path."""
    return {
        "/": html(article()),
        "/report.pdf": Reply(body=pdf(*SENTENCES), headers={"Content-Type": "application/pdf"}),
        "/notes.txt": Reply(body="\n".join(SENTENCES).encode(), headers={"Content-Type": "text/plain"}),
        "/moved": redirect("/also-moved", 301),
        "/also-moved": redirect("/#top"),
        "/loop": redirect("/loop-back"),
        "/loop-back": redirect("/loop"),
        "/gone": Reply(410, b"gone", {"Content-Type": "text/plain"}),
        "/broken": Reply(500, b"oops", {"Content-Type": "text/plain"}),
        "/picture": Reply(body=b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, headers={"Content-Type": "image/png"}),
        "/empty": html("<html><body></body></html>"),
        "/huge": Reply(endless=b"<p>word word word</p>" * 3000, headers={"Content-Type": "text/html"}),
        "/said-huge": Reply(body=b"", headers={"Content-Type": "text/html", "Content-Length": str(10**12)}),
        "/bomb": Reply(body=bomb(), headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}),
        "/packed": Reply(
            body=gzip.compress(article().encode()), headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}
        ),
        "/drip": Reply(body=b"x" * 10_000, headers={"Content-Type": "text/plain"}, drip=0.05),
        "/latin": html(article("Le château d’Ema", "Le château fut bâti en 1820, détruit par le feu."), "cp1252"),
        "/wrong-charset": html(article("Schloß Ema", "Das Schloß wurde 1820 gebaut."), "utf-8", "latin-1"),
        "/shift-jis": html(
            article("江間の砦", "江間の砦は1820年に建てられた。").replace("utf-8", "shift_jis"), "shift_jis"
        ),
        "/nul": Reply(body=b"The fort\x00 of Ema \xff was built in 1820.", headers={"Content-Type": "text/html"}),
        "/secret/page": html(article()),
    }


@cache
def bomb(size: int = 64 * 1024 * 1024) -> bytes:
    """Zeros that unpack to ``size`` bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    chunk = b"\x00" * (1 << 20)
    return b"".join(packer.compress(chunk) for _ in range(size >> 20)) + packer.flush()


class FakeSite(FakeServer):
    """A site of these pages, by path or by a function of the path; a page unknown to both is 404."""

    def __init__(
        self,
        pages: Mapping[str, Reply] | Callable[[str], Reply | None] | None = None,
        *,
        latency: float = 0.0,
        robots: str | Reply = "User-agent: *\nDisallow: /secret/\n",
    ) -> None:
        super().__init__(latency=latency)
        self.pages = usual() if pages is None else pages
        self.robots = robots

    def answer(self, call: Call) -> Reply:
        if call.path == "/robots.txt":
            if isinstance(self.robots, Reply):
                return self.robots
            return Reply(body=self.robots.encode(), headers={"Content-Type": "text/plain"})
        page = self.pages(call.path) if callable(self.pages) else self.pages.get(call.path)
        return page or Reply(404, b"not found", {"Content-Type": "text/plain"})
