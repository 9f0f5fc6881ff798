import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

/// An answer of an access manager's authenticate endpoint.
enum AuthenticateAnswer {
  /// A step with callbacks for the user.
  case step(Step)
  /// The journey is completed. The token is nil where the answer has no `tokenId`, empty where it is in a cookie.
  case done(tokenID: String?)
  /// The access manager rejected the login.
  case rejected(JourneyFailure)

  /// The parts of the step that the next request contains again.
  struct Step: Sendable {
    let authID: String
    let callbacks: [JSONValue]
    let stage: String?
    let header: String?
    let description: String?
  }

  /// The maximum number of callbacks, more than any page has.
  static let maxBytes = 256 << 10
  private static let maxCallbacks = 256
  private static let suspendedFault = "SuspendedAuthSessionException"

  /// Reads an answer. A success without a token is that of a login without a session (`noSession`), which a tree may
  /// require, too.
  init(_ response: HTTPResponse) throws(JourneyError) {
    func malformed(_ detail: String) -> JourneyError {
      JourneyError(.accessManager(status: response.status, code: nil), "the access manager's answer \(detail)")
    }
    let json = try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 64).parse(response.body)
    guard let object = json?.objectValue else { throw malformed("is no JSON object (\(response.status))") }
    guard response.status == 200 else {
      self = .rejected(try Self.failure(object, response.status))
      return
    }
    guard let authID = object["authId"] else {
      let tokenID = object["tokenId"]
      if let text = tokenID?.stringValue, !text.isEmpty {
        guard AccessManager.isToken(text) else { throw malformed("has a token that cannot be in a cookie") }
        self = .done(tokenID: text)
        return
      }
      // Any other answer with a status of 200, such as a page of a server in between, is no success.
      let isSuccess = object["successUrl"]?.stringValue != nil || object["realm"]?.stringValue != nil
      guard isSuccess, tokenID == nil || tokenID?.stringValue != nil else {
        throw malformed("is neither a page of a journey nor its end")
      }
      self = .done(tokenID: tokenID?.stringValue)
      return
    }
    guard let text = authID.stringValue, !text.isEmpty, let callbacks = object["callbacks"]?.arrayValue,
      callbacks.count <= Self.maxCallbacks, callbacks.allSatisfy({ JourneyCallback($0) != nil })
    else { throw malformed("is no page of a journey") }
    self = .step(
      Step(
        authID: text, callbacks: callbacks, stage: object["stage"]?.stringValue, header: object["header"]?.stringValue,
        description: object["description"]?.stringValue))
  }

  /// Reads a failure: a failed login is an answer; anything that ends the journey otherwise is an error.
  private static func failure(_ object: JSONObject, _ status: Int) throws(JourneyError) -> JourneyFailure {
    let detail = object["detail"]
    let code = detail?["errorCode"]?.stringValue ?? detail?["errorCode"]?.integerValue.map(String.init)
    let message = object["message"]?.stringValue ?? object["reason"]?.stringValue ?? ""
    guard code != "110", !message.containsBytes(of: suspendedFault) else {
      throw JourneyError(.timedOut, "the access manager has ended the journey")
    }
    guard status == 401, code == nil, !message.isEmpty else {
      throw JourneyError(.accessManager(status: status, code: code), "the access manager answered \(status)")
    }
    return JourneyFailure(code: object["code"]?.integerValue ?? Int64(status), message: message, detail: detail)
  }
}

/// The access manager's `authId`: a JWT whose signature is not checked here, of which only the expiry is read.
enum AuthenticationID {
  /// Returns how long a continuation is kept for `authID`: until its expiry, three minutes to an hour.
  static func life(of authID: String?, at now: Timestamp) -> Duration {
    let parts = (authID ?? "").split(atByte: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
      let end = (try? JSONParser(maxBytes: 256 << 10, maxDepth: 16).parse(payload))?["exp"]?.integerValue,
      (0...253_402_300_799).contains(end)
    else { return Journeys.usualLife }
    let left = Timestamp(secondsSinceEpoch: end) - now
    return min(max(left, Journeys.usualLife), Journeys.maxLife)
  }
}
