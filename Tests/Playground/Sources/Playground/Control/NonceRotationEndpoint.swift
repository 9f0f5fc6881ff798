import PosternJSON

/// `POST /playground/rotateNonces`: proofs with the nonces issued so far are rejected from now on.
struct NonceRotationEndpoint: Endpoint {
  let nonces: [DPoPNonces]

  func reply(to request: Request) async throws -> Reply {
    for nonces in nonces { nonces.replace() }
    return Reply(json: [:])
  }
}
