/// The protocol of a connection, which its first bytes decide: a request line of HTTP begins with a method and a space.
/// Anything else is for the framing of messages.
enum ProtocolStart: Equatable {
  case http
  case messages
  /// More bytes have to come.
  case undecided

  /// The longest method; no registered one has so many letters.
  static let longestMethod = 32

  init(_ bytes: some Collection<UInt8>) {
    let method = bytes.prefix(Self.longestMethod).prefix(while: Self.mayBeInMethod)
    if let next = bytes.dropFirst(method.count).first {
      self = next == UInt8(ascii: " ") && !method.isEmpty ? .http : .messages
    } else {
      self = .undecided
    }
  }

  private static func mayBeInMethod(_ byte: UInt8) -> Bool {
    UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z") || byte == UInt8(ascii: "-")
  }
}
