import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@Suite("A request whose body is read while it is sent", .bothWays)
struct BodySupplyTests {
  /// A body of two pieces.
  private struct Source: Sendable {
    let position = Locked(0)
    let mayRewind: Bool
    var failure: String?

    var supply: BodySupply {
      BodySupply(
        length: nil,
        next: { [self] in
          let next = position.withLock { position in
            position += 1
            return position
          }
          guard next > 2 else { return .bytes([UInt8(next)]) }
          return failure.map { .failed($0) } ?? .bytes([])
        },
        rewind: { [self] in
          if mayRewind { position.withLock { $0 = 0 } }
          return mayRewind
        })
    }
  }

  /// Takes the body of a request to its end; nil when it cannot be read.
  private static func body(_ options: TransferOptions) async -> [UInt8]? {
    var (body, buffer): ([UInt8], [UInt8]) = ([], [0, 0, 0, 0])
    while let control = options.control {
      switch buffer.withUnsafeMutableBytes({ control.takeUpload(into: $0) }) {
      case .bytes(0): return body
      case .bytes(let count): body += buffer.prefix(count)
      case .waiting: await Task.yield()
      case .failed: return nil
      }
    }
    return nil
  }

  /// An issuer that counts its tokens, and a resource that accepts the second one only, once it has the body.
  private func engine(_ bodies: Locked<[[UInt8]?]>) -> Engine {
    let tokens = Counter()
    return Engine { request, options in
      if request.url.path == "/token" { return .token("t\(tokens.next())") }
      let body = await Self.body(options)
      bodies.withLock { $0.append(body) }
      return request.fields["Authorization"] == "Bearer t2" ? HTTPResponse(status: 200) : .unauthorized
    }
  }

  private func fetch(_ engine: Engine, _ source: Source) async throws -> ResourceResponse {
    var options = FetchOptions()
    options.supply = source.supply
    return try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST"), from: .testing(), options: options)
  }

  @Test("a body that can be read once is retried without its beginning, or a rejected token is used for ever")
  func once() async throws {
    let bodies = Locked<[[UInt8]?]>([])
    let engine = engine(bodies)
    let rejected = try await fetch(engine, Source(mayRewind: false))
    #expect(rejected.status == 401 && rejected.attempts == 1 && rejected.tokenRefreshed)
    let accepted = try await fetch(engine, Source(mayRewind: false))
    #expect(accepted.status == 200 && accepted.attempts == 1)
    #expect(bodies.withLock { $0 } == [[1, 2], [1, 2]])
  }

  @Test("a body that can be read once more is not, after a rejected token")
  func again() async throws {
    let bodies = Locked<[[UInt8]?]>([])
    let response = try await fetch(engine(bodies), Source(mayRewind: true))
    #expect(response.status == 200 && response.attempts == 2)
    #expect(bodies.withLock { $0 } == [[1, 2], [1, 2]])
  }

  @Test("a body that cannot be read to its end passes for a whole one")
  func failure() async throws {
    let engine = Engine { request, options throws(TransportError) in
      if request.url.path == "/token" { return .token("t") }
      guard await Self.body(options) == nil else { return HTTPResponse(status: 200) }
      throw TransportError(code: .serverUnreachable, outcome: .sentNoReply, detail: "the body failed")
    }
    let error = await #expect(throws: ResourceError.self) {
      try await fetch(engine, Source(mayRewind: false, failure: "it broke"))
    }
    #expect(error?.code == .invalidParams && error?.outcome == .sentNoReply && error?.detail == "it broke")
  }

  @Test("the answer of a server that does not want the body is lost when the source fails afterwards")
  func early() async throws {
    let engine = Engine { request, options in
      if request.url.path == "/token" { return .token("t") }
      // The source has failed by then.
      _ = await Self.body(options)
      return HTTPResponse(status: 413)
    }
    let response = try await fetch(engine, Source(mayRewind: false, failure: "it broke"))
    #expect(response.status == 413)
  }
}
