import Glibc
public import PosternJSON
public import PosternSupport

/// A protected header that follows the general rules: one JSON object with `alg`, string parameters that are strings,
/// and no critical parameter that is not understood.
///
/// `jwk`, `jku`, `x5u` and `x5c` in it never select or supply a key, because the sender chooses them (CVE-2018-0114).
public struct JOSEHeader: Sendable {
  /// All parameters as received.
  public let parameters: JSONObject
  /// `alg`.
  public let algorithm: String
  /// `kid`; must never become part of a path, a URL or a query.
  public let keyID: String?
  /// `typ`.
  public let type: String?
  /// `cty`.
  public let contentType: String?

  /// Checks the parameters of a header.
  public init(parameters: JSONObject) throws(JOSEError) {
    guard let algorithm = parameters["alg"]?.stringValue else {
      throw JOSEError(.malformedToken, "alg is missing or not a string", claim: "alg")
    }
    self.parameters = parameters
    self.algorithm = algorithm
    keyID = try Self.optionalString("kid", in: parameters)
    type = try Self.optionalString("typ", in: parameters)
    contentType = try Self.optionalString("cty", in: parameters)
    try Self.checkCritical(parameters)
  }

  private static func optionalString(_ name: String, in parameters: JSONObject) throws(JOSEError) -> String? {
    guard let value = parameters[name] else { return nil }
    guard let text = value.stringValue else {
      throw JOSEError(.malformedToken, "\(name) is not a string", claim: name)
    }
    return text
  }
}

extension JOSEHeader {
  /// Decodes and checks the first part of a token.
  init(part: RawSpan, limits: TokenLimits) throws(JOSEError) {
    self = try RecentHeaders.shared.header(of: part, limits: limits) { () throws(JOSEError) in
      guard let text = Base64URL.decode(part), !text.isEmpty else {
        throw JOSEError(.malformedToken, "header is empty or not base64url")
      }
      return try JOSEHeader(parameters: TokenJSON.object(text, limits: limits, what: "header"))
    }
  }
}

/// Parsing of the JSON in tokens: UTF-8, one object, unique member names, bounded depth.
enum TokenJSON {
  /// The object in `text`; `malformed_token` or `duplicate_claim`, with `what` at fault, when there is none.
  static func object(_ text: [UInt8], limits: TokenLimits, what: String) throws(JOSEError) -> JSONObject {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth).parse(text)
    } catch {
      let code: JOSEError.Code = error.kind == .duplicateMember ? .duplicateClaim : .malformedToken
      throw JOSEError(code, "\(what): \(error)")
    }
    guard let object = value.objectValue else {
      throw JOSEError(.malformedToken, "\(what) is not a JSON object")
    }
    return object
  }
}

extension JOSEHeader {
  /// The names that RFC 7515, 7516 and 7518 define, which must not be listed in `crit`.
  private static let registeredNames: Set<String> = [
    "alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit", "enc", "zip", "epk", "apu",
    "apv",
    "iv", "tag", "p2s", "p2c",
  ]

  /// Checks `crit` (RFC 7515 section 4.1.11): a non-empty array of distinct names of extensions, each present in the
  /// header and each understood. No extension is supported, so a well-formed `crit` is an error as well, also one with
  /// `b64` (RFC 7797), which JWTs must not use (its section 7).
  static func checkCritical(_ parameters: JSONObject) throws(JOSEError) {
    if let unencoded = parameters["b64"], unencoded != .bool(true) {
      throw JOSEError(.unsupportedCrit, "unencoded payloads are not supported", claim: "b64")
    }
    guard let value = parameters["crit"] else { return }
    guard let names = value.arrayValue?.map(\.stringValue), !names.isEmpty, !names.contains(nil) else {
      throw JOSEError(.unsupportedCrit, "crit is not a non-empty array of strings", claim: "crit")
    }
    let present = names.compactMap { $0 }
    guard Set(present).count == present.count, registeredNames.isDisjoint(with: present),
      present.allSatisfy({ parameters[$0] != nil })
    else {
      throw JOSEError(.unsupportedCrit, "crit repeats a name, or names a registered or absent parameter", claim: "crit")
    }
    throw JOSEError(.unsupportedCrit, "crit names an extension that is not understood", claim: "crit")
  }
}

extension JOSEHeader {
  /// Throws `wrong_token_type` for another kind of token (RFC 8725 section 3.11): `typ` must be one of `accepted`, or
  /// absent where that is allowed.
  ///
  /// Media types are compared without regard to case, and `application/` may be left out (RFC 7515 section 4.1.9).
  public func requireType(_ accepted: [String], mayBeAbsent: Bool) throws(JOSEError) {
    guard let type else {
      guard mayBeAbsent else { throw JOSEError(.wrongTokenType, "typ is missing", claim: "typ") }
      return
    }
    guard accepted.contains(where: { Self.isSameMediaType(type, $0) }) else {
      throw JOSEError(.wrongTokenType, "typ is that of another kind of token", claim: "typ")
    }
  }

  /// Whether the content is itself a token: `cty` is `JWT` (RFC 7519 section 5.2).
  public var isNested: Bool { contentType.map { Self.isSameMediaType($0, "JWT") } ?? false }

  private static func isSameMediaType(_ left: String, _ right: String) -> Bool {
    left.hasSameBytes(as: right) || withoutPrefix(left).hasSameASCIILetters(as: withoutPrefix(right))
  }

  private static func withoutPrefix(_ type: String) -> Substring {
    let prefix = "application/"
    guard Substring(type.utf8.prefix(prefix.utf8.count)).hasSameASCIILetters(as: prefix) else { return type[...] }
    let rest = type.utf8.dropFirst(prefix.utf8.count)
    return rest.contains(UInt8(ascii: "/")) ? type[...] : Substring(rest)
  }
}

extension JOSEHeader {
  /// The parameters with which a sender supplies or locates the key to verify with.
  private static let keyParameters = ["jwk", "jku", "x5u", "x5c"]

  /// Throws `forbidden_header` when the header contains or refers to a key. Without this call such parameters are
  /// ignored.
  public func rejectEmbeddedKeys() throws(JOSEError) {
    guard let name = Self.keyParameters.first(where: { parameters[$0] != nil }) else { return }
    throw JOSEError(.forbiddenHeader, "the header contains or refers to a key", claim: name)
  }

  /// The public key in `jwk`, for DPoP proofs only (RFC 9449 section 4.2). It proves nothing until its thumbprint has
  /// been compared with a trusted one.
  ///
  /// `malformed_token` when there is none, `invalid_key` when it has private members, is symmetric or unusable.
  public func untrustedProofKey() throws(JOSEError) -> JWK {
    guard let members = parameters["jwk"]?.objectValue else {
      throw JOSEError(.malformedToken, "jwk is missing or not an object", claim: "jwk")
    }
    guard !KeyMaterial.privateMemberNames.contains(where: { members[$0] != nil }) else {
      throw JOSEError(.invalidKey, "jwk holds private members", claim: "jwk")
    }
    // A client makes its proof by the standard; what published keys may have has no place here (RFC 7518 section 2).
    guard ["n", "e", "x", "y"].allSatisfy({ members[$0]?.stringValue?.utf8.last != UInt8(ascii: "=") }) else {
      throw JOSEError(.invalidKey, "jwk holds padded base64url", claim: "jwk")
    }
    return try JWK(json: members)
  }
}

/// A cache of the headers parsed last, by their text: the tokens of one issuer have the same few headers, and parsing
/// one is half of the cost of reading a token.
///
/// The result depends on the text and the limits alone, and both are compared. Number and size of entries are bounded.
final class RecentHeaders: Sendable {
  /// The cache of this process.
  static let shared = RecentHeaders()

  private static let capacity = 8
  private static let maximumByteCount = 512

  private struct Entry {
    let text: [UInt8]
    let limits: TokenLimits
    let header: JOSEHeader
  }

  private struct State {
    var entries: [Entry] = []
    var oldest = 0
  }

  private let state = Locked(State())

  /// The header of `text`, from the cache or else parsed with `parse`.
  func header(
    of text: RawSpan, limits: TokenLimits, parse: () throws(JOSEError) -> JOSEHeader
  ) throws(JOSEError) -> JOSEHeader {
    guard text.byteCount > 0, text.byteCount <= Self.maximumByteCount else { return try parse() }
    let known = text.withUnsafeBytes { text in
      state.withLock { state in
        state.entries.first { $0.limits == limits && Self.isSame($0.text, text) }?.header
      }
    }
    if let known { return known }
    let header = try parse()
    let entry = Entry(text: text.withUnsafeBytes { Array($0) }, limits: limits, header: header)
    state.withLock { state in
      guard state.entries.count == Self.capacity else { return state.entries.append(entry) }
      state.entries[state.oldest] = entry
      state.oldest = (state.oldest + 1) % Self.capacity
    }
    return header
  }

  private static func isSame(_ kept: [UInt8], _ text: UnsafeRawBufferPointer) -> Bool {
    guard kept.count == text.count, let text = text.baseAddress else { return false }
    return memcmp(kept, text, kept.count) == 0
  }
}

extension JOSEHeader: ConciseStringConvertible {
  /// Algorithm, type and key.
  public var description: String {
    Concise.text(
      "alg \(Concise.name(algorithm))", type.map { "typ \(Concise.name($0))" }, keyID.map { "kid \(Concise.name($0))" })
  }
}
