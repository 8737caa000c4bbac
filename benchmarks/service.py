"""The app as a service: its server, a visitor of its pages, its processes."""

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib import import_module
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
SERVER_SECONDS = 90  # until a server answers, on a machine that may be busy
PAGE_SECONDS = 60
ENDS = (0, 1)  # of a script: it ran to its end, or does not compile


class Service:
    """The app's server over a data folder, in a process of its own.

    Parameters
    ----------
    home : Path
        The data folder.
    log : Path
        Where the server prints, outside of the data folder.

    Attributes
    ----------
    port : int
        Of this machine, that the server listens on.
    """

    def __init__(self, home: Path, log: Path):
        self.home = home
        self._log = log
        self._server: subprocess.Popen | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def pid(self) -> int:
        """Number of the server's process, once it was started."""
        if self._server is None:
            raise ValueError("The server was not started.")
        return self._server.pid

    def start(self) -> None:
        """Start the server where none runs, and wait until it answers."""
        if self._server is not None and self._server.poll() is None:
            return
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        command += [f"--server.port={self.port}", "--server.address=127.0.0.1"]
        with self._log.open("ab") as out:
            self._server = subprocess.Popen(
                [*command, "--server.headless=true"],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + SERVER_SECONDS
        while not self.is_healthy():
            if time.monotonic() > until or self._server.poll() is not None:
                raise TimeoutError(f"The server did not start; see {self._log}.")
            time.sleep(0.1)

    def is_healthy(self) -> bool:
        """Whether the server answers at its health endpoint."""
        address = f"http://127.0.0.1:{self.port}/_stcore/health"
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return answer.read() == b"ok"
        except (urllib.error.URLError, OSError):
            return False

    def visit(self, page: str = "runs", query: str = "") -> str:
        """Open a page in a session of its own; return what is wrong, "" for nothing.

        A page that shows a traceback is wrong, one that explains itself is not.

        Parameters
        ----------
        page, query : str
            As in the page's address.
        """
        # By name: the library itself knows no Streamlit, only this measurement does.
        back = import_module("streamlit.proto.BackMsg_pb2").BackMsg()
        forward = import_module("streamlit.proto.ForwardMsg_pb2").ForwardMsg
        connect = import_module("websockets.sync.client").connect
        back.rerun_script.query_string = query
        back.rerun_script.page_name = page
        url = f"http://127.0.0.1:{self.port}/{page}?{query}"
        back.rerun_script.context_info.url = url
        address = f"ws://127.0.0.1:{self.port}/_stcore/stream"
        wrong = ""
        try:
            with connect(address, subprotocols=["streamlit"], max_size=None) as socket:
                socket.send(back.SerializeToString())
                until = time.monotonic() + PAGE_SECONDS
                while True:
                    message = forward()
                    message.ParseFromString(
                        socket.recv(timeout=max(until - time.monotonic(), 0))
                    )
                    kind = message.WhichOneof("type")
                    element = message.delta.new_element
                    if kind == "delta" and element.WhichOneof("type") == "exception":
                        wrong = f"{element.exception.type}: {element.exception.message}"
                    is_end = message.script_finished in ENDS
                    if kind == "script_finished" and is_end:
                        return wrong
        except (OSError, EOFError, TimeoutError) as error:
            return f"the page {page} did not come: {type(error).__name__} {error}"

    def run_command(self, *arguments: str) -> str:
        """Run a command over the data folder; return what is wrong, "" for nothing.

        One that ends with a sentence is not wrong, one with a traceback is.
        """
        ended = subprocess.run(
            [sys.executable, "-m", "treelab", *arguments, "--home", str(self.home)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PAGE_SECONDS,
        )
        if "Traceback" in ended.stderr or ended.returncode not in (0, 2):
            last = (ended.stderr.strip() or "nothing").split("\n")[-1]
            return f"{arguments[0]} ended with {ended.returncode}: {last}"
        return ""

    def kill_server(self) -> None:
        """Kill the server at once."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def worker_processes(self) -> list[psutil.Process]:
        """List the living processes that train over the data folder."""
        found = []
        for process in psutil.process_iter():
            try:
                line = process.cmdline()
                is_dead = process.status() == psutil.STATUS_ZOMBIE
            except psutil.Error:
                continue
            if not is_dead and "worker" in line and str(self.home) in line:
                found.append(process)
        return found

    def end(self, patience: float) -> list[str]:
        """End the server; name the workers that are still there after a while."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGTERM)
            try:
                self._server.wait(20)
            except subprocess.TimeoutExpired:
                self.kill_server()
        orphans = psutil.wait_procs(self.worker_processes(), patience)[1]
        for orphan in orphans:
            orphan.kill()
        return [f"process {orphan.pid} stayed" for orphan in orphans]
