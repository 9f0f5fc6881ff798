import PosternCrypto
package import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// A call as it is put to a maker: what will be done, as it will be done.
package struct CallQuestion: Sendable {
  /// What the maker is shown, in the question's members.
  private let shown: JSONObject
  /// The same for calls that the same answer is good for: the same is shown of them, and what is not shown is the same,
  /// but for a body and fields. Small, whatever the texts are.
  let digest: [UInt8]
  /// Whose request is shown; nil: params are shown.
  let user: ApprovedUser?

  /// A call of `method` with those params, of which `preview` is shown; nil: all of the params but secrets.
  init(_ method: String, _ params: JSONTree?, _ preview: JSONObject?) throws(RPCFault) {
    guard preview != nil || params?["session"]?.stringValue != SessionParam.only else {
      throw .invalidParams("What is to be approved is for one session: pass its handle, not `only`", path: "/session")
    }
    var shown: JSONObject = ["method": .string(method)]
    for name in Self.texts where preview == nil || name != "session" {
      shown[name] = params?[name]?.stringValue.map { .string($0) }
    }
    var hidden: [String] = []
    if let preview {
      for member in preview.members { shown[member.name] = member.value }
      for name in ["continuation", "parameters", "onBehalfOf"] {
        hidden.append(params?[name].map { JSONWriter().string($0) } ?? "")
      }
    } else if let params = params?.value {
      shown["params"] = Self.masked(params, "")
      hidden.append(JSONWriter().string(params))
    }
    self.shown = shown
    user = preview.map { $0["session"]?.stringValue.map { .session($0) } ?? .nobody }
    digest = HashFunction.sha256.hash("approval", of: [JSONWriter().string(.object(shown))] + hidden)
  }

  /// Whether a person can judge all of it: no text is too long, or looks like another one.
  var isReadable: Bool {
    JSONWriter().withBytes(of: .object(shown)) { $0.count } <= ApprovalStep.questionBytes
      && shown.members.allSatisfy { Self.isReadable($0.value) }
  }

  /// Whether every text in `value` can be judged by a person.
  package static func isReadable(_ value: JSONValue) -> Bool {
    switch value {
    case .string(let text): isReadable(text)
    case .array(let values): values.allSatisfy(isReadable)
    case .object(let object): object.members.allSatisfy { isReadable($0.name) && isReadable($0.value) }
    default: true
    }
  }

  private static func isReadable(_ text: String) -> Bool {
    text.utf8.count <= ApprovalStep.textBytes
      && text.unicodeScalars.allSatisfy { scalar in
        let properties = scalar.properties
        let category = properties.generalCategory
        // The last is the blank of Braille, which has no such property.
        return ![.control, .format, .lineSeparator, .paragraphSeparator].contains(category)
          && !properties.isDefaultIgnorableCodePoint && scalar != "\u{2800}"
      }
  }

  /// The request to a maker, whose level is the first of `chain`.
  func params(_ chain: ArraySlice<Narrowing>) -> JSONObject {
    var params = shown
    params["chain"] = .array(chain.map { .string($0.id) })
    if let level = chain.first {
      params["endpoint"] = .string(level.id)
      params["label"] = level.label.map { .string($0) }
    }
    return params
  }

  // MARK: - Params

  /// The params whose texts are members of the question.
  private static let texts = ["resource", "session", "auth", "issuer", "provider"]

  /// The params that say what is done, for whom and where. Others may be secret: a token, an answer, a URL with a code.
  private static let openNames: Set<String> = [
    "acrValues", "algorithms", "all", "audience", "auth", "clientId", "clockSkewSeconds", "disableFeatures",
    "domainName", "dpop", "end", "endpoint", "expectedIssuer", "flow", "forceAuth", "issuer", "jwksUrl", "loginHint",
    "maxAge", "method", "minTtlSeconds", "mvpd", "noSession", "platform", "prompt", "provider", "redirectUri",
    "redirectUrl", "rejectUnexpectedNonce", "requireAzp", "requiredScopes", "resource", "resources", "scope", "service",
    "session", "timeoutMs", "tokenTypeHint", "tree", "trustedAudiences", "type", "waitMs",
  ]

  /// `value`, of a member `name`, without what may be secret.
  private static func masked(_ value: JSONValue, _ name: String) -> JSONValue {
    switch value {
    case .object(let object):
      var result = JSONObject()
      for member in object.members { result[member.name] = masked(member.value, member.name) }
      return .object(result)
    case .array(let values): return .array(values.map { masked($0, name) })
    case .null: return .null
    default: return openNames.contains(name) ? value : "***"
    }
  }
}
