import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Calls: params, meta, deadlines, cancellation")
struct CallTests {
  static let open = """
    resources: { open: { baseUrl: "https://a.test/base/", auth: none } }
    """

  @Test(
    "what is wrong with the params is named with its path",
    arguments: [
      ("getInfo", #"{"x":1}"#, "/x"), ("fetchResource", #"{"pth":"a"}"#, "/pth"),
      ("fetchResource", #"{"resource":"nope"}"#, "/resource"), ("fetchResource", #"{"timeoutMs":0}"#, "/timeoutMs"),
      ("fetchResource", #"{"timeoutMs":600001}"#, "/timeoutMs"), ("fetchResource", #"{"timeoutMs":1.5}"#, "/timeoutMs"),
      ("fetchResource", #"{"auth":"root"}"#, "/auth"),
      ("fetchResource", #"{"body":"a","bodyBase64":"YQ=="}"#, "/bodyBase64"),
      ("fetchResource", #"{"bodyBase64":"YQ"}"#, "/bodyBase64"),
      ("fetchResource", #"{"headers":{"a":1}}"#, "/headers/a"),
      ("fetchResource", #"{"headers":{"a":["b",1]}}"#, "/headers/a/1"), ("fetchResource", #"{"task":""}"#, "/task"),
      ("fetchResource", #"{"parameters":[]}"#, "/parameters"), ("fetchResource", #"{"path":"a\u0000"}"#, "/path"),
      ("fetchResource", #"{"meta":{"timeoutMs":0}}"#, "/meta/timeoutMs"), ("getInfo", #"{"meta":{"x":1}}"#, "/meta/x"),
      ("getInfo", #"{"meta":1}"#, "/meta"), ("subscribe", #"{}"#, "/events"),
      ("subscribe", #"{"events":["x"]}"#, "/events/0"),
    ])
  func invalidParams(method: String, params: String, path: String) async throws {
    let connection = try SidecarBench(Self.open).connect()
    connection.send(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#)
    let error = await connection.next()?["error"]
    #expect(error?["code"] == -32602)
    #expect(error?["data"]?["path"] == .string(path))
  }

  @Test(
    "a call ends at meta.timeoutMs, whatever it waits for",
    arguments: [#""meta":{"timeoutMs":50}"#, #""timeoutMs":50"#])
  func deadline(bound: String) async throws {
    let gate = Gate()
    let bench = try SidecarBench(Self.open) { _, options async throws(TransportError) in
      await gate.pass()
      throw TransportError(code: .timedOut, outcome: .sentNoReply, detail: "late")
    }
    let connection = bench.connect()
    connection.send(#"{"jsonrpc":"2.0","id":1,"method":"fetchResource","params":{"path":"x",\#(bound)}}"#)
    if bound.contains("meta") {
      while bench.clock.sleeperCount == 0 { await Task.yield() }
      bench.clock.advance(by: .milliseconds(151))
    }
    gate.open()
    #expect(await connection.next()?["error"]?["data"]?["reason"] == "deadline_exceeded")
  }

  @Test("a cancelled fetch is answered at once, its transfer is cancelled, and the connection goes on")
  func cancel() async throws {
    let cancelled = Gate()
    let bench = try SidecarBench(Self.open) { _, _ async throws(TransportError) in
      await withTaskCancellationHandler {
        await cancelled.pass()
      } onCancel: {
        cancelled.open()
      }
      throw TransportError(code: .cancelled, outcome: .sentNoReply, detail: "")
    }
    let connection = bench.connect()
    let id = connection.start("fetchResource", ["path": "x"])
    connection.send(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":\#(id)}}"#)
    let answer = await connection.next()
    #expect(answer?["id"] == .integer(id))
    #expect(answer?["error"]?["code"] == -32800)
    await cancelled.pass()
    #expect(await connection.call("getInfo")["result"] != nil)
  }

  @Test("the caller's trace goes upstream in a span of its own, and its id comes back in errors")
  func trace() async throws {
    let bench = try SidecarBench(Self.open)
    let trace = "0af7651916cd43dd8448eb211c80319c"
    let meta: JSONValue = ["traceparent": .string("00-\(trace)-b7ad6b7169203331-01")]
    _ = await bench.connect().call("fetchResource", ["path": "x", "meta": meta])
    let sent = bench.transport.requests.first?.fields["traceparent"]
    #expect(sent?.hasPrefix("00-\(trace)-") == true)
    #expect(sent?.hasSuffix("-01") == true)
    #expect(sent?.contains("b7ad6b7169203331") == false)
    let error = await bench.connect().call("fetchResource", ["path": "https://evil.test/", "meta": meta])["error"]
    #expect(error?["data"]?["traceId"] == .string(trace))
  }

  @Test("a task's name is taken while it runs, per user, and free afterwards")
  func taskNames() async throws {
    let gate = Gate()
    let bench = try SidecarBench(Self.open) { _, _ async throws(TransportError) in
      await gate.pass()
      return HTTPResponse(status: 200)
    }
    let connection = bench.connect()
    connection.start("fetchResource", ["path": "x", "task": "t"])
    while bench.transport.requests.isEmpty { await Task.yield() }
    #expect(await connection.call("fetchResource", ["path": "x", "task": "t"])["error"]?["data"]?["path"] == "/task")
    gate.open()
    #expect(await connection.next()?["result"]?["task"] == "t")
    #expect(await connection.call("fetchResource", ["path": "x", "task": "t"])["result"]?["task"] == "t")
  }

  @Test("parameters that expand to gigabytes are rejected before they are expanded", arguments: ["GET", "POST"])
  func parameterBomb(method: String) async throws {
    let bomb: JSONValue = [String(repeating: "k", count: 20_000): .array(Array(repeating: 1, count: 15_000))].asJSON
    let connection = try SidecarBench(Self.open).connect()
    let error = await connection.call(
      "fetchResource", ["path": "x", "method": .string(method), "parameters": bomb, "parametersEncoding": "formUrl"])[
        "error"]
    #expect(error?["data"]?["path"] == "/parameters")
  }

  @Test("a caller's method name is shortened by bytes in answers and log lines")
  func longMethod() async throws {
    let bench = try SidecarBench(Self.open)
    let name = "m" + String(repeating: "\u{301}", count: 100_000)
    let answer = await bench.connect().call(name)
    #expect(answer["error"]?["code"] == -32601)
    #expect(JSONWriter().write(answer).count < 1000)
    #expect(bench.lines.withLock { $0.allSatisfy { $0.utf8.count < 1000 } })
  }
}

extension [String: JSONValue] {
  fileprivate var asJSON: JSONValue { .object(JSONObject(map { ($0.key, $0.value) })) }
}
