/// The protocol of a connection, which its first bytes decide. A request line of HTTP begins with a method, in capital
/// letters; header framing begins with `Content-Length`, in any case; anything else is for the framing of messages.
enum ProtocolStart: Equatable {
  case http
  case messages
  /// More bytes have to come: a method such as COPY begins as a header field does.
  case undecided

  init(_ bytes: some Collection<UInt8>) {
    guard let first = bytes.first else {
      self = .undecided
      return
    }
    guard UInt8(ascii: "A") <= first, first <= UInt8(ascii: "Z") else {
      self = .messages
      return
    }
    let field = zip(bytes, "CON".utf8).prefix { $0 & ~0x20 == $1 }
    self =
      Array(field).count == 3 ? .messages : bytes.count < 3 && Array(field).count == bytes.count ? .undecided : .http
  }
}
