package import HTTPMessages
import OAuthClient
import PosternCrypto
public import PosternSupport

/// A secret that authenticates requests to a resource server by itself: an API key, a personal access token, a user
/// name with its password. It is added to requests as the last part before they are sent, so that nothing else has it.
public struct StaticCredential: Sendable {
  /// The part of a request that carries the secret.
  public enum Form: Sendable, Hashable {
    /// A header field; `prefix` precedes the secret in its value, as in `Bearer `.
    case header(name: String, prefix: String = "")
    /// A parameter of the query. Servers write queries to their logs: a header field is better where there is one.
    case query(name: String)
    /// `Authorization: Basic` (RFC 7617), with the secret as the password.
    case basic(username: String)
  }

  /// The longest secret in bytes; servers accept header fields of about that length.
  public static let maxBytes = 8 << 10
  /// A secret of so many bytes is recognised wherever a server puts it; a shorter one would be found by chance.
  private static let minEchoBytes = 8
  /// The text in place of the secret, wherever a URL is shown.
  static let mask = "***"

  /// The part of a request that carries the secret.
  public let form: Form
  private let current: @Sendable () -> Secret<String>

  /// A credential with that secret, for good.
  public init(_ form: Form, value: Secret<String>) throws(StaticCredentialError) {
    if let error = Self.fault(in: value.reveal(), as: form) { throw error }
    try self.init(form, current: { value })
  }

  /// A credential whose secret may be replaced: `current` returns the one of now, and is called for each request.
  public init(_ form: Form, current: @escaping @Sendable () -> Secret<String>) throws(StaticCredentialError) {
    if let error = Self.fault(in: form) { throw error }
    self.form = form
    self.current = current
  }
}

// MARK: - Rules

extension StaticCredential {
  private static let maxNameBytes = 256

  /// The fault in `secret`, to be sent as `form`; nil when there is none. Secrets are visible ASCII, in a header field
  /// also with spaces inside; passwords are UTF-8 without control characters (RFC 7617 section 2).
  public static func fault(in secret: String, as form: Form) -> StaticCredentialError? {
    func fault(_ phrase: String) -> StaticCredentialError { StaticCredentialError(part: .value, phrase: phrase) }
    if secret.isEmpty { return fault("is empty") }
    if secret.utf8.count > maxBytes { return fault("is longer than \(maxBytes) bytes") }
    if case .basic = form { return hasControl(secret) ? fault("has a control character") : nil }
    if !secret.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
      return fault("has a character that is not visible ASCII")
    }
    if HTTPFieldRules.trimmed(secret) != secret { return fault("begins or ends with a space") }
    return nil
  }

  private static func fault(in form: Form) -> StaticCredentialError? {
    switch form {
    case .header(let name, let prefix): headerFault(name, prefix)
    case .query(let name):
      (1...maxNameBytes).contains(name.utf8.count) && PercentEncoding.encode(name, for: .pathSegment) == name
        ? nil
        : StaticCredentialError(
          part: .name, phrase: "must have 1 to \(maxNameBytes) letters, digits and characters of -._~")
    case .basic(let username): usernameFault(username)
    }
  }

  private static func headerFault(_ name: String, _ prefix: String) -> StaticCredentialError? {
    guard HTTPFieldRules.isName(name) else {
      return StaticCredentialError(part: .name, phrase: "is no name of a header field")
    }
    guard HTTPFieldRules.mayCarryCredential(name) else {
      return StaticCredentialError(
        part: .name, phrase: "is a header field that has another purpose: it carries no credential")
    }
    guard prefix.utf8.count <= maxNameBytes, prefix.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      return StaticCredentialError(
        part: .prefix, phrase: "must have at most \(maxNameBytes) characters of visible ASCII")
    }
    guard prefix.utf8.first != UInt8(ascii: " ") else {
      return StaticCredentialError(part: .prefix, phrase: "begins with a space")
    }
    return nil
  }

  private static func usernameFault(_ username: String) -> StaticCredentialError? {
    func fault(_ phrase: String) -> StaticCredentialError { StaticCredentialError(part: .username, phrase: phrase) }
    guard (1...maxNameBytes).contains(username.utf8.count) else {
      return fault("must have 1 to \(maxNameBytes) bytes")
    }
    // The first colon ends the user name (RFC 7617 section 2).
    guard !username.utf8.contains(UInt8(ascii: ":")) else { return fault("has a colon") }
    return hasControl(username) ? fault("has a control character") : nil
  }

  private static func hasControl(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}

// MARK: - Requests

extension StaticCredential {
  /// Distinguishes a secret from the one that replaces it, so that what servers tie to the one does not go with the
  /// other.
  struct Fingerprint: Hashable {
    private let hash: [UInt8]

    init(_ secret: Secret<String>) { hash = HashFunction.sha256.hash(Array(secret.reveal().utf8)) }
  }

  /// The secret of now, for one request.
  struct Current {
    let form: Form
    fileprivate let secret: Secret<String>

    /// The secret's fingerprint.
    var fingerprint: Fingerprint { Fingerprint(secret) }

    /// Adds the secret to `request`; reports show the URL with a mask, also where a redirect has put the secret into
    /// it.
    func authorize(_ request: inout HTTPRequest, afterRedirect: Bool) throws(ResourceError) {
      let text = secret.reveal()
      // A program's own source of secrets is not bound by the rules of a configuration.
      if let fault = StaticCredential.fault(in: text, as: form) {
        throw ResourceError(
          .deviceNotAuthenticated, "the resource's credential cannot be sent: it \(fault.phrase)", retryable: false)
      }
      let shown = afterRedirect ? StaticCredential.hiding(secret, in: request.url) : request.url
      request.shownURL = shown
      switch form {
      case .header(let name, let prefix): request.fields[name] = prefix + text
      case .query(let name):
        request.shownURL = try StaticCredential.adding(StaticCredential.mask, as: name, to: shown)
        request.url = try StaticCredential.adding(
          PercentEncoding.encode(text, for: .pathSegment), as: name, to: request.url)
      case .basic(let username):
        request.fields["Authorization"] = "Basic \(Base64.string(Array("\(username):\(text)".utf8)))"
      }
    }

    /// The spellings in which a server may return the secret. A short one is recognised as the value of its own
    /// parameter alone.
    var spellings: SecretSpellings {
      let text = secret.reveal()
      var texts = [text]
      switch form {
      case .query(let name) where text.utf8.count < StaticCredential.minEchoBytes:
        return SecretSpellings(ofParameter: name, value: text)
      case .basic(let username): texts.append(Base64.string(Array("\(username):\(text)".utf8)))
      case .header, .query: break
      }
      return SecretSpellings(texts.filter { $0.utf8.count >= StaticCredential.minEchoBytes })
    }
  }

  /// Looks at the secret of now, so that a source that has become unusable is noticed before a request needs it.
  package func check() { _ = current() }

  /// The secret for the next request.
  func forNextRequest() -> Current { Current(form: form, secret: current()) }

  /// `url`, of a request with the credential, as reports and results show it.
  func shown(_ url: HTTPURL, afterRedirect: Bool = false) -> HTTPURL {
    let url = afterRedirect ? Self.hiding(current(), in: url) : url
    guard case .query(let name) = form else { return url }
    return (try? Self.adding(Self.mask, as: name, to: url)) ?? url
  }

  /// Whether the secret of now is in `url`, which a server may have made of the request that it got.
  func occurs(in url: HTTPURL) -> Bool { Self.occurs(current(), in: url) }

  private static func occurs(_ secret: Secret<String>, in url: HTTPURL) -> Bool {
    let text = secret.reveal()
    return text.utf8.count >= minEchoBytes && SecretSpellings([text]).occur(in: "\(url.path)?\(url.query ?? "")")
  }

  /// `url` without the query, and without the path, that has the secret.
  private static func hiding(_ secret: Secret<String>, in url: HTTPURL) -> HTTPURL {
    guard occurs(secret, in: url) else { return url }
    let bare = url.withoutQuery
    let shown = occurs(secret, in: bare) ? try? bare.replacingPath("/") : bare
    return (try? (shown ?? bare).addingQuery(mask)) ?? bare
  }

  private static func adding(_ encoded: String, as name: String, to url: HTTPURL) throws(ResourceError) -> HTTPURL {
    do throws(HTTPURLError) {
      return try url.addingQuery("\(name)=\(encoded)")
    } catch {
      throw ResourceError(.invalidURL, "with the resource's credential the URL \(error.phrase)", path: ["path"])
    }
  }
}

// MARK: - Reserved names

extension StaticCredential {
  /// Whether the header field of that name carries the secret, however it is spelt.
  package func isNamed(_ field: String) -> Bool {
    guard case .header(let name, _) = form else { return false }
    return HTTPFieldRules.canonical(field) == HTTPFieldRules.canonical(name)
  }

  /// Whether the query of `url` has the parameter that carries the secret, however it is spelt.
  func isNamed(inQueryOf url: HTTPURL) -> Bool { parts(of: url).contains { isReserved($0) } }

  /// `url` without that parameter: a server that redirects may copy the query that it got.
  package func removed(from url: HTTPURL) -> HTTPURL {
    guard isNamed(inQueryOf: url) else { return url }
    let kept = parts(of: url).filter { !isReserved($0) }.joined(separator: "&")
    return (try? url.withoutQuery.addingQuery(kept)) ?? url.withoutQuery
  }

  /// Some servers separate parameters by semicolons, too.
  private func parts(of url: HTTPURL) -> [Substring] {
    guard case .query = form, let query = url.query else { return [] }
    return query.split(atByte: "&").flatMap { $0.split(atByte: ";") }
  }

  private func isReserved(_ part: Substring) -> Bool {
    guard case .query(let name) = form else { return false }
    // A name that cannot be decoded may be any elsewhere.
    guard let given = FormEncoding.decode(String(part.prefix(beforeBytes: "="))) else { return true }
    return Self.comparable(given.first?.name ?? "") == Self.comparable(name)
  }

  /// The name of a parameter for comparisons: some servers read `KEY`, ` key`, `key[]` and `key%00…` as `key`, and have
  /// one variable for `api.key` and `api_key`.
  private static func comparable(_ name: String) -> String {
    let canonical = HTTPFieldRules.canonical(String(name.prefix(beforeBytes: "[", "\0")))
    return String(decoding: canonical.utf8.drop { $0 == UInt8(ascii: "-") }, as: UTF8.self)
  }
}

extension StaticCredential: ConciseStringConvertible {
  /// The form without its values.
  public var description: String { "static credential in \(form)" }
}

extension StaticCredential.Form: ConciseStringConvertible {
  /// The header field, or the parameter of the query.
  public var description: String {
    switch self {
    case .header(let name, _): "header \(Concise.name(name))"
    case .query(let name): "query \(Concise.name(name))"
    case .basic: "header Authorization, Basic"
    }
  }
}

/// Why a credential cannot be used. Never quotes the secret.
public struct StaticCredentialError: Error, Sendable, Hashable {
  /// The part at fault.
  public enum Part: String, Sendable, Hashable, CaseIterable {
    /// The name of the header field, or of the query's parameter.
    case name
    /// The text before the secret.
    case prefix
    /// The user name.
    case username
    /// The secret.
    case value
  }

  /// The part at fault.
  public let part: Part
  /// A phrase for people, to be put behind the part's name.
  public let phrase: String
}

extension StaticCredentialError: ConciseStringConvertible {
  /// `value: is longer than 8192 bytes`.
  public var description: String { "\(part.rawValue): \(phrase)" }
}
