package import HTTPMessages
import PosternSupport

/// A request for a code by a single sign-on token; kept, to be continued where the access manager wants something else
/// first.
package struct SignOnRequest: Sendable {
  /// The longest URL to continue at: it is kept until the user is done.
  package static let maxBytes = 16 << 10
  /// Parameters that make it another request (OpenID Connect Core section 6): the access manager may not add them.
  private static let foreign: Set<String> = ["request", "request_uri", "response_mode", "claims", "registration"]
  /// The parameters of the user's consent, which a retry contains, too.
  private static let consent: Set<String> = ["decision", "csrf"]

  package let redirectURI: String
  package let state: String
  /// Everything but consent.
  private let form: [(name: String, value: String)]

  package init(redirectURI: String, state: String, form: [(name: String, value: String)]) {
    self.redirectURI = redirectURI
    self.state = state
    self.form = form
  }

  /// Returns the URL that `text`, the `goto` of a redirect from `url`, refers to: nil unless it is this very request at
  /// the same endpoint as `url`.
  func location(in text: String, from url: HTTPURL) -> HTTPURL? {
    guard (1...Self.maxBytes).contains(text.utf8.count), let target = try? url.resolving(reference: text),
      target.origin == url.origin,
      target.path == url.path
    else {
      return nil
    }
    var kept: [Substring] = []
    var values: [String: [String]] = [:]
    for part in (target.query ?? "").split(atByte: "&") {
      guard let pair = FormEncoding.decode(String(part))?.first, !Self.foreign.contains(pair.name) else { return nil }
      guard !Self.consent.contains(pair.name) else { continue }
      kept.append(part)
      values[pair.name, default: []].append(pair.value)
    }
    for (name, given) in values {
      let own = form.filter { $0.name == name }.map(\.value)
      guard
        own.isEmpty || own.sorted().elementsEqual(given.sorted(), by: { own, given in own.hasSameBytes(as: given) })
      else { return nil }
    }
    return try? target.withoutQuery.addingQuery(kept.joined(separator: "&"))
  }

  /// The parameters that `url` does not have: none may be there twice (RFC 6749 section 3.1).
  package func form(missingIn url: HTTPURL) -> [(name: String, value: String)] {
    let there = Set((FormEncoding.decode(url.query ?? "") ?? []).map(\.name))
    return form.filter { !there.contains($0.name) }
  }
}
