import JSON

/// `GET /playground/families`: what became of every refresh token, and which answers went out whole.
struct FamiliesEndpoint: Endpoint {
  let families: RefreshFamilies

  func reply(to request: Request) async throws -> Reply {
    Reply(json: ["families": families.json], headers: [("cache-control", "no-store")])
  }
}
