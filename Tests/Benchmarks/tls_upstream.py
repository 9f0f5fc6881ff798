"""The upstream behind TLS: Debian's nginx on the loopback, with certificates of its own, in one process."""
from __future__ import annotations

import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

from processes import Children, Failed, tail

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "EndToEnd"))
from harness.certificates import Authority  # noqa: E402  the end-to-end tests' own

# Never the slow part: nothing is logged, files stay open, and no connection is retired. One process: no master.
CONFIGURATION = """\
daemon off; master_process off; worker_processes 1;
pid {directory}/nginx.pid; error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
  access_log off; default_type application/json; etag off; tcp_nodelay on;
  keepalive_requests 1000000000; keepalive_timeout 600s;
  open_file_cache max=16 inactive=1h; open_file_cache_valid 1h;
  http2_max_concurrent_streams 512;
  ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
  ssl_session_cache shared:bench:1m;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  root {directory}; add_header Upstream-Protocol $server_protocol;
  server {{ listen 127.0.0.1:{http1} ssl backlog=1024; }}
  server {{ listen 127.0.0.1:{http2} ssl http2 backlog=1024; }}
  server {{ listen 127.0.0.1:{stats}; location = /stats {{ stub_status; }} }}
}}
"""


#: What only a proxy of the run resolves.
NAME = "upstream.test"
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"


def is_installed() -> bool:
    return shutil.which(NGINX) is not None


class TLSUpstream:
    """`/open/NAME` for each of `documents`: over HTTP/1.1 alone at `http1`, over HTTP/2 as well at `http2`."""

    def __init__(self, children: Children, directory: pathlib.Path, documents: dict[str, bytes]) -> None:
        authority = Authority(directory / "certificates")
        authority.issue("server", f"subjectAltName=IP:127.0.0.1,DNS:{NAME}")
        self.ca_file = authority.file
        (directory / "open").mkdir()
        for name, content in documents.items():
            (directory / "open" / name).write_bytes(content)
        certificate, key = authority.certificate("server"), authority.key("server")
        paths = {"directory": directory, "certificate": certificate, "key": key}
        # The ports are free when they are chosen; another program may still be quicker.
        for _ in range(3):
            ports = dict(zip(("http1", "http2", "stats"), free_ports(3)))
            configuration = directory / "nginx.conf"
            configuration.write_text(CONFIGURATION.format(**paths, **ports), encoding="ascii")
            self._log = directory / "nginx.log"
            self.child = children.start([NGINX, "-e", "stderr", "-c", configuration], log=self._log)
            self.http1, self.http2 = (f"https://127.0.0.1:{ports[name]}" for name in ("http1", "http2"))
            self._stats = f"http://127.0.0.1:{ports['stats']}/stats"
            if self._is_up(ports["http2"]):
                return
            children.stop(self.child)
        raise Failed(f"nginx did not start\n{tail(self._log)}")

    def _is_up(self, port: int) -> bool:
        end = time.monotonic() + 10
        while self.child.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False

    @property
    def version(self) -> str:
        done = subprocess.run([NGINX, "-v"], capture_output=True, text=True, check=False)
        return done.stderr.partition(":")[2].strip()

    def requests(self) -> int:
        """How many it has seen."""
        with urllib.request.urlopen(self._stats, timeout=10) as answer:
            found = re.search(r"(?m)^ (\d+) (\d+) (\d+) *$", answer.read().decode("ascii"))
        if found is None:
            raise Failed("nginx does not tell how many requests it has seen")
        return int(found.group(3))


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
