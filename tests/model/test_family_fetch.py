"""Published checkpoints from a hub: a small one over loopback, with the real client."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from family_checkpoints import write_family
from midspan_lsp.cli.main import main
from midspan_model.errors import WeightsError
from midspan_model.families import fetching
from midspan_model.families.fetching import KNOWN, fetch_checkpoint, folder_of, licence_notice, repository_of, resolve
from midspan_model.families.opening import family_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def quiet(_what: str, _done: int, _total: int) -> None:
    pass


class Hub(BaseHTTPRequestHandler):
    """A hub with one repository, which also holds code that nobody may fetch."""

    folder: Path
    asked: list[str]
    broken = False

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.asked.append(self.path)
        repository = KNOWN["sdar"]
        path = self.path.partition("?")[0]
        names = sorted(file.name for file in self.folder.iterdir())
        if path.startswith(f"/api/models/{repository}/revision/"):
            listing = {"id": repository, "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
            self._send(200, json.dumps(listing).encode(), "application/json", body=body)
        elif path.startswith(f"/api/models/{repository}/tree/"):
            files = [
                {"type": "file", "path": name, "size": (self.folder / name).stat().st_size, "oid": self._etag(name)}
                for name in names
            ]
            self._send(200, json.dumps(files).encode(), "application/json", body=body)
        elif path.startswith(f"/{repository}/resolve/") and (name := path.rpartition("/")[2]) in names:
            if self.broken and name.endswith(".safetensors"):
                self._send(403, b"broken", "text/plain", body=body)
                return
            self._send(200, (self.folder / name).read_bytes(), "application/octet-stream", body=body, name=name)
        else:
            self._send(404, b"{}", "application/json", body=body)

    def _etag(self, name: str) -> str:
        return hashlib.sha1((self.folder / name).read_bytes(), usedforsecurity=False).hexdigest()

    def _send(self, status: int, content: bytes, kind: str, *, body: bool, name: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        if name:
            self.send_header("ETag", f'"{self._etag(name)}"')
            self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    folder = write_family("SDAR", tmp_path / "published")
    (folder / "modeling_sdar.py").write_text("raise SystemExit('this is never to be run')\n")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# SDAR\n")
    Hub.folder, Hub.asked, Hub.broken = folder, [], False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    yield Hub
    server.shutdown()
    server.server_close()
    thread.join()


def test_weights_and_tokenizer_are_fetched_and_code_is_not(hub: type[Hub]) -> None:
    folder = fetch_checkpoint("sdar", quiet)
    assert folder == folder_of("sdar")
    assert family_of(folder).name == "SDAR"
    there = {path.name for path in folder.iterdir() if path.is_file()}
    assert there == {"config.json", "tokenizer.json", "model.safetensors", "README.md"}
    assert not any(".py" in path for path in hub.asked)
    assert (folder / "model.safetensors").read_bytes() == (hub.folder / "model.safetensors").read_bytes()
    hub.asked.clear()
    assert fetch_checkpoint("JetLM/SDAR-4B-Chat", quiet) == folder
    assert hub.asked == [], "what is there is not asked for again"


def test_a_broken_download_leaves_no_folder_and_is_gone_on_with(hub: type[Hub]) -> None:
    hub.broken = True
    with pytest.raises(WeightsError, match="cannot be fetched") as caught:
        fetch_checkpoint("sdar", quiet)
    assert "HF_ENDPOINT" in caught.value.hint
    assert not folder_of("sdar").exists()
    hub.broken = False
    hub.asked.clear()
    assert family_of(fetch_checkpoint("sdar", quiet)).name == "SDAR"


def test_a_repository_that_is_none(hub: type[Hub]) -> None:
    with pytest.raises(WeightsError, match="nobody/nothing cannot be fetched"):
        fetch_checkpoint("nobody/nothing", quiet)
    with pytest.raises(WeightsError, match="no checkpoint is called gpt") as caught:
        fetch_checkpoint("gpt", quiet)
    assert "dreamon" in caught.value.hint
    assert hub.asked


def test_a_checkpoint_of_no_family_is_not_kept(hub: type[Hub]) -> None:
    config = (hub.folder / "config.json").read_text()
    (hub.folder / "config.json").write_text(config.replace('"sdar"', '"gpt2"'))
    with pytest.raises(WeightsError, match="gpt2"):
        fetch_checkpoint("sdar", quiet)
    assert not folder_of("sdar").exists()
    assert not folder_of("sdar").with_name(f"{folder_of('sdar').name}.part").exists()


def test_names_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path))
    assert repository_of("DreamOn") == "Dream-org/DreamOn-v0-7B"
    assert repository_of("a/b") == "a/b"
    for name in ("../x", "a/b/c", "a b/c", ""):
        with pytest.raises(WeightsError):
            repository_of(name)
    assert resolve(str(tmp_path)) == tmp_path
    with pytest.raises(WeightsError) as caught:
        resolve("dreamon")
    assert "midspan fetch dreamon" in caught.value.hint
    folder_of("dreamon").mkdir(parents=True)
    assert resolve("dreamon") == folder_of("dreamon")


def test_a_licence_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    folder = write_family("DiffuCoder", tmp_path / "diffucoder")
    assert "Apple" in licence_notice(folder)
    assert licence_notice(folder) == ""
    (folder / "README.md").write_text("---\nlicense: apache-2.0\ntags: []\n---\n")
    assert fetching.licence_of(folder, family_of(folder)) == "apache-2.0"


def test_the_command_fetches_and_the_next_one_fills(
    hub: type[Hub], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "sdar"]) == 0
    assert "licence: mit" in capsys.readouterr().out
    source = tmp_path / "x.py"
    source.write_text("def f(x):\n    ret\n\nprint(f(1))\n")
    hub.asked.clear()
    assert main(["infill", f"{source}:2:8", "--model", "sdar", "--no-memory", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["n_forwards"] > 0
    assert "licence: mit" in captured.err
    assert hub.asked == []
    assert main(["fetch", "nobody/nothing"]) == 1
    assert "cannot be fetched" in capsys.readouterr().err
