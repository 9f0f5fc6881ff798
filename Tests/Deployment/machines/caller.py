"""The application in its container: caller.py SOCKET [METHOD PARAMS]… makes the calls on one connection and prints each
answer. With HOLD before the last of them it prints `sent` instead and waits. Standard library only."""
from __future__ import annotations

import json
import socket
import sys
import time

path, calls = sys.argv[1], sys.argv[2:]
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
    connection.settimeout(20)
    try:
        connection.connect(path)
    except OSError as error:
        sys.exit(type(error).__name__)
    answers = connection.makefile("r")
    while calls:
        hold = calls[0] == "HOLD"
        method, params = calls[hold:hold + 2]
        calls = calls[hold + 2:]
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": json.loads(params)}
        connection.sendall(json.dumps(request).encode() + b"\n")
        if hold:
            print("sent", flush=True)
            time.sleep(60)
        print(answers.readline(), end="", flush=True)
