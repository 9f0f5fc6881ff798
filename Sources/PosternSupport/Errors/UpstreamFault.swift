/// The part that another server's response has in an error.
public struct UpstreamFault: Sendable, Hashable {
  /// Its HTTP status.
  public let status: Int?
  /// Its own error code, or the reason of the fault in it: `invalid_client`, `discovery_issuer_mismatch`.
  public let code: String?
  /// Its own description.
  public let description: String?

  /// The parts that are known; nil if neither status nor code is.
  public init?(status: Int? = nil, code: String? = nil, description: String? = nil) {
    guard status != nil || code != nil else { return nil }
    self.status = status
    self.code = code
    self.description = description
  }
}

extension UpstreamFault: CustomDebugStringConvertible, CustomReflectable {
  /// Status and code: the server's description may quote the request.
  public var debugDescription: String {
    Concise.text("another server's answer", status.map { "status \($0)" }, code.map(Concise.name))
  }
  /// Without children, as those of `ConciseStringConvertible`, which a member of the name `description` rules out.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
