import PosternJSON

/// `GET /resource/vault?acr=…&maxAge=…`: something that a password alone does not open.
struct VaultEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply { Reply(json: ["vault": "open"]) }
}
