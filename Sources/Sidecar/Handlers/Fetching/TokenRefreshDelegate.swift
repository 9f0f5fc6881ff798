import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// Requests from the calling connection whether a response requires another token (`delegate.evaluateTokenRefresh`,
/// wire.md section 6).
struct TokenRefreshDelegate: TokenManagementPolicyDelegate {
  /// How long the caller has to answer.
  static let patience = Duration.seconds(180)

  private let conversation: JSONRPCConnection
  private let task: String
  private let deadline: Deadline
  private let clock: any EngineClock

  /// Nil when the connection has not registered for it.
  init?(caller: PeerConnection, task: String, deadline: Deadline, clock: any EngineClock) {
    guard let conversation = caller.delegate(for: .evaluateTokenRefresh) else { return nil }
    self.conversation = conversation
    self.task = task
    self.deadline = deadline
    self.clock = clock
  }

  /// The caller's decision; nil, the documented default, when it answers late, with an error or with nonsense.
  func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool? {
    var params: JSONObject = [
      "task": .string(task), "status": .integer(Int64(response.status)),
      "headers": ResponseHeaders(response.fields).json,
    ]
    if let text = String(validating: response.body, as: UTF8.self), !text.isEmpty { params["body"] = .string(text) }
    let answer = await DelegateQuestion.ask(
      conversation, .evaluateTokenRefresh, params, within: Self.patience, by: deadline, clock)
    return answer?["refresh"]?.boolValue
  }
}
