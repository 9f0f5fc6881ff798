import PosternSupport

/// One challenge of a `WWW-Authenticate` field (RFC 9110 section 11.3).
public struct AuthenticationChallenge: Sendable, Hashable {
  /// One `name=value`.
  public struct Parameter: Sendable, Hashable {
    /// The name in lower case.
    public let name: String
    /// The value, quoting undone.
    public let value: String

    /// A parameter of `name` and `value`.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The scheme as it was sent; compare with `isScheme(_:)`.
  public let scheme: String
  /// The single token68 behind the scheme, when there is one instead of parameters.
  public let token68: String?
  /// The parameters in order.
  public let parameters: [Parameter]

  /// A challenge of the given parts.
  public init(scheme: String, token68: String? = nil, parameters: [Parameter] = []) {
    self.scheme = scheme
    self.token68 = token68
    self.parameters = parameters
  }

  /// Whether the scheme is `name`, compared without case.
  public func isScheme(_ name: String) -> Bool { scheme.hasSameASCIILetters(as: name) }

  /// The value of the first parameter of that name (lower case); a repeated one never overrides it.
  public subscript(name: String) -> String? { parameters.first { $0.name.hasSameBytes(as: name) }?.value }
}

extension AuthenticationChallenge {
  /// The challenges of all `WWW-Authenticate` lines of a response, in order.
  public static func all(in fields: HTTPFields) -> [AuthenticationChallenge] {
    parse(fields.values(of: "WWW-Authenticate"))
  }

  /// The challenges of these field values (RFC 9110 section 11.6.1): several in one value and in several values.
  ///
  /// What is malformed is skipped up to the next comma, everything around it counts. At most 64 KiB are read and
  /// at most 32 challenges of 64 parameters each are kept.
  public static func parse(_ values: [String]) -> [AuthenticationChallenge] {
    var result: [AuthenticationChallenge] = []
    var budget = 65_536
    for value in values {
      budget -= value.utf8.count
      guard budget >= 0, result.count < 32 else { break }
      var scanner = ChallengeScanner(value)
      while result.count < 32, let challenge = scanner.next() { result.append(challenge) }
    }
    return result
  }
}
