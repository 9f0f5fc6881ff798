import JSON

/// A way for one part of the playground to go wrong.
struct Fault: Sendable, Equatable {
  /// A part that can go wrong.
  enum Point: String, Sendable, CaseIterable {
    /// Both metadata documents.
    case discovery
    /// The key set.
    case jwks
    /// The token endpoint.
    case token
    /// Everything under `/resource`.
    case resource

    /// The kinds that make sense there.
    var kinds: Set<Kind> {
      switch self {
      case .discovery: Kind.general.union([.wrongIssuer])
      case .jwks: Kind.general
      case .token: Kind.general.union([.refuseCredentials])
      case .resource: Kind.general.union([.unauthorized])
      }
    }
  }

  /// What goes wrong.
  enum Kind: String, Sendable, CaseIterable {
    /// 500 with an OAuth error.
    case serverError
    /// 503 with `Retry-After`.
    case unavailable
    /// The right answer after `delayMs`.
    case slow
    /// 200 with a text that is cut off in the middle.
    case malformedJSON
    /// 200 with a web page.
    case html
    /// 401 with an empty body and no challenge.
    case emptyUnauthorized
    /// 401 `invalid_client`, whatever the credentials.
    case refuseCredentials
    /// 401 `invalid_token`, whatever the token.
    case unauthorized
    /// Metadata of another issuer.
    case wrongIssuer

    /// The kinds that every part knows.
    static let general: Set<Kind> = [.serverError, .unavailable, .slow, .malformedJSON, .html, .emptyUnauthorized]
  }

  /// What goes wrong.
  var kind: Kind
  /// How many more requests it strikes; nil: all, until it is switched off.
  var times: Int?
  /// For `slow`: how long.
  var delayMilliseconds: Int
  /// For `unavailable`: the value of `Retry-After`.
  var retryAfterSeconds: Int

  /// The fault as `GET /playground/faults` shows it.
  var json: JSONValue {
    var object: JSONObject = ["kind": .string(kind.rawValue)]
    if let times { object["times"] = .integer(Int64(times)) }
    if kind == .slow { object["delayMs"] = .integer(Int64(delayMilliseconds)) }
    if kind == .unavailable { object["retryAfterSeconds"] = .integer(Int64(retryAfterSeconds)) }
    return .object(object)
  }
}
