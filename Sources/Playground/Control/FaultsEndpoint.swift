import JSON

/// `GET /playground/faults` shows the faults, `POST` switches some, `DELETE` switches all off.
///
/// The body of `POST`: `{"token": {"kind": "unavailable", "times": 2}, "resource": null, "revokeTokens": true}`. A part set to null is
/// whole again; `revokeTokens` invalidates every access token issued so far.
struct FaultsEndpoint: Endpoint {
  let faults: Faults
  let tokens: AccessTokens

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
    var revokes = false
    for member in object.members {
      if member.name == "revokeTokens" {
        guard let flag = member.value.boolValue else {
          throw Fault.ParsingError(message: "revokeTokens: true or false is expected")
        }
        revokes = flag
      } else if let point = Fault.Point(rawValue: member.name) {
        changes.updateValue(member.value == .null ? nil : try Fault(member.value, at: point), forKey: point)
      } else {
        let known = Fault.Point.allCases.map(\.rawValue).joined(separator: ", ")
        throw Fault.ParsingError(message: "\(member.name): one of \(known), revokeTokens is expected")
      }
    }
    faults.set(changes)
    if revokes { tokens.revokeAll() }
  }
}
