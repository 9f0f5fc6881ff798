/// One step of a server that misbehaves.
enum FaultStep: Sendable {
  /// These bytes.
  case send([UInt8])
  /// These bytes again and again, at most so often.
  case flood([UInt8], times: Int)
  /// These bytes one by one, each after so many milliseconds.
  case drip([UInt8], milliseconds: Int)
  /// Nothing for so many milliseconds.
  case wait(milliseconds: Int)
  /// Nothing more until the client goes.
  case stall
  /// An orderly end of the connection (FIN).
  case close
  /// A reset (RST).
  case reset

  /// Text as bytes.
  static func send(_ text: String) -> FaultStep { .send(Array(text.utf8)) }

  /// A header block of `status` with these lines.
  static func head(_ status: String = "200 OK", _ lines: String...) -> FaultStep {
    .send("HTTP/1.1 \(status)\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n")
  }
}
