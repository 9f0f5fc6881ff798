import AuthEngine
import Testing

@testable import PosternConfiguration

/// `resources.NAME.limits`.
@Suite struct ResourceLimitsTests {
  private static func load(_ limits: String) -> Fixture {
    Fixture("resources: { a: { baseUrl: \"https://b.example\", auth: none\(limits) } }")
  }

  @Test("nothing is limited unless it is configured, and what is left out has its default")
  func defaults() throws {
    func limits(_ text: String) throws -> OriginLimits? {
      try Self.load(text).configuration().resources["a"]?.bounds.limits
    }
    #expect(try limits("") == nil)
    #expect(try limits(", limits: {}") == OriginLimits(queue: 64, patience: .seconds(15)))
    #expect(
      try limits(", limits: { concurrency: 4 }")
        == OriginLimits(concurrency: 4, queue: 64, patience: .seconds(15)))
    #expect(
      try limits(", timeout: 8s, limits: { concurrency: 4, queue: 0, breaker: { openFor: 10s } }")
        == OriginLimits(
          concurrency: 4, queue: 0, breaker: .init(failures: 5, openFor: .seconds(10)), patience: .seconds(4)))
    #expect(
      try limits(", limits: { breaker: { failures: 1 } }")?.breaker == .init(failures: 1, openFor: .seconds(30)))
  }

  @Test(
    "what makes no sense is a problem",
    arguments: [
      ("concurrency: 0", "1:84: resources.a.limits.concurrency: out of range: must be a whole number from 1 to 65536"),
      ("queue: -1", "1:78: resources.a.limits.queue: must be a whole number from 0 to 65536"),
      (
        "breaker: { failures: 0 }",
        "1:92: resources.a.limits.breaker.failures: out of range: must be a whole number from 1 to 1000"
      ),
      ("breaker: { failure: 1 }", "1:82: resources.a.limits.breaker.failure: unknown key; did you mean failures?"),
    ])
  func problems(row: (String, String)) {
    #expect(Self.load(", limits: { \(row.0) }").problems == [row.1])
  }

  @Test("a queue without a bound is a warning")
  func queueAlone() {
    #expect(
      Self.load(", limits: { queue: 4 }").warnings == [
        "1:78: resources.a.limits.queue: without concurrency nothing ever waits"
      ])
  }
}
