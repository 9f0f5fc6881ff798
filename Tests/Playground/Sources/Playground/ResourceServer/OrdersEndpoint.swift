import PosternJSON

/// `GET /resource/orders`: something worth protecting.
struct OrdersEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    Reply(
      json: [
        "orders": [
          ["id": "A-1001", "item": "coffee", "quantity": 2],
          ["id": "A-1002", "item": "tea", "quantity": 1],
        ]
      ]
    )
  }
}
