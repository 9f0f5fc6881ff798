import AuthEngine
import PosternSupport
import PosternTestSupport

/// What completions were told.
final class Outcomes: Sendable {
  private let told = Locked<[Result<ResourceResponse, ResourceError>]>([])

  func take(_ outcome: Result<ResourceResponse, ResourceError>) { told.withLock { $0.append(outcome) } }

  /// The one outcome, once it is there; nil when none comes or another one follows.
  var only: Result<ResourceResponse, ResourceError>? {
    get async {
      guard await eventually({ self.told.withLock { !$0.isEmpty } }) else { return nil }
      for _ in 0..<20 { await Task.yield() }
      return told.withLock { $0.count == 1 ? $0[0] : nil }
    }
  }
}

extension Result {
  var success: Success? { try? get() }

  var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
