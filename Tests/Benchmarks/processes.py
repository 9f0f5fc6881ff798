"""Child processes of the benchmark: started here, stopped here, by process id."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """Something did not run; the text describes it."""


class Children:
    """Every process the benchmark starts, so that none outlives it."""

    def __init__(self):
        self._running = []
        # With setpriv a child also dies with this process when it is killed outright.
        self._prefix = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []

    def start(self, command, *, log=None, stdout=subprocess.DEVNULL, guarded=True):
        """Starts a server. `guarded=False` leaves out the extra exec, for the measurement of start-up time."""
        command = [str(word) for word in command]
        with open(log or os.devnull, "ab") as stderr:
            child = subprocess.Popen(
                (self._prefix if guarded else []) + command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self._running.append(child)
        return child

    def stop(self, child):
        """SIGTERM, and SIGKILL when that does not end it in 5 s."""
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if child.stdout:
            child.stdout.close()
        if child in self._running:
            self._running.remove(child)

    def stop_all(self):
        for child in list(reversed(self._running)):
            self.stop(child)

    def cpu_seconds(self):
        """User and system time of this process and of everything it has started, whether that is running or not."""
        own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        running = {child.pid for child in self._running if child.poll() is None}
        total = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
        return total + _cpu_of_sessions(running, waited_for=True)

    def measure(self, command, timeout):
        """Runs a client to its end and returns the JSON line it prints."""
        child = self.start(command, stdout=subprocess.PIPE, log=(errors := self.error_log))
        try:
            output, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as problem:
            raise Failed(f"no end after {timeout:.0f} s: {_shown(command)}") from problem
        finally:
            self.stop(child)
        if child.returncode != 0:
            raise Failed(f"exit {child.returncode}: {_shown(command)}\n{tail(errors)}")
        return json.loads(output)

    error_log = os.devnull


def _shown(command):
    return " ".join(str(word) for word in command)


def tail(path, lines=12):
    """The last lines of a log, for an error message."""
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-lines:]).rstrip()
    except OSError:
        return ""


def wait_for_socket(path, child, log=None, timeout=10.0, pause=0.0001):
    """Connects as soon as that is possible; the connected socket."""
    end = time.monotonic() + timeout
    while True:
        attempt = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            attempt.connect(str(path))
            return attempt
        except OSError as problem:
            attempt.close()
            if child.poll() is not None:
                raise Failed(
                    f"{_shown(child.args)} ended with {child.returncode}\n" f"{tail(log) if log else ''}"
                ) from problem
            if time.monotonic() > end:
                raise Failed(f"no connection to {path} within {timeout:.0f} s: {problem}") from problem
        time.sleep(pause)


def call(connection, method, params=None, timeout=30.0):
    """One request over a connected socket; its result."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        request["params"] = params
    connection.settimeout(timeout)
    connection.sendall(json.dumps(request).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        try:
            chunk = connection.recv(1 << 20)
        except TimeoutError as problem:
            raise Failed(f"{method}: no answer in {timeout:.0f} s") from problem
        if not chunk:
            raise Failed(f"{method}: the connection was closed instead of an answer")
        answer += chunk
    decoded = json.loads(answer)
    if "result" not in decoded:
        raise Failed(f"{method}: {json.dumps(decoded)[:500]}")
    return decoded["result"]


def resident_kib(pid):
    """VmRSS of a process in KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise Failed(f"process {pid} is gone")


def cpu_seconds(pid):
    """User and system time of all threads of a process."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def session_cpu_seconds(leader):
    """User and system time of all processes of a session, as a server of several processes has it."""
    return _cpu_of_sessions({leader})


def _cpu_of_sessions(leaders, waited_for=False):
    """That of all processes of several sessions. `waited_for`: with that of their children that have exited."""
    total = 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # it is gone
        if int(fields[3]) in leaders:
            total += sum(int(field) for field in fields[11 : 15 if waited_for else 13])
    return total / TICKS
