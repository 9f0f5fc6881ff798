import PosternJSON

/// `GET /playground/settings` shows the settings, `POST` changes those that its body names, `DELETE` goes back to
/// those of the start.
struct SettingsEndpoint: Endpoint {
  let settings: Settings

  func reply(to request: Request) async throws -> Reply {
    if request.method == "POST" {
      do throws(ControlBody.Problem) {
        settings.replace(with: try changed(try ControlBody(request)))
      } catch {
        return .problem(400, error.message)
      }
    }
    if request.method == "DELETE" { settings.reset() }
    let values = settings.values
    return Reply(
      json: [
        "rotateRefreshTokens": .bool(values.rotatesRefreshTokens),
        "repeatRefreshTokens": .bool(values.repeatsRefreshTokens),
        "reuseGraceMs": .integer(values.reuseGraceMilliseconds),
        "providerNonce": .bool(values.requiresProviderNonce),
        "resourceNonce": .bool(values.requiresResourceNonce),
      ],
      headers: [("cache-control", "no-store")])
  }

  private func changed(_ body: ControlBody) throws(ControlBody.Problem) -> Settings.Values {
    try body.rejectOthers(than: [
      "rotateRefreshTokens", "repeatRefreshTokens", "reuseGraceMs", "providerNonce", "resourceNonce",
    ])
    var values = settings.values
    if let flag = try body.bool("rotateRefreshTokens") { values.rotatesRefreshTokens = flag }
    if let flag = try body.bool("repeatRefreshTokens") { values.repeatsRefreshTokens = flag }
    if let number = try body.integer("reuseGraceMs", in: 0...86_400_000) { values.reuseGraceMilliseconds = number }
    if let flag = try body.bool("providerNonce") { values.requiresProviderNonce = flag }
    if let flag = try body.bool("resourceNonce") { values.requiresResourceNonce = flag }
    return values
  }
}
