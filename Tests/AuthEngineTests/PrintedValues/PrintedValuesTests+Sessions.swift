import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport

@testable import AccessManagement
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
      "Session": full, "SessionHandle": session.handle, "SessionIssuer": bench.issuer, "UserSessions": bench.sessions,
      "FetchSession": FetchSession(handle: session.handle, uid: 1, issuer: bench.issuer, sessions: bench.sessions),
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
      "RecordPage.Entry": page.entries[0], "RecordUsage": RecordUsage(), "StoreError": StoreError(.conflict, "changed"),
      "StoredRecord": record,
    ]
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
    let error = JourneyError(.accessManager(status: 401, code: secret), "the access manager answered 401")
    let end = JourneyEnd(txId: secret, session: session.handle, isUpgraded: true, tag: secret)
    let advice = [PolicyAdvice(type: PolicyAdvice.Name.transaction, value: secret)]
    return [
      "JourneyAnswers": JourneyAnswers(["PasswordCallback": .string(secret)]),
      "JourneyCallback.FailedPolicy": JourneyCallback.FailedPolicy(
        requirement: foreign, params: ["password": .string(secret)]),
      "JourneyCallback": callback as Any? ?? "", "JourneyError": error, "JourneyError.Kind": error.kind,
      "JourneyOutcome": JourneyOutcome.callbacks(step), "JourneyStep": step, "JourneyEnd": end,
      "JourneyFailure": JourneyFailure(code: 401, message: foreign, detail: .string(secret)),
      "JourneyRequest": JourneyRequest.stepUp(session.handle, advices: advice) as Any? ?? "",
      "Journeys": bench.journeys,
    ]
  }
}
