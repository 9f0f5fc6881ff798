public import PosternJSONRPC

/// A method of the wire contract: its name, what goes in, what comes out, how it can fail. One file per method.
///
/// The method table, the OpenRPC document and the reference pages all come from these types; nothing is written next to
/// them.
public protocol RPCMethod: Sendable {
  /// The `params` object.
  associatedtype Params: RPCObject
  /// The `result`.
  associatedtype Result: Codable & Sendable

  /// The name on the wire, camelCase.
  static var name: String { get }
  /// Which lists of a peer's rule bound it. Without a default, so that a new method does not compile before it is
  /// decided.
  static var bounds: PeerBounds { get }
  /// One line.
  static var summary: String { get }
  /// Further documentation for callers; Markdown.
  static var explanation: String { get }
  /// The result, in one line.
  static var resultSummary: String { get }
  /// The errors this method adds to those every method has (`RPCErrorCode.common`).
  static var errors: [RPCErrorCode] { get }
  /// Whether it is sent without an id and never answered.
  static var isNotification: Bool { get }
}

extension RPCMethod {
  /// Nothing beyond the summary.
  public static var explanation: String { "" }
  /// None beyond the common ones.
  public static var errors: [RPCErrorCode] { [] }
  /// Answered.
  public static var isNotification: Bool { false }
}

extension RPCErrorCode {
  /// The errors of every method.
  public static let common: [RPCErrorCode] = [
    .invalidParams, .internalError, .requestCancelled, .overloaded, .peerForbidden, .shuttingDown, .deadlineExceeded,
    .auditUnavailable,
  ]
}
