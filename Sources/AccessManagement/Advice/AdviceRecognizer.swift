public import HTTPMessages
import PosternSupport

/// Finds policy advice in answers.
///
/// Looks into `WWW-Authenticate` first, then at the target of a redirect, then into a JSON body, and ends where it
/// finds something. Everything it reads is bounded; what is malformed or too large is no advice.
public struct AdviceRecognizer: Sendable {
  /// Which answers are looked at.
  public enum Scope: Sendable, Hashable {
    /// Those that refuse a request: redirects, and the statuses 401 and 403.
    case refusals
    /// All. Only an advice map that is the whole body needs one of the statuses 401 and 403 still.
    case everyAnswer
  }

  /// The largest body that is looked into.
  static let maxBodyBytes = 256 << 10
  private static let maxLocationBytes = 128 << 10

  /// Which answers are looked at.
  public var scope: Scope
  /// The access manager whose advice counts, where redirects and challenges name one; nil: any.
  public var accessManager: HTTPURL?

  /// A recognizer.
  public init(scope: Scope = .refusals, accessManager: HTTPURL? = nil) {
    self.scope = scope
    self.accessManager = accessManager
  }

  /// The advices of `response`, which `url` gave; nil when there is none. Without `url` a redirect must be to an
  /// absolute URL to be compared with the access manager's.
  public func finding(in response: HTTPResponse, from url: HTTPURL? = nil) -> AdviceFinding? {
    let isRefusal = response.status == 401 || response.status == 403
    if isRefusal || scope == .everyAnswer {
      let advices = advices(inChallengesOf: response.fields)
      if !advices.isEmpty { return AdviceFinding(advices: advices, source: .header) }
    }
    if (300..<400).contains(response.status) {
      let advices = advices(inRedirectOf: response.fields, from: url)
      if !advices.isEmpty { return AdviceFinding(advices: advices, source: .redirect) }
    }
    guard isRefusal || scope == .everyAnswer, mayBeJSON(response.body) else { return nil }
    let advices = AdviceMap.advices(in: response.body, bare: isRefusal ? .named : .ignored)
    return advices.isEmpty ? nil : AdviceFinding(advices: advices, source: .body)
  }

  /// In `Location`: `…?realm=/&authIndexType=composite_advice&authIndexValue=…`.
  private func advices(inRedirectOf fields: HTTPFields, from url: HTTPURL?) -> [PolicyAdvice] {
    let locations = fields.values(of: "Location")
    guard locations.count == 1, locations[0].utf8.count <= Self.maxLocationBytes else { return [] }
    let halves = locations[0].split(atByte: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, isOfAccessManager(String(halves[0]), from: url) else { return [] }
    var parameters: [String: String] = [:]
    for part in halves[1].prefix(beforeBytes: "#").split(atByte: "&") {
      let pair = part.split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, let name = AdviceText.decoded(String(pair[0])) else { continue }
      // Of two that differ nobody knows which one is meant.
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

  /// Whether `place` is of the access manager's origin, where that matters.
  func isOfAccessManager(_ place: String, from url: HTTPURL?) -> Bool {
    guard let accessManager else { return true }
    let target = url.map { url in try? url.resolving(reference: place) } ?? (try? HTTPURL(place))
    return target?.origin == accessManager.origin
  }

  private func mayBeJSON(_ body: [UInt8]) -> Bool {
    guard body.count <= Self.maxBodyBytes else { return false }
    let first = body.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }
}
