import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability

@Suite("Spans on their way to a collector")
struct ExporterTests {
  private static func span(_ number: Int) -> TelemetrySpan {
    TelemetrySpan(
      traceID: String(repeating: "a", count: 32), spanID: String(repeating: "0", count: 8) + "\(10_000_000 + number)",
      parentID: nil, name: "getSession", kind: .server, start: 1_800_000_000_123_456_789,
      end: 1_800_000_001_000_000_000,
      attributes: [("rpc.system", .string("jsonrpc")), ("a", .integer(7)), ("b", .boolean(true))], failure: "timed out")
  }

  private static func exporter(
    _ clock: ManualClock, _ transport: ScriptedTransport, _ events: Locked<[SpanExporter.Event]> = Locked([])
  ) throws -> SpanExporter {
    SpanExporter(
      .init(
        endpoint: try HTTPURL("http://127.0.0.1:4318/v1/traces"), fields: ["X-Key": "k"],
        timeout: .seconds(5)),
      resource: TelemetryResource(serviceName: "shop", serviceVersion: "1", instanceID: "i", processID: 7),
      transport: transport, clock: clock
    ) { event in events.withLock { $0.append(event) } }
  }

  /// Runs the exporter until `isOver`, the clock a second further each time that it sleeps.
  private static func run(_ exporter: SpanExporter, _ clock: ManualClock, until isOver: () -> Bool) async {
    let running = Task { await exporter.run() }
    while !isOver() {
      while clock.sleeperCount == 0, !isOver() { await Task.yield() }
      clock.advance(by: .seconds(1))
      await Task.yield()
    }
    running.cancel()
    await running.value
  }

  @Test("a batch is valid OTLP JSON: ids in hexadecimal, 64-bit numbers as texts, enumerations as numbers")
  func document() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport { _, _ async throws(TransportError) in HTTPResponse(status: 200) }
    let exporter = try Self.exporter(clock, transport)
    exporter.export(Self.span(1))
    await Self.run(exporter, clock) { exporter.counts.exported == 1 }
    let request = try #require(transport.requests.first)
    #expect(request.method == "POST" && request.fields["Content-Type"] == "application/json")
    #expect(request.fields["X-Key"] == "k")
    let body = try JSONParser().parse(request.body ?? [])
    let resource = body["resourceSpans"]?.arrayValue?.first
    #expect(
      resource?["resource"]?["attributes"]?.arrayValue?.first
        == ["key": "service.name", "value": ["stringValue": "shop"]])
    let span = resource?["scopeSpans"]?.arrayValue?.first?["spans"]?.arrayValue?.first
    #expect(
      span == [
        "traceId": .string(String(repeating: "a", count: 32)), "spanId": "0000000010000001", "name": "getSession",
        "kind": 2, "startTimeUnixNano": "1800000000123456789", "endTimeUnixNano": "1800000001000000000",
        "attributes": [
          ["key": "rpc.system", "value": ["stringValue": "jsonrpc"]], ["key": "a", "value": ["intValue": "7"]],
          ["key": "b", "value": ["boolValue": true]],
        ],
        "status": ["code": 2, "message": "timed out"],
      ])
  }

  @Test(
    "a batch that the collector cannot accept now is retried, no sooner than it requests; its failure is reported once")
  func retry() async throws {
    let clock = ManualClock()
    let answers = Locked([503, 429, 200])
    let times = Locked<[MonotonicInstant]>([])
    let transport = ScriptedTransport { _, _ async throws(TransportError) in
      times.withLock { $0.append(clock.monotonicNow) }
      let status = answers.withLock { $0.removeFirst() }
      return HTTPResponse(status: status, fields: status == 429 ? ["Retry-After": "7"] : HTTPFields())
    }
    let events = Locked<[SpanExporter.Event]>([])
    let exporter = try Self.exporter(clock, transport, events)
    exporter.export(Self.span(1))
    await Self.run(exporter, clock) { exporter.counts.exported == 1 }
    let waits = times.withLock { times in zip(times, times.dropFirst()).map { $1 - $0 } }
    #expect(waits.count == 2 && waits[0] >= .seconds(1) && waits[1] >= .seconds(7))
    #expect(events.withLock { $0 } == [.failing("status 503"), .recovered])
    #expect(exporter.counts.dropped == 0)
  }

  @Test(
    "a rejected batch is dropped at once, one that fails otherwise after five attempts",
    arguments: [(400, 1), (503, 5)])
  func givenUp(row: (Int, Int)) async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport { _, _ async throws(TransportError) in HTTPResponse(status: row.0) }
    let exporter = try Self.exporter(clock, transport)
    exporter.export(Self.span(1))
    await Self.run(exporter, clock) { exporter.counts.dropped == 1 }
    #expect(transport.requests.count == row.1)
  }

  @Test("spans beyond the queue are counted and dropped: a collector that hangs takes no memory")
  func bounded() throws {
    let transport = ScriptedTransport { _, _ async throws(TransportError) in HTTPResponse(status: 200) }
    let exporter = try Self.exporter(ManualClock(), transport)
    for number in 0..<(SpanExporter.capacity + 3) { exporter.export(Self.span(number)) }
    #expect(exporter.counts.dropped == 3)
  }

  @Test("at the end what waits is sent once, in batches, and what is not taken is counted")
  func flush() async throws {
    let clock = ManualClock()
    let answers = Locked([200, 503])
    let transport = ScriptedTransport { _, _ async throws(TransportError) in
      HTTPResponse(status: answers.withLock { $0.removeFirst() })
    }
    let exporter = try Self.exporter(clock, transport)
    for number in 0..<600 { exporter.export(Self.span(number)) }
    await exporter.flush(within: .seconds(5))
    #expect(exporter.counts.exported == 512 && exporter.counts.dropped == 88)
  }
}
