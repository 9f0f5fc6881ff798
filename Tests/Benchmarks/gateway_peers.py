"""What the gateway is compared with: nginx as a proxy and as a front with njs, and mitmproxy."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
from typing import Any

from processes import Children, Failed, tail
from tls_upstream import NGINX, free_ports

HERE = pathlib.Path(__file__).resolve().parent
MITMPROXY = "mitmdump"
#: Debian's libnginx-mod-http-js.
NJS = pathlib.Path("/usr/lib/nginx/modules/ngx_http_js_module.so")
PROTECTED_BYTES = 1024

# Never the slow part: nothing is logged, and no connection is retired. With one process there is no master.
CONFIGURATION = """\
{user} daemon off; master_process {master}; worker_processes {workers};
pid {directory}/nginx.pid; error_log stderr warn;
{modules}
events {{ worker_connections 4096; }}
http {{
  access_log off; default_type application/json; etag off; tcp_nodelay on;
  keepalive_requests 1000000000; keepalive_timeout 600s;
  open_file_cache max=16 inactive=1h; open_file_cache_valid 1h;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
{servers}
}}
"""

PROXY = """\
  upstream {name} {{ server {address}; keepalive 64; keepalive_requests 1000000000; keepalive_timeout 600s; }}
  server {{
    listen 127.0.0.1:@{name}@ backlog=1024;
    location / {{
      proxy_pass http://{name}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host {address};
      {more}
    }}
  }}
"""

# As examples/forward-auth/nginx.conf has it, in front of a file.
FRONT = """\
  upstream postern {{ server unix:{socket}; keepalive 64; keepalive_requests 1000000000; keepalive_timeout 600s; }}
  server {{
    listen 127.0.0.1:@postern@ backlog=1024; root {root};
    location / {{ auth_request /.auth; auth_request_set $user $upstream_http_x_user; add_header X-User $user; }}
    location = /.auth {{
      internal; proxy_pass http://postern/.postern/auth/orders; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host postern; proxy_pass_request_body off; proxy_set_header Content-Length "";
      proxy_set_header X-Original-Method $request_method; proxy_set_header X-Original-URI $request_uri;
    }}
  }}
"""

NJS_FRONT = """\
  js_import verifier from {verifier};
  server {{
    listen 127.0.0.1:@njs@ backlog=1024; root {root};
    location / {{ auth_request /.auth; auth_request_set $user $sent_http_x_user; add_header X-User $user; }}
    location = /.auth {{ internal; js_content verifier.verify; }}
  }}
"""

OPEN = """\
  server {{ listen 127.0.0.1:@open@ backlog=1024; root {root}; }}
"""


class Nginx:
    """One nginx with servers of its own; `ports` has the port of each by its name."""

    def __init__(
        self, children: Children, directory: pathlib.Path, servers: str, names: list[str], workers: int = 1,
        modules: tuple[pathlib.Path, ...] = (),
    ) -> None:
        directory.mkdir()
        log = directory / "nginx.log"
        facts = {
            "directory": directory,
            "user": "user root;" if os.geteuid() == 0 else "",
            "master": "on" if workers > 1 else "off",
            "workers": workers,
            "modules": "".join(f"load_module {module};\n" for module in modules),
        }
        for _ in range(3):  # the ports are free when they are chosen; another program may still be quicker
            self.ports = dict(zip(names, free_ports(len(names))))
            text = servers
            for name, port in self.ports.items():
                text = text.replace(f"@{name}@", str(port))
            configuration = directory / "nginx.conf"
            configuration.write_text(CONFIGURATION.format(servers=text, **facts), encoding="ascii")
            self.child = children.start([NGINX, "-e", "stderr", "-c", configuration], log=log)
            if is_up(self.child, self.ports[names[-1]]):
                return
            children.stop(self.child)
        raise Failed(f"nginx did not start\n{tail(log)}")

    @staticmethod
    def version() -> str:
        done = subprocess.run([NGINX, "-v"], capture_output=True, text=True, check=False)
        return done.stderr.partition(":")[2].strip()


class Mitmproxy:
    """mitmdump as a reverse proxy, which looks at every exchange in Python."""

    def __init__(self, children: Children, directory: pathlib.Path, upstream: str) -> None:
        directory.mkdir()
        log = directory / "mitmproxy.log"
        for _ in range(3):
            (self.port,) = free_ports(1)
            command = [MITMPROXY, "-q", "--mode", f"reverse:{upstream}", "--listen-host", "127.0.0.1"]
            command += ["--listen-port", self.port, "--set", f"confdir={directory}"]
            self.child = children.start(command, log=log)
            if is_up(self.child, self.port, 60):
                return
            children.stop(self.child)
        raise Failed(f"mitmproxy did not start\n{tail(log)}")

    @staticmethod
    def is_installed() -> bool:
        return shutil.which(MITMPROXY) is not None

    @staticmethod
    def version() -> str:
        done = subprocess.run([MITMPROXY, "--version"], capture_output=True, text=True, check=False)
        return "mitmproxy " + done.stdout.partition(":")[2].split("\n")[0].strip()


def is_up(child: subprocess.Popen, port: int, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def njs_is_installed() -> bool:
    return NJS.exists()


def write_verifier(directory: pathlib.Path, keys: pathlib.Path, issuer: str, audience: str, scope: str) -> pathlib.Path:
    """`peers/verifier.js` with the keys that `make_proofs` made, and what it has to expect."""
    expected: dict[str, Any] = {"issuer": issuer, "audience": audience, "scope": scope, "keys": {}}
    for name, kid in (("RS256", "rsa-1"), ("ES256", "ec-1")):
        lines = (keys / f"{name}.public.pem").read_text(encoding="ascii").splitlines()
        der = base64.b64decode("".join(line for line in lines if not line.startswith("-")))
        expected["keys"][kid] = {"alg": name, "spki": base64.b64encode(der).decode("ascii")}
    text = (HERE / "peers/verifier.js").read_text(encoding="ascii")
    path = directory / "verifier.js"
    path.write_text(text.replace("EXPECTED", json.dumps(expected, indent=2)), encoding="ascii")
    return path
