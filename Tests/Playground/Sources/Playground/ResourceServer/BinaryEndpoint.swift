/// `/binary`: each byte value once, which is no text in any encoding.
struct BinaryEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    Reply(type: "application/octet-stream", bytes: Array(0...255))
  }
}
