import AuthEngine
package import HTTPMessages
package import PosternConfiguration
package import PosternJSON
import PosternSupport

/// The request of a front proxy about a request of its client: forward authentication.
package struct ForwardedRequest: Sendable {
  /// The method of the front's own request.
  package var method: String
  /// The path that follows the endpoint, with its query; nil: none follows.
  package var remainder: String?
  /// The value of `Host`.
  package var authority: String
  /// The fields, those of the client among them.
  package var fields: HTTPFields

  package init(method: String, remainder: String?, authority: String, fields: HTTPFields) {
    self.method = method
    self.remainder = remainder
    self.authority = authority
    self.fields = fields
  }

  /// The params of `validateRequest` for the client's request at `api`.
  package func params(for api: ProtectedAPIConfiguration) throws(ForwardingError) -> JSONObject {
    let original = try OriginalRequest(of: self, at: api)
    let certificate = try api.clientCertificateHeader.flatMap { name throws(ForwardingError) in
      try ForwardedCertificate.pem(in: fields, field: name)
    }
    let (method, url) = try original.target(isExact: api.dpop == .required || hasProof)
    var params: JSONObject = ["issuer": .string(api.issuer), "method": .string(method), "url": .string(url)]
    params["headers"] = .object(credentials)
    params["audience"] = .string(api.audience)
    if !api.requiredScopes.isEmpty { params["requiredScopes"] = .array(api.requiredScopes.map(JSONValue.string)) }
    params["dpop"] = .string(api.dpop.rawValue)
    if let maxAge = api.maxAge { params["maxAge"] = .integer(maxAge.components.seconds) }
    if !api.acrValues.isEmpty { params["acrValues"] = .array(api.acrValues.map(JSONValue.string)) }
    if let certificate { params["clientCertificate"] = .string(certificate) }
    return params
  }

  /// Every line of the fields that authenticate the client.
  private var credentials: JSONObject {
    var credentials = JSONObject()
    for name in ["authorization", "dpop"] {
      let values = fields.values(of: name)
      if !values.isEmpty { credentials[name] = .array(values.map(JSONValue.string)) }
    }
    return credentials
  }

  /// Whether the client sends a proof of possession, or a token that goes with one. A proof is about method and URL.
  private var hasProof: Bool {
    !fields.values(of: "dpop").isEmpty
      || fields.values(of: "authorization").contains { $0.lowercasedASCII().startsWithBytes(of: "dpop") }
  }
}

/// Why a front's request about its client's request cannot be judged: an error in the front's configuration, or an
/// attempt to make use of one. Never accepted, never the fault of the client's token.
package enum ForwardingError: Error, Sendable, Hashable {
  /// The front is configured to send a field, and does not.
  case missing(String)
  /// A field is there more than once.
  case duplicate(String)
  /// Two fields, or families of fields, describe different requests.
  case contradiction(String, String)
  /// A field has a value that is none; the reason continues "X-Original-URI …".
  case invalid(String, String)
  /// A proof of possession needs the original method and URL, and the front does not report them.
  case unknownTarget

  /// In words, for the log. Quotes no value.
  package var message: String {
    switch self {
    case .missing(let name): "the front does not send \(name)"
    case .duplicate(let name): "\(name) is given more than once"
    case .contradiction(let one, let other): "\(one) and \(other) contradict each other"
    case .invalid(let name, let reason): "\(name) \(reason)"
    case .unknownTarget:
      "a proof of possession needs method, host and path of the client's request, which the front does not send"
    }
  }
}

extension ForwardingError: CustomStringConvertible {
  package var description: String { message }
}
