public import PosternSupport

/// How long a body may take that comes in pieces and may have no end, such as the events of a server.
public struct StreamBounds: Sendable, Hashable {
  /// How long the server may be silent. While whoever takes the body does not keep up it is not the server that is
  /// silent.
  public var silence: Duration
  /// When all of it must be over.
  public var deadline: Deadline

  /// Bounds of the given parts.
  public init(silence: Duration, deadline: Deadline = .never) {
    self.silence = silence
    self.deadline = deadline
  }
}
