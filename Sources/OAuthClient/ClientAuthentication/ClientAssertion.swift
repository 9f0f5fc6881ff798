import JOSE
import PosternJSON
public import PosternSupport

/// `client_assertion` (RFC 7523 section 2.2): a JWT about the client that another program writes, such as a Kubernetes
/// projected token, or the file of a SPIFFE helper.
///
/// It is read for each request, so that every replacement counts at once, and it is sent as it is: its audience and its
/// life were decided when it was issued. The JWT is not verified here, but one that the issuer would reject in any case
/// is not sent.
public struct ClientAssertion: ClientAuthentication {
  /// Reads the assertion as it is now.
  public typealias Reader = @Sendable () -> Result<Secret<String>, ClientAssertionFault>

  /// The `client_assertion_type` of RFC 7523.
  public static let jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// The `client_assertion_type` of a JWT-SVID (OAuth SPIFFE Client Authentication).
  public static let jwtSPIFFE = "urn:ietf:params:oauth:client-assertion-type:jwt-spiffe"

  private let file: String
  private let type: String
  private let audience: String?
  private let clock: any EngineClock
  private let read: Reader

  /// Authentication by the assertion that `read` reads from `file`, sent as one of `type`. With `audience` an assertion
  /// without it among its audiences is not sent.
  public init(
    file: String, type: String = jwtBearer, audience: String? = nil, clock: some EngineClock, read: @escaping Reader
  ) {
    self.file = file
    self.type = type
    self.audience = audience
    self.clock = clock
    self.read = read
  }

  /// `client_assertion`.
  public var method: String { "client_assertion" }
  /// True: the file is read for each request.
  public var isReadForEachRequest: Bool { true }
  /// The reason why the assertion in the file cannot be used now; nil when it can.
  public var fault: ClientAssertionFault? { if case .failure(let fault) = current() { fault } else { nil } }

  /// Adds the assertion that is in the file now; throws without one that can be used.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    switch current() {
    case .success(let assertion): request.add(assertion.reveal(), ofType: type, by: clientID)
    case .failure(let fault): throw TokenError(.assertion(fault), "the client's assertion \(fault.phrase)")
    }
  }

  private func current() -> Result<Secret<String>, ClientAssertionFault> {
    read().flatMap { assertion in fault(in: assertion.reveal()).map { .failure($0) } ?? .success(assertion) }
  }

  /// The fault of an assertion, by its own claims; nil when it may be sent.
  private func fault(in text: String) -> ClientAssertionFault? {
    guard let token = try? CompactJWS(text),
      let members = try? token.unverifiedClaims(), let claims = try? JWTClaims(members)
    else { return .malformed }
    if members["exp"] != nil {
      guard let end = claims.expiresAt else { return .malformed }
      guard clock.wallNow < end else { return .expired }
    }
    guard let audience else { return nil }
    return claims.audiences?.contains { $0.hasSameBytes(as: audience) } ?? false ? nil : .wrongAudience
  }
}

/// The reason why a client's assertion cannot be sent. The raw value is the code that callers get.
public enum ClientAssertionFault: String, Error, Sendable, Hashable, CaseIterable {
  /// There is no such file.
  case missing = "client_assertion_missing"
  /// The file cannot be read, or is no regular file.
  case unreadable = "client_assertion_unreadable"
  /// The file is empty.
  case empty = "client_assertion_empty"
  /// The file has more than 64 KiB.
  case tooLarge = "client_assertion_too_large"
  /// The file's text is no JWT in one line, or its `exp` is no time.
  case malformed = "client_assertion_malformed"
  /// The JWT has expired.
  case expired = "client_assertion_expired"
  /// The JWT is for another audience than the configured one.
  case wrongAudience = "client_assertion_wrong_audience"

  /// The continuation of a sentence about the assertion.
  package var phrase: String {
    switch self {
    case .missing: "is missing: there is no such file"
    case .unreadable: "cannot be read: no permission, or no regular file"
    case .empty: "is missing: the file is empty"
    case .tooLarge: "is larger than 64 KiB"
    case .malformed: "is no JWT in one line"
    case .expired: "has expired, and its file was not replaced"
    case .wrongAudience: "has another audience than the configured one"
    }
  }

  /// Whether the program that writes the file may end the fault. An audience stays as the platform was configured.
  var isRetryable: Bool { self != .wrongAudience }
}

extension ClientAssertion: Hashable {
  /// Whether both are read from the same file and sent in the same way.
  public static func == (left: ClientAssertion, right: ClientAssertion) -> Bool {
    left.file == right.file && left.type == right.type && left.audience == right.audience
  }

  /// Hashes the file's path.
  public func hash(into hasher: inout Hasher) { hasher.combine(file) }
}

extension ClientAssertion: ConciseStringConvertible {
  /// The method: never the assertion.
  public var description: String { method }
}

extension ClientAssertionFault: ConciseStringConvertible {
  /// The code.
  public var description: String { rawValue }
}
