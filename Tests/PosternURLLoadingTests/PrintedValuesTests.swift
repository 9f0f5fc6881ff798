import AuthEngine
import HTTPMessages
import PosternSupport
import PosternTestSupport
import PosternURLLoading
import Testing

@Suite("Printed values of the loading system")
struct PrintedValuesTests {
  @Test("a value is printed with a secret or an inner name")
  func values() throws {
    let facts = PosternErrorFacts(
      outcome: .replied, retryAfter: .seconds(1), upstream: UpstreamFault(code: "invalid_grant"))
    let samples: KeyValuePairs<String, Any> = [
      "PosternErrorFacts": facts, "ErrorCode": ResourceError(.overloaded, "full").numberedCode,
    ]
    for (name, value) in samples { #expect(PrintedValue.faults(of: value) == [], "\(name)") }
  }
}
