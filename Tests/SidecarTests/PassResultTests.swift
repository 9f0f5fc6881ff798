import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import Testing

@testable import AdobePass
@testable import Sidecar

/// `pass.*`: the engine's values as results and errors of the wire.
@Suite("Results and errors of Adobe Pass")
struct PassResultTests {
  private static let time = Timestamp(millisecondsSinceEpoch: 1_767_607_200_000)
  private static let status = Status(
    status: 403, code: "c", action: "none", message: "m", details: "d", helpURL: "https://h.example", trace: "t")

  /// The result as a caller has it.
  private static func decoded<Value: Codable>(_ result: Value) throws -> Value {
    try JSONValueDecoder().decode(Value.self, from: JSONValueEncoder().encode(result))
  }

  @Test("a result with every member, and one with none that may be missing, is of the method's type")
  func results() throws {
    let mvpd = PassMVPD(
      id: "m", displayName: "M", logoURL: "https://l.example", boardingStatus: "PICKER", platformMappingID: "p",
      flags: [.isProxy])
    let configuration = PassConfiguration(
      serviceProvider: "s", displayName: "S", domains: [.init(name: "d", isMVPDInitiated: true)], mvpds: [mvpd],
      isCached: true, expiresAt: Self.time)
    let shown = try Self.decoded(PassMethods.GetConfiguration.Result(configuration))
    #expect(shown.mvpds.first?.isProxy == true && shown.mvpds.first?.isTempPass == false && shown.cached)
    let request = PassAuthenticationRequest(type: "saml", request: "r", attributeNames: ["a"])
    for isFull in [true, false] {
      func given<Value>(_ value: Value) -> Value? { isFull ? value : nil }
      let session = PassSession(
        actionName: "resume", actionType: "direct", reasonType: given("none"), serviceProvider: given("s"),
        sessionID: given("i"), code: given("c"), url: given("u"), mvpd: given("m"), missingParameters: ["mvpd"],
        authenticationRequest: given(request), notBefore: given(Self.time), expiresAt: given(Self.time))
      #expect(try Self.decoded(PassMethods.Session(session)).missingParameters == ["mvpd"])
      let status = PassSessionStatus(
        code: "c", serviceProvider: given("s"), mvpd: given("m"), domainName: given("d"), redirectURL: given("r"),
        missingParameters: [], authenticateURL: given("u"), notBefore: given(Self.time), expiresAt: given(Self.time),
        device: given(.init(type: given("t"), model: nil, applicationID: given("a"))))
      #expect(try Self.decoded(PassMethods.GetSession.Result(status)).code == "c")
      let logout = PassLogout(
        upstream: .failed,
        logouts: [.init(mvpd: "m", actionName: "logout", actionType: "interactive", url: given("u"))],
        forgotten: ["m"], error: given(Self.status))
      #expect(try Self.decoded(PassProfileMethods.Logout.Result(logout)).upstream == .failed)
    }
  }

  @Test(
    "every state, with the profiles' own attributes, is of the method's type", arguments: PassProfiles.State.allCases)
  func profiles(state: PassProfiles.State) throws {
    let profile = PassProfile(
      mvpd: "m", type: "regular", issuer: "m", notBefore: nil, expiresAt: Self.time,
      attributes: ["userID": ["value": "v", "state": "plain"]], endsAt: Self.time)
    let profiles = PassProfiles(
      state: state, profiles: [profile], selected: "m",
      remembered: .init(id: "m", displayName: "M", logoURL: nil), nextPoll: .microseconds(1500), error: Self.status)
    let result = try Self.decoded(PassProfileMethods.ListProfiles.Result(profiles))
    #expect(result.state.rawValue == state.rawValue)
    // Rounded up: a call that comes sooner gets the same answer.
    #expect(result.nextPollMs == 2)
    #expect(result.profiles.first?.attributes["userID"]?["value"] == "v")
  }

  @Test("only a permit has a media token and is authorized; a denial that came with a token shows none")
  func decisions() throws {
    let token = PassDecision.MediaToken(serialized: Secret("t"), notBefore: nil, expiresAt: Self.time)
    func decision(_ token: PassDecision.MediaToken?, _ error: Status?) -> PassDecision {
      PassDecision(id: "r", token: token, source: "mvpd", notBefore: nil, expiresAt: Self.time, error: error)
    }
    let decisions = PassDecisions(
      mvpd: "m",
      decisions: [
        decision(token, nil), decision(token, Self.status), decision(nil, Self.status), decision(nil, nil),
      ])
    let result = try Self.decoded(PassProfileMethods.Authorize.Result(decisions))
    #expect(result.decisions.map(\.authorized) == [true, false, false, false])
    #expect(result.decisions.map { $0.token?.serializedToken } == ["t", nil, nil, nil])
  }

  @Test("an error arrives with its code, and with what helps")
  func errors() throws {
    func fault(_ kind: PassError.Kind, _ status: Status? = nil) -> RPCFault {
      ErrorMap.fault(
        PassError(
          kind: kind, status: status, next: status.map { PassNextStep($0) }, isRetryable: true,
          retryAfter: .milliseconds(1500), outcome: .replied, upstream: .init(status: 429, code: "c"), detail: "d"))
    }
    let rejected = fault(.rejected, Self.status)
    #expect(rejected.code == .passError)
    #expect(rejected.data["next"] == "none" && rejected.data["error"]?["code"] == "c")
    #expect(rejected.data["upstream"] == ["status": 429, "code": "c"])
    #expect(rejected.data["retryable"] == true && rejected.data["retryAfterMs"] == 1500)
    #expect(rejected.data["outcome"] == "replied")
    #expect(fault(.unreachable).code == .passUnreachable)
    #expect(fault(.storeUnavailable).code == .storeUnavailable)
    #expect(fault(.deadlineExceeded).code == .deadlineExceeded)
    #expect(fault(.cancelled).code == .requestCancelled)
    let parameter = fault(.invalidParameter(PassParameterError(["device", "info", .name("a/b")], "is wrong")))
    #expect(parameter.code == .invalidParams && parameter.data["path"] == "/device/info/a~1b")
  }

  @Test("a call that waits for its user is counted by itself, and only such a call")
  func waits() {
    #expect(PassProfileMethods.ListProfiles.waits(["waitMs": 1]))
    for params in [nil, [:], ["waitMs": 0], ["waitMs": -1], ["waitMs": "5"]] as [JSONTree?] {
      #expect(!PassProfileMethods.ListProfiles.waits(params))
    }
  }
}
