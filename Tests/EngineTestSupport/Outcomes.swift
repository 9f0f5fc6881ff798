package import AuthEngine
import PosternSupport
import PosternTestSupport

/// Collects the outcomes of completions.
package final class Outcomes: Sendable {
  private let outcomes = Locked<[Result<ResourceResponse, ResourceError>]>([])

  package init() {}

  package func take(_ outcome: Result<ResourceResponse, ResourceError>) { outcomes.withLock { $0.append(outcome) } }

  /// The one outcome, once it is there; nil when none comes or another one follows.
  package var only: Result<ResourceResponse, ResourceError>? {
    get async {
      guard await eventually({ self.outcomes.withLock { !$0.isEmpty } }) else { return nil }
      for _ in 0..<20 { await Task.yield() }
      return outcomes.withLock { $0.count == 1 ? $0[0] : nil }
    }
  }
}

extension Result {
  package var success: Success? { try? get() }

  package var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
