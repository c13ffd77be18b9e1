"""A server on loopback that sends parts of files, and that stalls, cuts and lies when it is told to."""

import http.server
import re
import threading
import time
from contextlib import contextmanager
from pathlib import Path


class Server(http.server.ThreadingHTTPServer):
    """Serves one folder; `mood` says how, `sent` counts the bytes of all answers."""

    daemon_threads = True

    def __init__(self, folder: Path, mood: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.mood, self.sent, self.n_requests = folder, mood, 0, 0
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *args) -> None:
        pass

    def do_GET(self) -> None:
        self.server.n_requests += 1
        mood = self.server.mood
        self.close_connection = True
        if mood == "late" and self.server.n_requests > 1:
            mood = "stall"
        if mood == "flaky" and self.server.n_requests % 2:
            mood = "busy"
        if mood == "stall":
            self.server.stopping.wait(60)
            return
        if mood == "drip":
            self._drip()
            return
        if mood == "local":
            self._answer(302, b"", {"Location": "file:///etc/hostname"})
            return
        if mood in ("loop", "busy", "missing"):
            self._answer({"loop": 302, "busy": 503, "missing": 404}[mood], b"no", {"Location": self.path})
            return
        if mood == "html":
            self._answer(200, b"<html>Sign in</html>", {})
            return
        if mood == "json":
            self._answer(200, (self.server.folder / "assets.json").read_bytes(), {})
            return
        self._send_part(mood)

    def _drip(self) -> None:
        """Send a line of the head that never ends, a letter at a time."""
        try:
            self.wfile.write(b"HTTP/1.1 206 OK\r\n")
            while not self.server.stopping.wait(0.1):
                self.wfile.write(b"x")
                self.wfile.flush()
        except OSError:
            pass

    def _send_part(self, mood: str) -> None:
        name = re.split(r"[?]", self.path)[0].strip("/").split("/")[-1]
        if self.path.startswith("/api/assets/"):
            self._answer(302, b"", {"Location": "/a.nwb"})
            return
        path = self.server.folder / name
        length = path.stat().st_size
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        start, stop = (int(found[1]), min(int(found[2]) + 1, length)) if found else (0, length)
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(stop - start)
        told = length + self.server.n_requests if mood == "growing" else length
        headers = {"Content-Range": f"bytes {start}-{stop - 1}/{told}", "ETag": '"1"'}
        if mood == "shifted":
            headers["Content-Range"] = f"bytes {start + 1}-{stop}/{told}"
        if mood == "cut":
            self._answer(206, data[: len(data) // 2], headers, length=len(data))
        elif mood == "slow":
            self._answer(206, data, headers, pause=0.2)
        else:
            self._answer(206, data, headers)

    def _answer(self, status: int, data: bytes, headers: dict, length: int | None = None, pause: float = 0) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.server.sent += len(data)
        try:
            for i in range(0, len(data), 100) if pause else ():
                self.wfile.write(data[i : i + 100])
                self.wfile.flush()
                if self.server.stopping.wait(pause):
                    return
            self.wfile.write(b"" if pause else data)
        except OSError:
            pass


@contextmanager
def serve(folder: Path, mood: str = ""):
    """Serve a folder while the block runs."""
    server = Server(folder, mood)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        stop(server)
        thread.join()


def stop(server: Server) -> None:
    """Kill the server: connections are refused from now on."""
    server.stopping.set()
    server.shutdown()
    server.server_close()
    time.sleep(0)
