import LocalServer
import PosternJSONRPC
import PosternSupport
import Sidecar

/// A request without a body, which has a task only where its fetch needs one.
final class BodilessRequest: BegunResponse {
  private enum Running {
    case notYet
    case call(any BegunCall)
    case task(Task<Void, Never>)
    case cancelled
  }

  private let fetch: ForwardedFetch
  private let exchange: ForwardedExchange
  private let service: SidecarService
  private let caller: PeerConnection
  private let executor: (any TaskExecutor)?
  private let running = Locked(Running.notYet)

  init(
    _ fetch: ForwardedFetch, _ exchange: ForwardedExchange, _ service: SidecarService, _ caller: PeerConnection,
    on executor: (any TaskExecutor)?
  ) {
    self.fetch = fetch
    self.exchange = exchange
    self.service = service
    self.caller = caller
    self.executor = executor
  }

  func run(whenEnded: @escaping @Sendable () -> Void) {
    switch service.begin(fetch, for: exchange, by: caller) {
    case .answered(let outcome): exchange.end(with: outcome.map { _ in }, whenEnded: whenEnded)
    case .begun(let call):
      keep(.call(call))
      call.run { [exchange] outcome in exchange.end(with: outcome.map { _ in }, whenEnded: whenEnded) }
    case .work(let work):
      keep(
        .task(
          Task(executorPreference: executor) { [exchange] in
            let outcome = await work()
            exchange.end(with: outcome.map { _ in }, whenEnded: whenEnded)
          }))
    }
  }

  private func keep(_ running: Running) {
    let isCancelled = self.running.withLock { current in
      if case .cancelled = current { return true }
      current = running
      return false
    }
    if isCancelled { Self.cancel(running) }
  }

  func cancel() {
    Self.cancel(
      running.withLock { current in
        defer { current = .cancelled }
        return current
      })
  }

  private static func cancel(_ running: Running) {
    switch running {
    case .call(let call): call.cancel()
    case .task(let task): task.cancel()
    case .notYet, .cancelled: break
    }
  }
}
