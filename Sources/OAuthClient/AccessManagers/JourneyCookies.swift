package import HTTPMessages
import PosternSupport

/// The cookies that the access manager sets during a journey, without its single sign-on cookie: mostly a load
/// balancer's.
package struct JourneyCookies: Sendable {
  private static let most = 8
  private static let maxBytes = 1024

  private var values: [(name: String, value: String)] = []

  package init() {}

  /// Their size in bytes.
  package var byteCount: Int { values.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

  /// The `Cookie` field with these and the single sign-on cookie; nil when there is none.
  package func field(_ name: String, _ token: String?) -> String? {
    var pairs = values.map { "\($0.name)=\($0.value)" }
    if let token { pairs.insert("\(name)=\(token)", at: 0) }
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }

  /// Keeps the cookies that `response` sets, without the single sign-on cookie.
  package mutating func take(_ response: HTTPResponse, except ssoName: String) {
    for (name, value) in Self.pairs(of: response) where !name.hasSameBytes(as: ssoName) {
      values.removeAll { $0.name == name }
      guard values.count < Self.most, !value.isEmpty, AccessManager.isToken(value),
        name.utf8.count + value.utf8.count <= Self.maxBytes
      else { continue }
      values.append((name: name, value: value))
    }
  }

  /// The single sign-on token that `response` sets.
  package static func token(in response: HTTPResponse, named ssoName: String) -> String? {
    pairs(of: response).last { $0.name.hasSameBytes(as: ssoName) && AccessManager.isToken($0.value) }?.value
  }

  /// Names and values of `Set-Cookie`, as RFC 6265 section 5.2 has them read; attributes do not matter here.
  private static func pairs(of response: HTTPResponse) -> [(name: String, value: String)] {
    response.fields.values(of: "Set-Cookie").prefix(32).compactMap { line in
      let pair = line.prefix(beforeBytes: ";").split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2 else { return nil }
      let name = HTTPFieldRules.trimmed(String(pair[0]))
      var value = HTTPFieldRules.trimmed(String(pair[1]))
      if value.utf8.count >= 2, value.utf8.first == UInt8(ascii: "\""), value.utf8.last == UInt8(ascii: "\"") {
        value = String(Substring(value.utf8.dropFirst().dropLast()))
      }
      return HTTPFieldRules.isName(name) ? (name: name, value: value) : nil
    }
  }
}
