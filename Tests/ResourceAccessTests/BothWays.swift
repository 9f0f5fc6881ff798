import EngineTestSupport
import Testing

/// Runs each test twice: with fetches that wait only where they must, and with fetches that wait behind each step. Both
/// must have the same outcome.
struct BothWays: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    try await FetchSteps.$wait.withValue(true) { try await function() }
  }
}

extension Trait where Self == BothWays {
  /// Both ways to carry a fetch out.
  static var bothWays: Self { BothWays() }
}
