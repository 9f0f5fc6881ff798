import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import Testing

@testable import AdobePass
@testable import Entitlements
@testable import OAuthClient

@Suite("Adobe Pass: answers and tokens")
struct AdobePassReplyTests {
  private static let deny =
    #""authorized":false,"error":{"code":"preauthorization_denied_by_mvpd","status":403,"action":"none"}"#
  private static let answers: [(String, [Bool?])] = [
    // In the opposite order, and with a stranger among them.
    (
      #"{"resource":"b","authorized":true},{"resource":"x","authorized":true},{"resource":"a",\#(deny)}"#,
      [false, true]
    ),
    // A space behind the echo, but never in place of the resource itself.
    (#"{"resource":"a ","authorized":true},{"resource":"b\n","authorized":true}"#, [true, true]),
    (#"{"resource":"a ","authorized":true},{"resource":"a",\#(deny)}"#, [false, nil]),
    // Twice the same, and twice not the same.
    (
      #"{"resource":"a","authorized":true},{"resource":"a","authorized":true},{"resource":"b",\#(deny)}"#,
      [true, false]
    ),
    (#"{"resource":"a","authorized":true},{"resource":"a",\#(deny)}"#, [nil, nil]),
    (#"{"resource":"a ","authorized":true},{"resource":"a\t",\#(deny)}"#, [nil, nil]),
    (#"{"resource":"b",\#(deny)},{"resource":"b","authorized":false}"#, [nil, false]),
    // A permit with an error, an error without a code, neither true nor false.
    (
      #"{"resource":"a","authorized":true,"error":{"code":"x"}},{"resource":"b","authorized":true,"error":7}"#,
      [nil, nil]
    ),
    (#"{"resource":"a","authorized":false,"error":{}},{"resource":"b","authorized":"true"}"#, [nil, nil]),
    (#"{"resource":"a","authorized":false,"error":null},{"resource":"b"}"#, [false, nil]),
    // What is to be retried, and what failed, is no deny.
    (
      #"{"resource":"a","authorized":false,"error":{"code":"network_received_error"}},{"resource":"b","authorized":false,"error":{"code":"internal_server_error"}}"#,
      [nil, nil]
    ),
    ("", [nil, nil]),
  ]

  @Test("decisions are found by their resource; nothing that is odd about one is a permit", arguments: answers)
  func odd(rows: String, expected: [Bool?]) throws {
    let document = try JSONParser().parse(#"{"decisions":[\#(rows)]}"#)
    let verdicts = try AdobePassReply.verdicts(
      in: document, about: [ResourceName("a"), ResourceName("b")], of: .json(""), trace: nil)
    let read = verdicts.map { verdict -> Bool? in
      switch verdict {
      case .permit?: true
      case .deny?: false
      default: nil
      }
    }
    #expect(read == expected)
  }

  @Test("a permit of a trial counts for its call only: the trial may be over before the next")
  func trial() throws {
    let rows =
      #"{"resource":"a","authorized":true,"source":"temppass"},{"resource":"b","authorized":true,"source":"mvpd"}"#
    let verdicts = try AdobePassReply.verdicts(
      in: try JSONParser().parse(#"{"decisions":[\#(rows)]}"#), about: [ResourceName("a"), ResourceName("b")],
      of: .json(""), trace: nil)
    #expect(verdicts == [.permit(lifetime: .zero), .permit(lifetime: nil)])
  }

  @Test("unknown codes and actions pass through, and the table of known ones completes errors")
  func codes() throws {
    let document = try JSONParser().parse(
      #"""
      {"decisions":[{"resource":"a","authorized":false,"error":{"code":"novel","status":499,"action":"dance","details":"d",
      "helpUrl":"https://h.test","trace":"t"}},{"resource":"b","authorized":false,"error":{"code":"authenticated_profile_missing"}}]}
      """#)
    let verdicts = try AdobePassReply.verdicts(
      in: document, about: [ResourceName("a"), ResourceName("b")], of: .json(""), trace: "id")
    #expect(
      verdicts == [
        .deny(
          Status(
            status: 499, code: "novel", action: "dance", message: "", details: "d", helpURL: "https://h.test",
            trace: "t"),
          lifetime: nil),
        .deny(
          Status(
            status: 403, code: "authenticated_profile_missing", action: "authentication", message: "", trace: "id"),
          lifetime: nil),
      ])
  }

  @Test(
    "an error in place of decisions is that error, however it is wrapped",
    arguments: [
      #"{"code":"c","status":403,"action":"retry"}"#, #"{"error":{"code":"c","status":403,"action":"retry"}}"#,
      #"{"errors":[{"code":"c","status":403,"action":"retry"}]}"#,
    ])
  func wrapped(text: String) throws {
    let fault = #expect(throws: DecisionFault.self) {
      try AdobePassReply.verdicts(
        in: try JSONParser().parse(text), about: [ResourceName("a")], of: .json(text), trace: nil)
    }
    #expect(fault?.status.code == "c" && fault?.retry == .after(nil))
  }

  private static let lives: [(String, String?, Duration)] = [
    (#""created_at":1800000000000,"expires_in":21600"#, nil, .seconds(21_600)),
    // Made before, by this clock or by the server's.
    (#""created_at":1799996400000,"expires_in":21600"#, nil, .seconds(18_000)),
    (#""created_at":1799996400000,"expires_in":21600"#, "Fri, 15 Jan 2027 09:00:00 GMT", .seconds(14_400)),
    // A wrong clock neither makes it older than a moment nor younger than it is.
    (#""created_at":1700000000000,"expires_in":21600"#, nil, .seconds(60)),
    (#""created_at":1900000000000,"expires_in":21600"#, nil, .seconds(21_600)),
    (#""created_at":1700000000000,"expires_in":30"#, nil, .seconds(30)),
    // Seconds, nothing, nonsense.
    (#""created_at":1799996400,"expires_in":21600"#, nil, .seconds(18_000)),
    (#""expires_in":21600"#, nil, .seconds(21_600)),
    (#""created_at":-5,"expires_in":9223372036854775807"#, nil, .seconds(366 * 86_400)),
    (#""created_at":9223372036854775807,"expires_in":10"#, nil, .seconds(10)),
  ]

  @Test("a token's lifetime counts from the time at which the server made it", arguments: lives)
  func life(members: String, date: String?, expected: Duration) throws {
    var response = HTTPResponse.json(#"{"access_token":"t","token_type":"bearer",\#(members)}"#)
    if let date { response.fields["Date"] = date }
    let life = AdobePassToken.life(
      of: try TokenResponse(response), in: response, at: Timestamp(secondsSinceEpoch: 1_800_000_000))
    #expect(life == expected)
  }
}
