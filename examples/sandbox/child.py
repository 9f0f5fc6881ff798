"""Fetches the orders through the descriptor of POSTERN_FD, or through the one that it gets at a socket.

    python child.py [PATH]
"""

import os
import socket
import sys

from postern_auth import Client, PosternError

giver = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
if sys.argv[1:]:
    giver.connect(sys.argv[1])
    _, [descriptor], _, _ = socket.recv_fds(giver, 1, 1)
    os.environ["POSTERN_FD"] = str(descriptor)

with giver, Client() as client:
    for order in client.fetch_resource("orders", path="orders").json()["orders"]:
        print(order["id"], order["item"], order["quantity"])
    try:
        client.fetch_resource("open", path="text")
    except PosternError as error:
        print("open:", error.message)
    try:
        client.list_sessions()
    except PosternError as error:
        print("sessions:", error.reason)
