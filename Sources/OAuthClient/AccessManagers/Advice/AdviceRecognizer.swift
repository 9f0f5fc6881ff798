public import HTTPMessages
public import PosternSupport

/// Finds policy advice in answers.
///
/// Searches `WWW-Authenticate` first, then the target of a redirect, then a JSON body, and ends at the first result.
/// Everything it reads is bounded; malformed or too large advice is ignored.
public struct AdviceRecognizer: Sendable {
  /// The answers that are searched.
  public enum Scope: Sendable, Hashable {
    /// Answers that deny a request: redirects, the statuses 401 and 403, and further ones (`statuses`).
    case denials
    /// All answers. An advice map that is the whole body still needs a status that denies a request.
    case everyAnswer
  }

  /// The largest body that is searched.
  static let maxBodyBytes = 256 << 10
  private static let maxLocationBytes = 128 << 10

  /// The answers that are searched.
  public var scope: Scope
  /// The access manager whose advice counts, where redirects and challenges name one; nil: any.
  public var accessManager: HTTPURL?

  /// Further statuses that deny a request.
  public var statuses: Set<Int> = []

  /// Whether the bodies of successful responses (2xx) are searched, where `Content-Type` states JSON: for the member
  /// `advices` only. In the scope `everyAnswer` they are searched in any case.
  public var inSuccess = false

  /// A recognizer.
  public init(scope: Scope = .denials, accessManager: HTTPURL? = nil) {
    self.scope = scope
    self.accessManager = accessManager
  }

  /// Whether a request that is answered with `status` has had no effect: it was redirected, or rejected for what it
  /// lacked.
  package static func deniesWithoutEffect(_ status: Int) -> Bool {
    (300..<400).contains(status) || status == 401 || status == 403
  }

  /// Returns the advices of `response` from `url`; nil when there is none. Without `url` a redirect must be to an
  /// absolute URL to be compared with the access manager's.
  public func finding(in response: HTTPResponse, from url: HTTPURL? = nil) -> AdviceFinding? {
    let isDenial = [401, 403].contains(response.status) || statuses.contains(response.status)
    if isDenial || scope == .everyAnswer {
      let advices = advices(inChallengesOf: response.fields)
      if !advices.isEmpty { return AdviceFinding(advices: advices, source: .header) }
    }
    if (300..<400).contains(response.status) {
      let advices = advices(inRedirectOf: response.fields, from: url)
      if !advices.isEmpty { return AdviceFinding(advices: advices, source: .redirect) }
    }
    guard isDenial || scope == .everyAnswer || inSuccess && isJSONSuccess(response), mayBeJSON(response.body) else {
      return nil
    }
    let advices = AdviceMap.advices(in: response.body, bare: isDenial ? .named : .ignored)
    return advices.isEmpty ? nil : AdviceFinding(advices: advices, source: .body)
  }

  /// Returns the advices in `Location`: `…?realm=/&authIndexType=composite_advice&authIndexValue=…`.
  private func advices(inRedirectOf fields: HTTPFields, from url: HTTPURL?) -> [PolicyAdvice] {
    let locations = fields.values(of: "Location")
    guard locations.count == 1, locations[0].utf8.count <= Self.maxLocationBytes else { return [] }
    let halves = locations[0].split(atByte: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, isOfAccessManager(String(halves[0]), from: url) else { return [] }
    var parameters: [String: String] = [:]
    for part in halves[1].prefix(beforeBytes: "#").split(atByte: "&") {
      let pair = part.split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, let name = AdviceText.decoded(String(pair[0])) else { continue }
      // Two different values are ambiguous.
      guard parameters.updateValue(String(pair[1]), forKey: name).map({ $0 == pair[1] }) ?? true else {
        if name == "authIndexType" || name == "authIndexValue" { return [] }
        continue
      }
    }
    guard parameters["authIndexType"].flatMap(AdviceText.decoded) == "composite_advice",
      let value = parameters["authIndexValue"]
    else { return [] }
    return AdviceText.composite(value, realm: parameters["realm"].flatMap(AdviceText.decoded))
  }

  /// Whether `reference` is of the access manager's origin, where that matters.
  func isOfAccessManager(_ reference: String, from url: HTTPURL?) -> Bool {
    guard let accessManager else { return true }
    let target = url.map { url in try? url.resolving(reference: reference) } ?? (try? HTTPURL(reference))
    return target?.origin == accessManager.origin
  }

  private func isJSONSuccess(_ response: HTTPResponse) -> Bool {
    (200..<300).contains(response.status) && response.fields["Content-Type"].flatMap(MediaType.init)?.isJSON == true
  }

  private func mayBeJSON(_ body: [UInt8]) -> Bool {
    guard body.count <= Self.maxBodyBytes else { return false }
    let first = body.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }
}

extension AdviceRecognizer {
  private static let maxACRValues = 32

  /// Returns the advices in `WWW-Authenticate`, in the order of the challenges.
  func advices(inChallengesOf fields: HTTPFields) -> [PolicyAdvice] {
    CompositeAdvice.distinct(AuthenticationChallenge.all(in: fields).flatMap(advices(in:)))
  }

  private func advices(in challenge: AuthenticationChallenge) -> [PolicyAdvice] {
    if challenge.isScheme("SSOADVICE") { return policyAdvices(in: challenge) }
    if challenge.isScheme("UMA") {
      guard let ticket = challenge["ticket"], (1...CompositeAdvice.maxValueBytes).contains(ticket.utf8.count) else {
        return []
      }
      return [PolicyAdvice(type: PolicyAdvice.Name.umaTicket, value: ticket, realm: challenge["realm"])]
    }
    guard challenge.isScheme("Bearer") || challenge.isScheme("DPoP"),
      challenge["error"] == PolicyAdvice.Name.insufficientUserAuthentication
    else { return [] }
    return [authenticationAdvice(in: challenge)]
  }

  /// `SSOADVICE realm="/",advices="<base64 of a JSON map>",am_uri="…"`.
  private func policyAdvices(in challenge: AuthenticationChallenge) -> [PolicyAdvice] {
    guard challenge["am_uri"].map({ isOfAccessManager($0, from: nil) }) ?? true,
      let encoded = challenge["advices"], let json = AdviceText.base64(encoded)
    else { return [] }
    return AdviceMap.advices(in: json, bare: .accepted, realm: challenge["realm"])
  }

  /// Returns the advice of a challenge by RFC 9470 section 3; a malformed `max_age` is ignored.
  private func authenticationAdvice(in challenge: AuthenticationChallenge) -> PolicyAdvice {
    let contexts = challenge["acr_values"].map { $0.split(atByte: " ").prefix(Self.maxACRValues).map(String.init) }
    let age = challenge["max_age"].flatMap { text in
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
    return .insufficientUserAuthentication(acrValues: contexts.flatMap { $0.isEmpty ? nil : $0 }, maxAge: age)
  }
}

/// The advices of one answer.
public struct AdviceFinding: Sendable, Hashable {
  /// The part of an answer that contains advices.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// `WWW-Authenticate`.
    case header
    /// The `Location` of a redirect.
    case redirect
    /// The body.
    case body
  }

  /// The advices in order, each once; never empty.
  public let advices: [PolicyAdvice]
  /// The part of the answer that contains them.
  public let source: Source
}

extension AdviceRecognizer: ConciseStringConvertible {
  /// The scope.
  public var description: String {
    Concise.text("recognizer of advice in \(scope)", accessManager.map { "of \($0.shown)" })
  }
}

extension AdviceFinding: ConciseStringConvertible {
  /// The advice, and its source.
  public var description: String {
    Concise.text(Concise.list(advices.map(\.type), of: "advice"), "from \(source.rawValue)")
  }
}
