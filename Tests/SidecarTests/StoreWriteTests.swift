import AuthEngine
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// The state of the session store that its writes report.
@Suite("Writes into the session store", .timeLimit(.minutes(1)))
struct StoreWriteTests {
  private static let yaml = """
    store: { kind: memory }
    health: { askIssuers: false }
    issuers:
      corp:
        issuer: "https://idp.test"
        clientId: c
        clientAuth: none
        endpoints: { token: "https://idp.test/token", revocation: "https://idp.test/revoke" }
    """
  private static let grant: JSONValue = [
    "issuer": "corp", "grant": ["type": "tokens", "accessToken": "given", "expiresIn": 3600],
  ]

  @Test("a failed write is reported only when a caller reads health, not at once; or its recovery is not reported")
  func news() async throws {
    let broken = MemoryRecordStore()
    let store = DeferredRecordStore(clock: ManualClock()) { broken }
    let bench = try SidecarBench(Self.yaml, store: store)
    let (caller, watcher) = (bench.connect(), bench.connect())
    _ = await watcher.call("subscribe", ["events": ["event.healthChanged"]])
    // Nothing looks after the store here: all that is known of it comes from the calls.
    let made = await caller.call("createSession", Self.grant)
    #expect(made["result"]?["session"] != nil)
    await broken.close()
    #expect(await caller.call("createSession", Self.grant)["error"]?["code"] == 5008)
    let down = await caller.call("health")["result"]
    #expect(down?["status"] == "down")
    #expect(down?["checks"]?["store"]?["status"] == "down")
    #expect(down?["checks"]?["store"]?["detail"]?.stringValue?.hasPrefix("a write failed") == true)
    #expect(await watcher.next()?["params"]?["status"] == "down")
    // Looking at the store shows nothing of it.
    bench.service.health.monitor.store(fault: nil, detail: "memory")
    #expect(await caller.call("health")["result"]?["status"] == "down")
    store.exchange({ MemoryRecordStore() }, report: { _ in })
    #expect(await caller.call("createSession", Self.grant)["result"] != nil)
    #expect(await caller.call("health")["result"]?["status"] == "ok")
    #expect(await watcher.next()?["params"]?["status"] == "ok")
  }

  @Test("a full store in memory makes the sidecar unfit for everybody")
  func full() async throws {
    let bench = try SidecarBench(Self.yaml, store: MemoryRecordStore(capacity: 1))
    let caller = bench.connect()
    #expect(await caller.call("createSession", Self.grant)["result"] != nil)
    #expect(await caller.call("createSession", Self.grant)["error"]?["code"] == 5008)
    #expect(await caller.call("health")["result"]?["status"] == "ok")
  }

  @Test("the store counts as broken because one caller exceeds its limits, or for one record")
  func noOutage() {
    #expect(!StoreError(.unavailable, "too much is waiting for the store", isOverload: true).isOutage)
    #expect(StoreError(.unavailable, "full").isOutage)
    for kind in [StoreError.Kind.conflict, .leaseLost, .overdrawn, .invalid, .corrupted] {
      #expect(!StoreError(kind, "").isOutage)
    }
  }
}
