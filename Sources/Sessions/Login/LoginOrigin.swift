public import PosternSupport

/// The part of a program that a login comes from, where parts of it have fewer rights than others.
public struct LoginOrigin: Sendable {
  /// The parts that it came through, the outermost first; empty: the program itself. A login can be completed through
  /// the part that began it, and through those that this part is in.
  public var path: [String] = []
  /// Whether the new session may end older ones of any part of the program when the uid is at its limit.
  public var mayEndOthers = true

  /// A login of the program itself.
  public init() {}

  /// Whether a login that came through `path` may be completed here.
  func covers(_ path: [String]) -> Bool { self.path.last.map(path.contains) ?? true }
}

extension LoginOrigin: ConciseStringConvertible {}
