import requests
from postern import Client
from postern.requests import PosternAdapter

http = requests.Session()
http.mount("http+postern://", PosternAdapter(Client()))  # the one new line

for order in http.get("http+postern://orders/orders").json()["orders"]:
    print(order["id"], order["quantity"], order["item"])
