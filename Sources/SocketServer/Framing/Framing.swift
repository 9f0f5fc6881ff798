/// How messages are told apart on one connection; fixed by the first non-blank byte the peer sends.
public enum Framing: Sendable, Hashable {
  /// JSON texts one after another; what is sent is one text and one line feed. Also before the first byte.
  case stream
  /// `Content-Length` header blocks as in the LSP base protocol.
  case headers
}
