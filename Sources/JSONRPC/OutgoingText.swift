import JSON

/// One text on its way to the caller.
enum OutgoingText: Sendable {
  /// Any message.
  case message(JSONValue)
  /// A response whose result has been written already.
  case response(RPCID, JSONText)
  /// The answers to a batch, in order.
  case batch([OutgoingText])

  /// The response to `id`; null where the id could not be told.
  init(_ id: RPCID?, _ outcome: Result<RPCResult, RPCFault>) {
    switch (outcome, id) {
    case (.success(.text(let result)), let id?): self = .response(id, result)
    case (.success(.value(let result)), let id): self = .message(Self.envelope(id, "result", result))
    case (.failure(let fault), let id): self = .message(Self.envelope(id, "error", fault.jsonValue))
    case (.success(.text), nil): self = .message(.null)
    }
  }

  /// Calls `body` with the bytes; they are valid during the call only.
  func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    if case .message(let json) = self { return JSONWriter().withBytes(of: json, body) }
    var bytes: [UInt8] = []
    append(to: &bytes)
    bytes.withUnsafeBytes(body)
  }

  private func append(to bytes: inout [UInt8]) {
    switch self {
    case .message(let json): JSONWriter().withBytes(of: json) { bytes.append(contentsOf: $0) }
    case .response(let id, let result):
      bytes.reserveCapacity(bytes.count + result.bytes.count + 64)
      bytes.append(contentsOf: #"{"jsonrpc":"2.0","id":"#.utf8)
      switch id {
      case .integer(let number): bytes.append(contentsOf: String(number).utf8)
      case .string: JSONWriter().withBytes(of: id.jsonValue) { bytes.append(contentsOf: $0) }
      }
      bytes.append(contentsOf: #","result":"#.utf8)
      bytes.append(contentsOf: result.bytes)
      bytes.append(UInt8(ascii: "}"))
    case .batch(let texts):
      bytes.append(UInt8(ascii: "["))
      for (position, text) in texts.enumerated() {
        if position > 0 { bytes.append(UInt8(ascii: ",")) }
        text.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    }
  }

  private static func envelope(_ id: RPCID?, _ name: String, _ value: JSONValue) -> JSONValue {
    .object(
      JSONObject(distinct: [
        JSONObject.Member(name: "jsonrpc", value: "2.0"), JSONObject.Member(name: "id", value: id?.jsonValue ?? .null),
        JSONObject.Member(name: name, value: value),
      ]))
  }
}
