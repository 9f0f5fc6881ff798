import ArgumentParser

/// The token a command works on.
struct TokenArgument: ParsableArguments {
  @Argument(help: "The token; - (or nothing) reads it from standard input, which keeps it out of the process list.")
  var token: String = "-"

  /// The token, without the line end that a pipe adds.
  func read() -> String {
    guard token == "-" else { return token }
    // Larger than any token: the method rejects it for its size.
    var bytes = StandardInput.readAll(atMost: 1 << 17)
    while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
