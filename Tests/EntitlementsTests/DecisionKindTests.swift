import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements
@testable import SDKCompatibility

@Suite("Kinds of decisions and their Swift interface")
struct DecisionKindTests {
  static let lifetimes: [(String, Duration?)] = [
    ("9223372036854775807", .milliseconds(Int64.max - 1_800_000_000_000)), ("0", .zero),
    ("-5", .zero), ("1.5", .zero),
    ("\"60\"", .zero), ("60000", .seconds(60)), ("1800000030000", .seconds(30)), ("null", nil),
  ]

  @Test(
    "an access manager's ttl is a time, an instant or for ever, and nonsense is not kept",
    arguments: lifetimes)
  func ttl(text: String, lifetime: Duration?) throws {
    let rows = try JSONParser().parse(
      #"[{"resource":"a","actions":{"GET":true},"advices":[],"ttl":\#(text)}]"#)
    let verdicts = try AccessManagerReply.verdicts(
      in: rows, about: [ResourceName("a")], action: "GET",
      at: Timestamp(secondsSinceEpoch: 1_800_000_000))
    #expect(verdicts == [.permit(lifetime: lifetime)])
  }

  @Test("an operator's rule ends by itself and leaves nothing behind")
  func degradation() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in false }) }
    let until = engine.clock.wallNow + .seconds(60)
    let point = try engine.point {
      $0.degradation = DecisionDegradation(isPermit: true, until: until)
    }
    let response = await engine.ask(["a", "b", "a"], at: point)
    #expect(response.decisions.map(\.source) == [.degradation, .degradation, .degradation])
    #expect(response.decisions.allSatisfy(\.isAuthorized) && engine.posts.isEmpty)
    engine.clock.advance(by: .seconds(60))
    #expect(await engine.ask(["a"], at: point).decisions.map(\.isAuthorized) == [false])
  }

  @Test("a builder builds any number of equal requests, and a request may be used again")
  func builder() async throws {
    let builder = PreauthorizeRequest.Builder().setResources(resources: ["a"])
      .disableFeatures(features: [PreauthorizeRequest.Feature.LOCAL_CACHE])
    let request = builder.build()
    #expect(request == builder.build())
    builder.setResources(resources: ["b"])
    #expect(request.resources == ["a"] && builder.build().resources == ["b"])
    #expect(request.disabledFeatures == [.localCache])
  }

  @Test("exactly one of the callbacks is called")
  func callbacks() async throws {
    let engine = DecisionEngine.authzen { ids in
      ids == ["down"] ? .json("[]") : .decisions(ids.map { _ in true })
    }
    let point = try engine.point()
    let calls = Locked<[String]>([])
    let callback = AccessEnablerCallback<PreauthorizeResponse>(
      onResponse: { response in calls.withLock { $0.append("response \(response.decisions.count)") }
      },
      onFailure: { response in
        calls.withLock { $0.append("failure \(response.status?.code ?? "")") }
      })
    for resource in ["a", "down"] {
      await engine.preauthorizer.preauthorize(
        PreauthorizeRequest(resources: [resource]), for: DecisionSubject(id: "alice", uid: 1),
        at: point, callback
      ).value
    }
    #expect(calls.withLock { $0 } == ["response 1", "failure server_response_format_unknown"])
  }

  static let instants: [(String, Int64?)] = [
    ("2027-01-15T08:00:00Z", 1_800_000_000), ("1970-01-01T00:00:00Z", 0),
    ("2024-02-29T00:00:00Z", 1_709_164_800),
    ("2023-02-29T00:00:00Z", nil), ("2027-13-01T00:00:00Z", nil), ("2027-01-15 08:00:00Z", nil),
    ("2027-01-15T08:00:00+01:00", nil), ("2027-01-15T24:00:00Z", nil), ("", nil),
  ]

  @Test("an instant of the configuration is one that exists", arguments: instants)
  func instant(text: String, seconds: Int64?) {
    #expect(Timestamp(utc: text) == seconds.map { Timestamp(secondsSinceEpoch: $0) })
  }
}
