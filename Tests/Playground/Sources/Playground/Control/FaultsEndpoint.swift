import PosternJSON

/// `GET /playground/faults` shows the faults, `POST` switches some, `DELETE` switches all off.
///
/// The body of `POST`: `{"token": {"kind": "unavailable", "times": 2}, "resource": null, "revokeTokens": true}`. A part
/// set to null is whole again; `revokeTokens` invalidates every access token issued so far, `revokeRefreshTokens` every
/// refresh token with the access tokens of its grant.
struct FaultsEndpoint: Endpoint {
  let faults: Faults
  let tokens: AccessTokens
  let families: RefreshFamilies

  func reply(to request: Request) async throws -> Reply {
    switch request.method {
    case "POST":
      do throws(Fault.ParsingError) {
        try change(request.body)
      } catch {
        return .problem(400, error.message)
      }
    case "DELETE": faults.clear()
    default: break
    }
    return Reply(json: faults.json, headers: [("cache-control", "no-store")])
  }

  /// Reads the whole request before anything changes.
  private func change(_ body: [UInt8]) throws(Fault.ParsingError) {
    let object: JSONObject
    do {
      guard case .object(let parsed) = try JSONParser(maxDepth: 8).parse(body) else {
        throw Fault.ParsingError(message: "an object is expected")
      }
      object = parsed
    } catch let error as JSONParseError {
      throw Fault.ParsingError(message: "the body is \(error.description)")
    } catch {
      throw Fault.ParsingError(message: "an object is expected")
    }
    var changes: [Fault.Point: Fault?] = [:]
    var flags: [String: Bool] = ["revokeTokens": false, "revokeRefreshTokens": false]
    for member in object.members {
      if flags[member.name] != nil {
        guard let flag = member.value.boolValue else {
          throw Fault.ParsingError(message: "\(member.name): true or false is expected")
        }
        flags[member.name] = flag
      } else if let point = Fault.Point(rawValue: member.name) {
        changes.updateValue(member.value == .null ? nil : try Fault(member.value, at: point), forKey: point)
      } else {
        let known = Fault.Point.allCases.map(\.rawValue).joined(separator: ", ")
        throw Fault.ParsingError(
          message: "\(member.name): one of \(known), revokeTokens, revokeRefreshTokens is expected")
      }
    }
    faults.set(changes)
    if flags["revokeTokens"] == true { tokens.revokeAll() }
    if flags["revokeRefreshTokens"] == true { families.revoke(because: "revoked by a switch") { _ in true } }
  }
}
