"""What stands around the files of a ZIP is what ``zipfile`` itself would have written."""

from __future__ import annotations

import io
import zipfile

from annotator.exchange.formats.zipping import portable, zip_of

FILES: dict[str, list[bytes]] = {
    "plain.txt": [b"one ", b"", b"two " * 40_000],
    "nothing": [],
    "ü/\N{OWL}.txt": [bytes(range(256)) * 600],
}


class Unseekable(io.RawIOBase):
    """Like a download."""

    def __init__(self) -> None:
        self.found = b""

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.found += bytes(data)
        return len(data)


def by_zipfile() -> bytes:
    stream = Unseekable()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=2) as archive:
        for name, parts in FILES.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info._compresslevel = 2  # type: ignore[attr-defined]
            info.external_attr = 0o644 << 16
            with archive.open(info, "w", force_zip64=True) as file:
                for part in parts:
                    file.write(part)
    return stream.found


def test_it_is_byte_for_byte_what_zipfile_writes() -> None:
    assert b"".join(zip_of(FILES.items(), packer=portable)) == by_zipfile()


def test_the_quick_packer_packs_the_same_files() -> None:
    archive = zipfile.ZipFile(io.BytesIO(b"".join(zip_of(FILES.items()))))
    assert archive.testzip() is None
    assert {name: archive.read(name) for name in archive.namelist()} == {
        name: b"".join(parts) for name, parts in FILES.items()
    }
    packed = sum(each.compress_size for each in archive.infolist())
    assert packed < 1.3 * sum(each.compress_size for each in zipfile.ZipFile(io.BytesIO(by_zipfile())).infolist())
