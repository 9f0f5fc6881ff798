import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport

@testable import OAuthClient
@testable import SessionRecords
@testable import Sessions
@testable import StepUp

/// Samples of sessions, journeys and what they are stored as.
extension PrintedValuesTests {
  static func advice() throws -> Samples {
    let manager = AccessManager(baseURL: try HTTPURL("https://am.test/am?key=\(secret)"), realmPath: "/alpha")
    let transaction = PolicyAdvice(type: PolicyAdvice.Name.transaction, value: secret)
    return [
      "AccessManager": manager, "AdviceRecognizer": AdviceRecognizer(accessManager: manager.baseURL),
      "AdviceFinding": AdviceFinding(advices: [transaction], source: .redirect), "PolicyAdvice": transaction,
    ]
  }

  static func sessions() async throws -> Samples {
    let bench = try SessionBench()
    let session = try await bench.session()
    let now = bench.clock.wallNow
    let key = RecordKey(collection: .session, id: [UInt8](repeating: 1, count: 32))
    let record = StoredRecord(key: key, uid: 1, version: 1, expiresAt: now, contents: Secret(Array(secret.utf8)))
    let page = RecordPage(entries: [.init(record: record, position: 1)], next: 2)
    var tokens = SessionGrant.GivenTokens()
    tokens.idToken = secret
    let full = Session(
      handle: session.handle, issuer: foreign, subject: foreign, kind: .user, scope: foreign, createdAt: now,
      expiresAt: now, accessTokenExpiresAt: now, claims: ["nonce": .string(secret)], acr: secret, authenticatedAt: now)
    return [
      "PosternEngine.SessionStorage": PosternEngine.SessionStorage(),
      "Session": full, "SessionHandle": session.handle, "SessionIssuer": bench.issuer, "UserSessions": bench.sessions,
      "SessionRef": SessionRef(handle: session.handle, uid: 1, issuer: bench.issuer, sessions: bench.sessions),
      "TokenNeed": TokenNeed(scope: "openid"),
      "BegunAuthorization": BegunAuthorization(url: "https://idp.test/?state=\(secret)", state: secret, expiresAt: now),
      "BegunDeviceAuthorization": BegunDeviceAuthorization(
        handle: session.handle, userCode: secret, verificationURI: "https://idp.test/device",
        verificationURIComplete: "https://idp.test/device?code=\(secret)", expiresAt: now, interval: .seconds(5)),
      "SessionGrant.GivenTokens": tokens, "SessionError": SessionError.notFound,
      "SessionError.Kind": SessionError.Kind.overloaded(retryAfter: .seconds(1)),
      "MemoryRecordStore": MemoryRecordStore(),
      "DeferredRecordStore": DeferredRecordStore(clock: bench.clock) { MemoryRecordStore() },
      "RecordAllowance": RecordAllowance(count: 1, bytes: 2), "RecordKey": key,
      "RecordLease": RecordLease(key: key, fence: 1, token: Array(secret.utf8)), "RecordPage": page,
      "SpendingShare": SpendingShare(uid: 1, part: secret),
      "RecordPage.Entry": page.entries[0], "RecordUsage": RecordUsage(), "StoreError": StoreError(.conflict, "changed"),
      "StoredRecord": record,
    ]
  }

  /// Callbacks of each type, as they come and with inputs filled in.
  static func callbacks() -> Samples {
    [
      "BooleanAttributeInputCallback": callback("BooleanAttributeInputCallback"),
      "ChoiceCallback": callback("ChoiceCallback"),
      "ConfirmationCallback": callback("ConfirmationCallback"),
      "ConsentMappingCallback": callback("ConsentMappingCallback"),
      "DeviceProfileCallback": callback("DeviceProfileCallback"),
      "HiddenValueCallback": callback("HiddenValueCallback"),
      "IdPCallback": callback("IdPCallback"),
      "KbaCreateCallback": callback("KbaCreateCallback"),
      "MetadataCallback": callback("MetadataCallback"),
      "NameCallback": callback("NameCallback"),
      "NumberAttributeInputCallback": callback("NumberAttributeInputCallback"),
      "PasswordCallback": callback("PasswordCallback"),
      "PollingWaitCallback": callback("PollingWaitCallback"),
      "ReCaptchaCallback": callback("ReCaptchaCallback"),
      "ReCaptchaEnterpriseCallback": callback("ReCaptchaEnterpriseCallback"),
      "RedirectCallback": callback("RedirectCallback"),
      "SelectIdPCallback": callback("SelectIdPCallback"),
      "StringAttributeInputCallback": callback("StringAttributeInputCallback"),
      "SuspendedTextOutputCallback": callback("SuspendedTextOutputCallback"),
      "TermsAndConditionsCallback": callback("TermsAndConditionsCallback"),
      "TextInputCallback": callback("TextInputCallback"),
      "TextOutputCallback": callback("TextOutputCallback"),
      "ValidatedCreatePasswordCallback": callback("ValidatedCreatePasswordCallback"),
      "ValidatedCreateUsernameCallback": callback("ValidatedCreateUsernameCallback"),
    ]
  }

  private static func callback(_ type: String) -> Any {
    let outputs: [JSONValue] = ["prompt", "message", "redirectUrl", "id", "value", "name", "displayName", "terms"].map {
      ["name": .string($0), "value": .string(foreign)]
    }
    let json: JSONValue = [
      "type": .string(type),
      "output": .array(
        outputs + [
          ["name": "choices", "value": ["a", "b"]], ["name": "options", "value": ["a", "b"]],
          ["name": "waitTime", "value": "100"],
        ]),
      "input": [["name": "IDToken1", "value": .string(secret)]],
    ]
    return JourneyCallback(json)?.typed as Any? ?? ""
  }

  static func journeys() async throws -> Samples {
    let bench = try JourneyBench()
    let session = try await bench.session()
    let callback = JourneyCallback([
      "type": "PasswordCallback", "output": [["name": "prompt", "value": .string(foreign)]],
      "input": [["name": "IDToken1", "value": .string(secret)]],
    ])
    let step = JourneyStep(
      continuation: secret, callbacks: [callback?.json ?? .null], stage: foreign, header: foreign, description: foreign,
      expiresAt: bench.grants.clock.wallNow)
    let node = JourneyNode(step, of: bench.journeys, at: bench.issuer, in: .uid(1))
    let error = JourneyError(.accessManager(status: 401, code: secret), "the access manager answered 401")
    let end = JourneyEnd(txId: secret, session: session.handle, isUpgraded: true, tag: secret)
    let advice = [PolicyAdvice(type: PolicyAdvice.Name.transaction, value: secret)]
    return [
      "JourneyAnswers": JourneyAnswers(["PasswordCallback": .string(secret)]),
      "JourneyCallback.FailedPolicy": JourneyCallback.FailedPolicy(
        requirement: foreign, params: ["password": .string(secret)]),
      "JourneyCallback": callback as Any? ?? "", "JourneyError": error, "JourneyError.Kind": error.kind,
      "JourneyNode": node, "JourneyNode.Outcome": JourneyNode.Outcome.node(node),
      "JourneyOutcome": JourneyOutcome.callbacks(step), "JourneyStep": step, "JourneyEnd": end,
      "JourneyFailure": JourneyFailure(code: 401, message: foreign, detail: .string(secret)),
      "JourneyRequest": JourneyRequest.stepUp(session.handle, advices: advice) as Any? ?? "",
      "Journeys": bench.journeys,
    ]
  }
}
