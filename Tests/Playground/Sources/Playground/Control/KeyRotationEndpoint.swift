import PosternJSON

/// `POST /playground/rotateKeys`: new signing keys from now on. The old ones stay in the key set, unless `?keep=false`
/// drops them and with them the validity of every token they signed.
struct KeyRotationEndpoint: Endpoint {
  let keys: SigningKeys

  func reply(to request: Request) async throws -> Reply {
    guard let query = request.queryParameters, [nil, "true", "false"].contains(query["keep"]) else {
      return .problem(400, "keep: true or false is expected")
    }
    try keys.rotate(keepingOld: query["keep"] != "false")
    return Reply(json: ["kids": .array(keys.identifiers.map { .string($0) })])
  }
}
