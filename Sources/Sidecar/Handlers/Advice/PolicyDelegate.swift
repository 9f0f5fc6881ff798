import AuthEngine
import HTTPMessages
import PosternJSON
import PosternObservability
import PosternProtocol
import PosternSupport

/// Sends requests about policy advice to the calling connection: `delegate.onPolicyAdviceReceived`,
/// `evaluateAuthorizationPolicy` and `updateRequest` (wire.md section 6), each as far as it has registered for it.
struct PolicyDelegate: AuthorizationPolicyDelegate {
  let caller: PeerConnection
  let task: String
  /// How long the caller has to answer.
  let patience: Duration
  /// When the call must be over.
  let deadline: Deadline
  let clock: any EngineClock
  /// The audit trail of the caller's answer.
  var trail: AuditTrail?
  /// Whether the caller may change the request's URL: not where an endpoint bounds what is fetched.
  var mayMove = true
  /// The session that the caller has named in its answer: of a user who was not logged in before.
  let newSession = Locked<String?>(nil)

  func onPolicyAdviceReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool? {
    var params: JSONObject = [
      "task": .string(task), "session": session.map { .string($0.text) } ?? .null,
      "advices": .array(advices.compactMap { PolicyAdviceDescription($0).json }),
    ]
    params["continuation"] = continuation.map { .string($0) }
    // Other fetches may wait for it longer than this one's call.
    let answer = await ask(.onPolicyAdviceReceived, params, by: .never)
    let isSatisfied = answer?["satisfied"]?.boolValue
    if session == nil, isSatisfied == true { newSession.withLock { $0 = answer?["session"]?.stringValue } }
    if caller.delegate(for: .onPolicyAdviceReceived) != nil {
      await trail?.delegateAnswered(isSatisfied, session, caller)
    }
    return isSatisfied
  }

  func evaluateAuthorizationPolicy(_ response: HTTPResponse) async -> [PolicyAdvice]? {
    var params: JSONObject = [
      "task": .string(task), "status": .integer(Int64(response.status)),
      "headers": ResponseHeaders(response.fields).json,
    ]
    if let text = String(validating: response.body, as: UTF8.self), !text.isEmpty { params["body"] = .string(text) }
    guard let given = await ask(.evaluateAuthorizationPolicy, params)?["advices"]?.arrayValue else { return nil }
    let advices = given.compactMap { try? JSONValueDecoder().decode(PolicyAdviceDescription.self, from: $0) }
    guard advices.count == given.count, !given.isEmpty else { return given.isEmpty ? [] : nil }
    return try? PolicyAdvice.given(advices, path: "")
  }

  func updateRequest(_ request: HTTPRequest, txId: String?) async -> RequestUpdate? {
    var params: JSONObject = [
      "task": .string(task),
      "request": [
        "method": .string(request.method), "url": .string("\(request.url)"),
        "headers": ResponseHeaders(request.fields).json,
      ],
    ]
    params["txId"] = txId.map { .string($0) }
    guard let answer = await ask(.updateRequest, params)?.objectValue else { return nil }
    var update = RequestUpdate()
    if let url = answer["url"], url != .null {
      guard mayMove, let text = url.stringValue else { return nil }
      update.url = text
    }
    guard let given = answer["headers"], given != .null else { return update }
    guard let members = given.objectValue?.members else { return nil }
    for member in members {
      let values = member.value.arrayValue ?? [member.value]
      for value in values {
        guard let text = value.stringValue else { return nil }
        update.headers.append(member.name, text)
      }
    }
    return update
  }

  private func ask(
    _ method: DelegateMethod, _ params: JSONObject, by deadline: Deadline? = nil
  ) async -> JSONValue? {
    guard let connection = caller.delegate(for: method) else { return nil }
    return await DelegateQuestion.ask(
      connection, method, params, within: patience, by: deadline ?? self.deadline, clock)
  }
}
