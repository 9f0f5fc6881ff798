import Glibc
import PosternSupport

/// A server on 127.0.0.1 whose every byte the test decides: one thread per connection runs the script.
final class RawServer: Sendable {
  private struct State {
    var threads = 0
    var descriptors: Set<Int32> = []
    var accepted = 0
    var requests: [RawRequest] = []
    var isStopped = false
  }

  let port: Int
  private let listener: Int32
  private let state = Locked(State())
  private let script: @Sendable (RawConnection) -> Void

  init(script: @escaping @Sendable (RawConnection) -> Void) throws {
    self.script = script
    (listener, port) = try Loopback.listen(backlog: 512)
    spawn { [self] in acceptAll() }
  }

  /// Connections accepted so far.
  var accepted: Int { state.withLock { $0.accepted } }

  /// Connections open now.
  var open: Int { state.withLock { $0.descriptors.count } }

  /// Every request read so far, in the order of their ends.
  var requests: [RawRequest] { state.withLock { $0.requests } }

  func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Ends the listening and all connections, and waits for the threads.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
    shutdown(listener, Int32(SHUT_RDWR))
    while state.withLock({ $0.threads }) > 0 { usleep(500) }
    close(listener)
  }

  func record(_ request: RawRequest) { state.withLock { $0.requests.append(request) } }

  private func acceptAll() {
    while true {
      let descriptor = accept(listener, nil, nil)
      if descriptor < 0 {
        if errno == EINTR || errno == ECONNABORTED { continue }
        return
      }
      // A process started meanwhile must not hold the connection open.
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      let index = state.withLock { state -> Int? in
        guard !state.isStopped else { return nil }
        state.descriptors.insert(descriptor)
        state.accepted += 1
        return state.accepted - 1
      }
      guard let index else {
        close(descriptor)
        return
      }
      spawn { [self] in
        let connection = RawConnection(descriptor: descriptor, index: index, server: self)
        script(connection)
        state.withLock { state in
          state.descriptors.remove(descriptor)
          connection.close()
        }
      }
    }
  }

  /// Runs `work` on a thread of its own, which `stop` waits for.
  private func spawn(_ work: @escaping @Sendable () -> Void) {
    state.withLock { $0.threads += 1 }
    detachThread { [self] in
      work()
      state.withLock { $0.threads -= 1 }
    }
  }
}

/// Runs `work` on a thread that is not joined.
func detachThread(_ work: @escaping @Sendable () -> Void) {
  final class Box: Sendable {
    let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
  }
  var thread = pthread_t()
  let argument = Unmanaged.passRetained(Box(work)).toOpaque()
  let code = pthread_create(
    &thread, nil,
    { argument in
      if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().work() }
      return nil
    }, argument)
  precondition(code == 0, "no thread for a test")
  pthread_detach(thread)
}
