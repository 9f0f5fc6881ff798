import AuthEngine
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements

/// Answers that no decision point should give, made from a seed.
private struct HostileAnswers {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  private mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(bound))
  }

  /// A value that is anything but the boolean `true`.
  private mutating func value(_ depth: Int) -> String {
    let scalars = [
      "false", "false", "false", "false", "null", "1", "0", "\"true\"", "\"false\"", "1.0", "-1e308", "\"\"", "[]",
      "{}", "[true]",
      #"{"true":true}"#, "9223372036854775807", "\"\\ud83d\\ude00\"", #""\u0000""#,
    ]
    guard depth > 0 else { return scalars[next(scalars.count)] }
    switch next(4) {
    case 0: return "[\((0..<next(4)).map { _ in value(depth - 1) }.joined(separator: ","))]"
    case 1: return #"{"\#(["decision", "allow", "x", "error", "context"][next(5)])":\#(value(depth - 1))}"#
    default: return scalars[next(scalars.count)]
    }
  }

  /// A body without a well-formed permit for the two resources `a` and `b`.
  mutating func body() -> [UInt8] {
    let good = #"{"decision":true}"#
    let text =
      switch next(17) {
      case 0: #"{"evaluations":[\#(good)]}"#
      case 1: #"{"evaluations":[\#(good),\#(good),\#(good)]}"#
      case 2: #"{"evaluations":[{"decision":\#(value(2))},{"decision":\#(value(2))}]}"#
      case 3: #"{"evaluations":{"0":\#(good),"1":\#(good)}}"#
      case 4: #"{"decision":true,"evaluations":\#(value(2))}"#
      case 5: #"{"evaluations":[\#(good),\#(good)],"evaluations":[]}"#
      case 6: #"{"evaluations":[{"decision":true,"context":\#(["7", "[]", "\"x\""][next(3)])},{"decision":false}]}"#
      case 7: #"{"evaluations":[\#(good),\#(good)"#
      case 8: #"{"result":{"a":\#(value(2)),"b":\#(value(1)),"c":true}}"#
      case 9: #"{"result":{"A":true,"a ":true,"a\u0000":true}}"#
      case 11:
        #"[{"resource":"a","actions":{"GET":\#(value(2))},"advices":\#(value(1))},{"resource":"b","actions":\#(value(1)),"ttl":\#(value(1))}]"#
      case 12:
        #"{"decisions":[{"resource":"a","authorized":\#(value(1)),"error":\#(value(2))},{"resource":"b ","authorized":true,"error":{"code":\#(value(0))}}]}"#
      case 13:
        #"{"decisions":[{"resource":"A","authorized":true},{"authorized":true},{"resource":["a"],"authorized":true}]}"#
      case 14: #"{"decisions":{"a":{"resource":"a","authorized":true}},"resource":"a","authorized":true}"#
      case 15:
        #"{"decisions":[{"resource":"a","authorized":true,"error":\#(["7", "{}", "[]", "true", #""x""#][next(5)])},{"resource":"b","authorized":false,"source":"degradation"}]}"#
      case 10: String(repeating: "[", count: next(200)) + value(3)
      default: #"{"result":\#(value(3)),"evaluations":\#(value(3)),"decision":\#(value(1))}"#
      }
    var bytes = Array(text.utf8)
    for _ in 0..<next(3) where !bytes.isEmpty {
      switch next(3) {
      case 0: bytes.removeLast(next(bytes.count))
      case 1: bytes[next(bytes.count)] = [0, 0xFF, 0xC0, 0x80, 0x22][next(5)]
      default: bytes.append(0x7D)
      }
    }
    return bytes
  }

  mutating func response() -> HTTPResponse {
    let statuses = [
      200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 201, 204, 301, 307, 400, 401, 403, 404, 418,
      429, 500, 503, 599,
    ]
    let types = [
      "application/json", "application/json", "application/json", "application/json; charset=utf-8", "text/html", "",
      "application/problem+json",
    ]
    let status = statuses[next(statuses.count)]
    return HTTPResponse(
      status: status, fields: HTTPFields([.init(name: "Content-Type", value: types[next(types.count)])]), body: body())
  }
}

@Suite("Hostile decision points")
struct HostileAnswerTests {
  private enum Reading: CaseIterable {
    case authzen, opa, accessManager, adobePass

    func verdicts(in document: JSONValue) throws(DecisionFault) -> [DecisionVerdict?] {
      switch self {
      case .authzen: try AuthZENReply.verdicts(in: document, count: 2, reasons: .usual, trace: nil)
      case .accessManager:
        try AccessManagerReply.verdicts(
          in: document, about: [ResourceName("a"), ResourceName("b")], action: "GET",
          at: Timestamp(secondsSinceEpoch: 0))
      case .adobePass:
        try AdobePassReply.verdicts(
          in: document, about: [ResourceName("a"), ResourceName("b")], of: HTTPResponse(status: 200), trace: nil)
      case .opa: try OPAReply.verdicts(in: document, about: [ResourceName("a"), ResourceName("b")], path: "p")
      }
    }
  }

  /// As decision points behind a proxy, and hand-written ones, send it.
  @Test("the body decides whether an answer is a document, not its media type", arguments: ["text/plain", "", "x"])
  func mediaTypes(type: String) throws {
    func read(_ body: String) throws(DecisionFault) -> JSONValue {
      try DecisionReply.document(
        of: HTTPResponse(status: 200, fields: ["Content-Type": type], body: Array(body.utf8)))
    }
    #expect(try read(#"{"a":1}"#) == .object(["a": 1]))
    let fault = #expect(throws: DecisionFault.self) { try read("<html>") }
    let end = type == "text/plain" ? "JSON; its Content-Type is text/plain" : "not valid JSON"
    #expect(fault?.status.details?.hasSuffix(end) == true)
  }

  @Test("10,000 malformed or hostile answers give no permit, every deny has a reason, and nothing traps")
  func answers() {
    var answers = HostileAnswers(seed: 7)
    var (faults, denies) = (0, 0)
    for round in 0..<10_000 {
      let response = answers.response()
      for reading in Reading.allCases {
        do throws(DecisionFault) {
          for verdict in try reading.verdicts(in: try DecisionReply.document(of: response)) {
            switch verdict {
            case .permit?, .degraded(nil)?:
              Issue.record("round \(round): \(String(decoding: response.body, as: UTF8.self))")
            case .deny(let status, _)?, .degraded(let status?)?:
              denies += 1
              #expect(!status.code.isEmpty && !status.isLocal)
            case .fault?, nil: faults += 1
            }
          }
        } catch {
          faults += 1
          #expect(!error.status.code.isEmpty)
        }
      }
    }
    // Both were reached.
    #expect(faults > 1000 && denies > 10)
  }
}
