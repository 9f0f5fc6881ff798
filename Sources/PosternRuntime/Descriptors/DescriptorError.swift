import PosternSupport

/// Why a body cannot be read from a descriptor, or written to it.
public enum DescriptorError: Error, Sendable, Hashable, CustomStringConvertible {
  /// It is nothing that a body can be read from or written to, or not open for that.
  case unusable(String)
  /// The reader has gone.
  case readerGone
  /// The other side has done nothing for as long as the fetch may take.
  case silent
  /// The source ended before the declared length.
  case short(read: Int64, declared: Int64)
  /// A system call failed.
  case failed(errno: CInt)
  /// The process has no thread or descriptor to give.
  case exhausted

  static let wrongKind = DescriptorError.unusable(
    "the descriptor is no pipe, connected stream socket, file or character device")

  /// A clause for the caller.
  public var description: String {
    switch self {
    case .unusable(let reason): reason
    case .readerGone: "the reader of the descriptor has closed it"
    case .silent: "the other end of the descriptor did nothing for too long"
    case .short(let read, let declared): "the body ended after \(read) of \(declared) bytes"
    case .failed(let errno): "the descriptor failed: \(SystemError.text(errno))"
    case .exhausted: "the sidecar has no descriptor or thread left"
    }
  }
}
