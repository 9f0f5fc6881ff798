import Glibc
import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sidecar

/// Questions to the makers of endpoints, and their answers, in the audit log.
@Suite("Records of approvals", .timeLimit(.minutes(1)))
struct ApprovalRecordTests {
  /// A maker, and a child at an endpoint whose calls are put to it, with an audit log.
  private final class Recorded: Sendable {
    let directory: String
    let log: AuditLog
    let pair: ApprovalPair

    init() async throws {
      var template = Array("/tmp/postern-approvals-XXXXXX".utf8CString)
      directory = String(cString: try #require(mkdtemp(&template)))
      let log = try AuditLog(
        AuditLog.Settings(path: "\(directory)/log", key: nil, maxBytes: 1 << 20, failClosed: true), clock: ManualClock()
      ) { _ in }
      self.log = log
      pair = try await ApprovalPair(resources: Self.api, changing: { $0.audit = log })
    }

    deinit {
      for name in ["log", ".log.lock"] { unlink("\(directory)/\(name)") }
      rmdir(directory)
    }

    /// The records of approvals.
    func records() throws -> [JSONValue] {
      let file = try #require(fopen("\(directory)/log", "r"))
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: 1 << 20)
      let count = fread(&bytes, 1, bytes.count, file)
      let lines = bytes[..<count].split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
      return try lines.map { try JSONParser().parse($0) }.filter { $0["event"] == "approval" }
    }

    /// Puts a fetch to the maker, which answers in that way; the child's answer.
    func fetch(_ path: String, _ answer: String) async -> JSONValue? {
      pair.child.start("fetchResource", ["path": .string(path), "method": "post", "session": .string(Self.handle)])
      pair.maker.answer(await pair.maker.next(), json: answer)
      return await pair.child.next()
    }

    private static let api = #"""
      api: { baseUrl: "https://a.test/", issuer: corp, auth: user,
      tokens: { whenNoSession: send_without_token } }
      """#
    static let handle = String(repeating: "A", count: 43)
  }

  // An approval of which nothing is known afterwards: who was permitted what, through which chain, by whom.
  @Test("each question is recorded with its answer and the whole chain, without path and handle")
  func answers() async throws {
    let recorded = try await Recorded()
    for (path, answer) in [
      ("a", #""result":{"answer":"once"}"#), ("a", #""result":{"answer":"always"}"#),
      ("secret-b", #""result":{"answer":"no"}"#), ("c", #""result":{"answer":"yes"}"#),
      ("d", #""error":{"code":1,"message":"once"}"#),
    ] { _ = await recorded.fetch(path, answer) }
    let records = try recorded.records()
    #expect(
      records.map { $0["outcome"]?.stringValue } == ["once", "always", "no", "invalid", "invalid"])
    let first = try #require(records.first)
    #expect(first["chain"] == [["endpoint": .string(recorded.pair.id), "label": "job"]])
    #expect(first["endpoint"]?.stringValue == recorded.pair.id && first["uid"] == 7)
    #expect(first["maker"] == .integer(Int64(recorded.pair.maker.number)))
    #expect(first["connection"] == .integer(Int64(recorded.pair.child.number)))
    #expect(first["method"] == "fetchResource" && first["resource"] == "api" && first["httpMethod"] == "POST")
    #expect(first["session"]?.stringValue?.utf8.count == 64 && first["traceId"] != nil)
    let text = JSONWriter().string(.array(records))
    #expect(!text.contains("secret-b") && !text.contains(Recorded.handle))
  }

  // A chain of which the record shows the part below only: whose approval it was cannot be found.
  @Test("each level's question is a record of its own, with the chain from its first level on")
  func levels() async throws {
    let recorded = try await Recorded()
    let below = await recorded.pair.child.askingEndpoint()
    let grandchild = try #require(recorded.pair.bench.connect(to: below, recorded.pair.sockets))
    grandchild.start("fetchResource", ["path": "x"])
    recorded.pair.child.answer(await recorded.pair.child.next(), "once")
    recorded.pair.maker.answer(await recorded.pair.maker.next(), "no")
    #expect(await grandchild.next()?["error"]?["code"] == -32020)
    let records = try recorded.records()
    #expect(records.map { $0["outcome"]?.stringValue } == ["once", "no"])
    #expect(records.map { $0["endpoint"]?.stringValue } == [below, recorded.pair.id])
    for record in records {
      #expect(record["chain"]?.arrayValue?.map { $0["endpoint"]?.stringValue } == [recorded.pair.id, below])
    }
  }

  // A question without an answer that leaves no record, or a child that fills the log when its maker is gone.
  @Test("questions without an answer are recorded too; that the maker is gone, once")
  func unanswered() async throws {
    let recorded = try await Recorded()
    let (maker, child) = (recorded.pair.maker, recorded.pair.child)
    child.start("fetchResource", ["path": "late"])
    _ = await maker.next()
    while recorded.pair.bench.clock.remainders.first != .seconds(60) { await Task.yield() }
    recorded.pair.bench.clock.advance(by: .seconds(60))
    #expect(await child.next()?["error"]?["code"] == -32020)

    let call = child.start("fetchResource", ["path": "cancelled"])
    _ = await maker.next()
    child.send(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":\#(call)}}"#)
    #expect(await child.next()?["error"] != nil)
    while try recorded.records().count < 2 { await Task.yield() }

    child.start("fetchResource", ["path": "gone"])
    _ = await maker.next()
    maker.close(recorded.pair.bench)
    #expect(await child.next()?["error"]?["code"] == -32020)
    for _ in 0..<3 { #expect(await child.call("fetchResource", ["path": "x"])["error"]?["code"] == -32020) }
    #expect(try recorded.records().map { $0["outcome"]?.stringValue } == ["expired", "withdrawn", "gone"])
  }

  // A call that is carried out although its approval could not be recorded.
  @Test("without its record an answer is good for nothing, and nothing is sent")
  func unrecorded() async throws {
    let recorded = try await Recorded()
    recorded.pair.child.start("fetchResource", ["path": "x"])
    let question = await recorded.pair.maker.next()
    await recorded.log.close()
    recorded.pair.maker.answer(question, "always")
    #expect(await recorded.pair.child.next()?["error"]?["code"] == -32024)
    // The answer was not kept either.
    recorded.pair.child.start("fetchResource", ["path": "x"])
    #expect(await recorded.pair.maker.next()?["method"] == "delegate.approveCall")
    #expect(recorded.pair.bench.transport.requests.isEmpty)
  }
}
