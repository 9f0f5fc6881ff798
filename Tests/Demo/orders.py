import requests
from postern_auth import Client
from postern_auth.requests import PosternAdapter

http = requests.Session()
http.mount("http+postern://", PosternAdapter(Client()))  # the one new line

for order in http.get("http+postern://orders/orders").json()["orders"]:
    print(order["id"], order["quantity"], order["item"])
