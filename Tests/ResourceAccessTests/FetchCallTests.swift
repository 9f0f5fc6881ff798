import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A transport that answers from its callback, or not before it is told to.
private final class CallbackTransport: HTTPTransport, TransferHandle {
  typealias WhenEnded = @Sendable (Result<HTTPResponse, TransportError>) -> Void

  private struct Waiting {
    var whenEnded: WhenEnded?
    var isCancelled = false
  }

  private let answersAtOnce: Bool
  private let waiting = Locked(Waiting())

  init(answersAtOnce: Bool) { self.answersAtOnce = answersAtOnce }

  var isCancelled: Bool { waiting.withLock { $0.isCancelled } }

  func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
    .token("a")
  }

  func start(_ request: HTTPRequest, options: TransferOptions, whenEnded: @escaping WhenEnded) -> (any TransferHandle)?
  {
    if answersAtOnce {
      whenEnded(.success(.status(request.fields["Authorization"] == nil ? 200 : 202)))
      return nil
    }
    waiting.withLock { $0.whenEnded = whenEnded }
    return self
  }

  func answer() { waiting.withLock { $0.whenEnded.take() }?(.success(.status(204))) }

  func cancel() {
    waiting.withLock { waiting in
      waiting.isCancelled = true
      return waiting.whenEnded.take()
    }?(.failure(TransportError(code: .cancelled, outcome: .sentNoReply, detail: "cancelled")))
  }
}

/// A fetch without a task of its own: nothing is waited for but the transfer.
@Suite struct FetchCallTests {
  private static let request = ResourceRequest(path: "x")

  private static func fetcher(_ transport: any HTTPTransport) -> ResourceFetcher {
    let services = Services.testing(transport, clock: ManualClock())
    return ResourceFetcher(
      services, deviceTokens: ClientCredentialsTokens(services, discovery: ProviderDiscovery(services)))
  }

  @Test("a fetch without a token, and one whose token is in memory, end within the call when the transport does")
  func atOnce() async throws {
    let fetcher = Self.fetcher(CallbackTransport(answersAtOnce: true))
    let statuses = Locked<[Int]>([])
    let take: @Sendable (Result<ResourceResponse, ResourceError>) -> Void = { result in
      statuses.withLock { $0.append((try? result.get())?.status ?? 0) }
    }
    fetcher.call(Self.request, from: try .testing(authentication: .none)).start(whenEnded: take)
    #expect(statuses.withLock { $0 } == [200])
    // The first one requests the token.
    _ = try await fetcher.fetch(Self.request, from: try .testing())
    fetcher.call(Self.request, from: try .testing()).start(whenEnded: take)
    #expect(statuses.withLock { $0 } == [200, 202])
  }

  @Test("a fetch continues where the transport ends its transfer, once")
  func later() throws {
    let transport = CallbackTransport(answersAtOnce: false)
    let statuses = Locked<[Int?]>([])
    let task = NetworkTask(request: Self.request, clock: ManualClock())
    var options = FetchOptions()
    options.task = task
    Self.fetcher(transport).call(Self.request, from: try .testing(authentication: .none), options: options).start {
      result in
      statuses.withLock { $0.append(try? result.get().status) }
    }
    #expect(statuses.withLock { $0 }.isEmpty && task.state == .running)
    transport.answer()
    transport.cancel()
    #expect(statuses.withLock { $0 } == [204] && task.state == .completed)
  }

  @Test("cancelling a fetch, or its task, cancels its transfer", arguments: [true, false])
  func cancel(byTask: Bool) throws {
    let transport = CallbackTransport(answersAtOnce: false)
    let errors = Locked<[ResourceError]>([])
    let task = NetworkTask(request: Self.request, clock: ManualClock())
    var options = FetchOptions()
    options.task = task
    let call = Self.fetcher(transport).call(
      Self.request, from: try .testing(authentication: .none), options: options)
    call.start { result in
      if case .failure(let error) = result { errors.withLock { $0.append(error) } }
    }
    if byTask { task.cancel() } else { call.cancel() }
    #expect(transport.isCancelled && task.state == .cancelled)
    let only = errors.withLock { $0 }
    #expect(only.map(\.code) == [.requestCancelled] && only.map(\.outcome) == [.sentNoReply])
  }

  @Test("copies of options and servers are independent of each other")
  func copies() throws {
    let options = FetchOptions(timeout: .seconds(5))
    var other = options
    other.timeout = .seconds(6)
    other.narrowing = "a"
    #expect(options.timeout == .seconds(5) && options.narrowing == nil && other.timeout == .seconds(6))
    let server = try ResourceServer.testing()
    let (own, others) = (try HTTPURL("https://api.test/base/x"), try HTTPURL("https://other.test/x"))
    #expect(server.covers(own) && !server.covers(others))
    var moved = server
    moved.baseURL = try HTTPURL("https://other.test/")
    #expect(moved.covers(others) && !moved.covers(own))
    #expect(server.covers(own) && server.name == moved.name)
  }
}
