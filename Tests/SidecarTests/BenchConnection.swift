import Glibc
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternSupport
import Sidecar

extension SidecarBench {
  static var ownUID: UInt32 { getuid() }
}

/// One connection of a `SidecarBench`.
final class BenchConnection: Sendable {
  private let answers: AsyncStream<JSONValue>
  let conversation: JSONRPCConnection
  let number: UInt64
  private let nextID = Locked<Int64>(1)
  private let iterator: Locked<AsyncStream<JSONValue>.Iterator>

  init(_ bench: SidecarBench, _ number: UInt64, _ peer: Peer, _ narrowing: Narrowing? = nil) {
    let (answers, continuation) = AsyncStream.makeStream(of: JSONValue.self)
    self.answers = answers
    self.number = number
    iterator = Locked(answers.makeAsyncIterator())
    conversation = bench.service.open(
      connection: number, peer: peer,
      output: JSONRPCConnection.Output(
        write: { bytes in
          if let json = try? JSONParser(maxDepth: 2048, allowsNUL: true).parse(bytes) { continuation.yield(json) }
        },
        close: { continuation.finish() }),
      narrowing: narrowing)
  }

  /// Sends one text.
  func send(_ text: String) {
    Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
  }

  /// The connection is gone.
  func close(_ bench: SidecarBench) { bench.service.closed(connection: number, conversation: conversation) }

  /// The next text the sidecar sends; nil when it has closed.
  func next() async -> JSONValue? {
    var iterator = iterator.withLock { $0 }
    return await iterator.next()
  }

  /// Calls a method and waits for the next text.
  func call(_ method: String, _ params: JSONValue? = nil) async -> JSONValue {
    start(method, params)
    return await next() ?? .null
  }

  /// Calls a method without waiting; returns its id.
  @discardableResult
  func start(_ method: String, _ params: JSONValue? = nil) -> Int64 {
    let id = nextID.withLock { id in
      defer { id += 1 }
      return id
    }
    var request: JSONObject = ["jsonrpc": "2.0", "id": .integer(id), "method": .string(method)]
    if let params { request["params"] = params }
    send(JSONWriter().string(.object(request)))
    return id
  }
}
