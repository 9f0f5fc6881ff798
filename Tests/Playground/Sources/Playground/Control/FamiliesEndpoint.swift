import PosternJSON

/// `GET /playground/families`: what became of every refresh token, and which answers went out whole. `DELETE` forgets
/// all families, and with that makes their tokens void.
struct FamiliesEndpoint: Endpoint {
  let families: RefreshFamilies

  func reply(to request: Request) async throws -> Reply {
    if request.method == "DELETE" { families.forgetAll() }
    return Reply(json: ["families": families.json], headers: [("cache-control", "no-store")])
  }
}
