import PosternJSON

/// `/headers`: fields that repeat, are empty, or differ in case.
struct HeadersEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    Reply(
      json: ["fields": "see the header block"],
      headers: [
        ("X-Repeated", "one"), ("X-Single", "only"), ("x-repeated", "two"), ("X-REPEATED", "three"), ("X-Empty", ""),
        ("Set-Cookie", "first=1; Path=/"), ("Set-Cookie", "second=2; Path=/; HttpOnly"),
      ]
    )
  }
}
