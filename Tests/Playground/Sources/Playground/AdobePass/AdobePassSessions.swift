import PosternJSON
import PosternSupport

/// The parameters that a login needs, as far as they are known.
struct AdobePassParameters: Sendable {
  var mvpd: String?
  var domainName: String?
  var redirectURL: String?

  /// The parameters of `request`, checked.
  init(_ request: AdobePassRequest) throws(AdobePassError) {
    mvpd = request.parameters["mvpd"]
    domainName = request.parameters["domainName"]
    redirectURL = request.parameters["redirectUrl"]
    if let mvpd { _ = try AdobePassMVPD.named(mvpd) }
    if let domainName {
      guard domainName.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-") }) else {
        throw AdobePassError("invalid_domain")
      }
    }
    if let redirectURL, !Self.isAbsolute(redirectURL) { throw AdobePassError("invalid_parameter_redirect_url") }
  }

  /// Takes over what `other` has.
  mutating func take(_ other: AdobePassParameters) {
    mvpd = other.mvpd ?? mvpd
    domainName = other.domainName ?? domainName
    redirectURL = other.redirectURL ?? redirectURL
  }

  /// The names of those that are missing. The form's `domainName` is reported as `domain`, as published samples do.
  var missing: [String] {
    [("mvpd", mvpd), ("domain", domainName), ("redirectUrl", redirectURL)].filter { $0.1 == nil }.map(\.0)
  }

  /// Whether `text` is a URL with a scheme (RFC 3986 section 3.1) and an absolute path, as applications register them.
  static func isAbsolute(_ text: String) -> Bool {
    guard let end = text.firstRange(of: ":/") else { return false }
    let scheme = text[..<end.lowerBound]
    return scheme.first?.isLetter == true
      && scheme.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
      && end.upperBound != text.endIndex && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value < 0x7F }
  }
}

/// A login that is under way, or was.
struct AdobePassSession: Sendable {
  let code: String
  let id: String
  let binding: AdobePassBinding
  /// The users that the device's tokens named.
  let subjects: AdobePassSubjects
  let information: JSONObject
  let address: String?
  let notBefore: Int64
  var notAfter: Int64
  var parameters: AdobePassParameters
  /// Whether a newer one of the same device has replaced it.
  var isReplaced = false
}

/// The sessions by code.
final class AdobePassSessions: Sendable {
  /// No letters or digits that look alike.
  private static let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
  private static let limit = 10_000

  private let sessions = Locked<[String: AdobePassSession]>([:])

  /// Begins a session of the device that `request` comes from, which ends its older ones.
  func begin(_ request: AdobePassRequest, _ parameters: AdobePassParameters, at now: Int64, until end: Int64)
    -> AdobePassSession
  {
    let session = AdobePassSession(
      code: Self.code(), id: RandomText.uuid(), binding: request.binding, subjects: request.subjects,
      information: request.information, address: request.address, notBefore: now, notAfter: end, parameters: parameters)
    sessions.withLock { sessions in
      if sessions.count >= Self.limit { sessions = [:] }
      for (code, old) in sessions where old.binding == request.binding { sessions[code]?.isReplaced = old.code == code }
      sessions[session.code] = session
    }
    return session
  }

  /// The session of `code` for `serviceProvider`. An unknown code and a session that is over have errors of their own.
  func session(_ code: String, of serviceProvider: String, at now: Int64) throws(AdobePassError) -> AdobePassSession {
    guard let session = sessions.withLock({ $0[code] }), session.binding.serviceProvider == serviceProvider else {
      throw AdobePassError("invalid_parameter_code")
    }
    guard !session.isReplaced, now < session.notAfter else { throw AdobePassError("invalid_authentication_session") }
    return session
  }

  /// The session with this identifier, while it lasts.
  func session(id: String, at now: Int64) -> AdobePassSession? {
    sessions.withLock { $0.values.first { $0.id == id && !$0.isReplaced && now < $0.notAfter } }
  }

  /// Completes the parameters of a session.
  func complete(_ code: String, with parameters: AdobePassParameters) {
    sessions.withLock { $0[code]?.parameters.take(parameters) }
  }

  /// Ends the sessions of all codes at `now`.
  func endAll(at now: Int64) {
    sessions.withLock { sessions in
      for code in sessions.keys { sessions[code]?.notAfter = now }
    }
  }

  /// Forgets them.
  func clear() { sessions.withLock { $0 = [:] } }

  /// All of them, for tests.
  var json: JSONValue {
    .array(
      sessions.withLock { $0.values.sorted { ($0.notBefore, $0.code) < ($1.notBefore, $1.code) } }
        .map { session in
          [
            "code": .string(session.code), "serviceProvider": .string(session.binding.serviceProvider),
            "device": .string(session.binding.device), "mvpd": session.parameters.mvpd.map(JSONValue.string) ?? .null,
            "replaced": .bool(session.isReplaced), "notAfter": .integer(session.notAfter),
          ]
        })
  }

  private static func code() -> String {
    String(RandomText.next().utf8.prefix(7).map { alphabet[Int($0) % alphabet.count] })
  }
}
