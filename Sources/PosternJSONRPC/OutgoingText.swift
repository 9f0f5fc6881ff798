import PosternJSON
import PosternSupport

/// One text on its way to the caller.
enum OutgoingText: Sendable {
  /// Any message.
  case message(JSONValue)
  /// A response whose result has been written already.
  case response(RPCID, JSONText)
  /// The answers to a batch, in order.
  case batch([OutgoingText])
  /// A response with a descriptor for the caller.
  indirect case passing(RPCID?, JSONValue, PassedResult)

  /// The response to `id`; null where the id could not be determined.
  init(_ id: RPCID?, _ outcome: Result<RPCResult, RPCFault>) {
    switch (outcome, id) {
    case (.success(.text(let result)), let id?): self = .response(id, result)
    case (.success(.value(let result)), let id): self = .message(Self.envelope(id, "result", result))
    case (.success(.passing(let result, let passed)), let id): self = .passing(id, result, passed)
    case (.failure(let fault), let id): self = .message(Self.envelope(id, "error", fault.jsonValue))
    case (.success(.text), nil): self = .message(.null)
    }
  }

  /// The results with descriptors, in the order of the answers.
  var passed: [PassedResult] {
    switch self {
    case .message, .response: []
    case .passing(_, _, let passed): [passed]
    case .batch(let texts): texts.flatMap(\.passed)
    }
  }

  /// The same where its descriptors cannot be passed: errors stand for the answers that they belong to, since an answer
  /// without its descriptor would be none.
  var withoutDescriptors: OutgoingText {
    switch self {
    case .message, .response: self
    case .passing(let id, _, let passed): OutgoingText(id, .failure(passed.onFailure()))
    case .batch(let texts): .batch(texts.map(\.withoutDescriptors))
    }
  }

  /// Calls `body` with the bytes; they are valid during the call only.
  func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    if case .message(let json) = self { return JSONWriter().withBytes(of: json, body) }
    written.withBytes(body)
  }

  /// Its bytes.
  var bytes: [UInt8] { written.bytes }

  private var written: JSONText {
    // At once: a batch of large answers would be copied again with each of them, and leave holes of every size behind.
    let text = JSONComposer(capacity: expectedCount)
    write(to: text)
    return text.finished()
  }

  /// The approximate number of bytes; values that are not written yet are small.
  private var expectedCount: Int {
    switch self {
    case .message, .passing: 256
    case .response(_, let result): result.count + 64
    case .batch(let texts): texts.reduce(2) { $0 + $1.expectedCount + 1 }
    }
  }

  /// The approximate number of bytes still to be written for it; counted no further than `limit`.
  func weight(upTo limit: Int) -> Int {
    switch self {
    case .message(let json), .passing(_, let json, _): return json.weight(upTo: limit)
    // To copy what has been written takes a small part of the time.
    case .response(_, let result): return result.count / 8
    case .batch(let texts):
      var total = 0
      for text in texts where total < limit { total += text.weight(upTo: limit - total) }
      return total
    }
  }

  private func write(to text: borrowing JSONComposer) {
    switch self {
    case .message(let json): text.value(json)
    case .passing(let id, let result, _): text.value(Self.envelope(id, "result", result))
    case .response(let id, let result):
      text.literal(#"{"jsonrpc":"2.0","id":"#)
      switch id {
      case .integer(let number): text.integer(number)
      case .string(let name): text.string(name)
      }
      text.literal(#","result":"#)
      text.written(result)
      text.literal("}")
    case .batch(let answers):
      text.literal("[")
      for (position, answer) in answers.enumerated() {
        if position > 0 { text.literal(",") }
        answer.write(to: text)
      }
      text.literal("]")
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

extension JSONRPCConnection.Output {
  /// Sends `text`.
  func send(_ text: OutgoingText) {
    let passed = text.passed
    guard !passed.isEmpty else { return text.withBytes(write) }
    guard let descriptors else { return text.withoutDescriptors.withBytes(write) }
    text.withBytes { (bytes: UnsafeRawBufferPointer) in
      let numbers = passed.map(\.descriptor)
      guard bytes.count >= JSONRPCConnection.longText else {
        return descriptors.send(bytes, numbers) { text.withoutDescriptors.bytes }
      }
      // It is not kept a second time for this case: the connection goes.
      descriptors.send(bytes, numbers) {
        for result in passed { _ = result.onFailure() }
        return nil
      }
    }
  }
}
