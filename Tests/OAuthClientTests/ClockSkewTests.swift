import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient

/// The skew of a server's clock by `Date`: only what whole seconds and the time on the way cannot explain.
@Suite struct ClockSkewTests {
  struct Case: CustomTestStringConvertible {
    let name: String
    /// Milliseconds since the epoch.
    var sent: Int64 = 784_111_777_000
    var received: Int64 = 784_111_777_200
    var date: String? = "Sun, 06 Nov 1994 08:49:37 GMT"
    var age: String?
    let expected: Duration?

    var testDescription: String { name }
  }

  static let cases = [
    Case(name: "the same second", expected: .zero),
    Case(
      name: "written just before the second changed", sent: 784_111_777_999, received: 784_111_778_100, expected: .zero),
    Case(name: "a slow answer", sent: 784_111_770_000, received: 784_111_790_000, expected: .zero),
    Case(name: "ahead", date: "Sun, 06 Nov 1994 08:50:37 GMT", expected: .milliseconds(59_800)),
    Case(name: "behind", date: "Sun, 06 Nov 1994 08:48:37 GMT", expected: .seconds(-59)),
    Case(name: "no date", date: nil, expected: nil),
    Case(name: "no such date", date: "yesterday", expected: nil),
    Case(name: "out of a cache", age: "0", expected: nil),
  ]

  @Test("skew is what lies outside of the time the answer took", arguments: cases)
  func table(_ example: Case) {
    var response = HTTPResponse.status(200)
    if let date = example.date { response.fields["Date"] = date }
    if let age = example.age { response.fields["Age"] = age }
    let skew = ClockSkew.of(
      response, sentAt: Timestamp(millisecondsSinceEpoch: example.sent),
      receivedAt: Timestamp(millisecondsSinceEpoch: example.received))
    #expect(skew == example.expected)
  }
}
