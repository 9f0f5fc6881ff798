import PosternJSON
import PosternSupport

/// An answer that a test has prepared for the next requests of one call.
struct AdobePassAnswer: Sendable {
  /// The kind: a substitute for the right answer, or a change to it.
  enum Kind: String, Sendable, CaseIterable {
    /// An enhanced error.
    case error
    /// A status without a body.
    case empty
    /// A status with a web page.
    case html
    /// 429 with a web page.
    case throttled
    /// A redirect to another path of the playground.
    case redirect
    /// Nothing is done, and the connection closed.
    case hangUp
    /// Nothing is done, and the connection reset.
    case reset
    /// The right answer after `delayMs`.
    case slow
    /// Everything is done, and the connection closed instead of an answer.
    case lost
    /// Everything is done, and half of the answer written.
    case cut
    /// The right answer, cut off in the middle of its JSON.
    case truncated
    /// The right answer with two members of one name.
    case doubled
    /// The right answer with a member that is nested 200 deep.
    case deep
    /// The right answer with a member of more than 1 MiB.
    case tooLarge
    /// The right answer with other members.
    case change
  }

  let call: AdobePassCall
  let kind: Kind
  /// How many requests it is for.
  var times: Int64
  /// The status of `empty`, `html` and `change`.
  let status: Int?
  /// The error of `error`.
  let error: AdobePassError?
  let shape: AdobePassSettings.ErrorShape?
  let delayMilliseconds: Int64
  let change: AdobePassChange?

  /// The right answer, changed.
  func changing(_ reply: Reply) -> Reply {
    guard case .bytes(let bytes) = reply.body else { return reply }
    var reply = reply
    switch kind {
    case .lost: return .hangUp
    case .cut: reply.body = .half(bytes)
    case .truncated: reply.body = .bytes(Array(bytes.prefix(bytes.count / 2)))
    case .doubled: reply.body = .bytes(Self.opening(bytes, #""double":1,"double":2,"#))
    case .deep:
      let nested = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
      reply.body = .bytes(Self.opening(bytes, "\"deep\":\(nested),"))
    case .tooLarge:
      reply.body = .bytes(Self.opening(bytes, "\"padding\":\"\(String(repeating: "x", count: 1 << 20))\","))
    case .change:
      guard let change, let json = try? JSONParser().parse(bytes) else { return reply }
      reply.body = .bytes(JSONWriter().write(change.changing(json)))
    case .error, .empty, .html, .throttled, .redirect, .hangUp, .reset, .slow: return reply
    }
    reply.status = status ?? reply.status
    return reply
  }

  /// `bytes` of an object, with `members` before its own.
  private static func opening(_ bytes: [UInt8], _ members: String) -> [UInt8] {
    Array("{".utf8) + Array(members.utf8) + bytes.dropFirst()
  }
}

/// The prepared answers.
final class AdobePassAnswers: Sendable {
  private let queue = Locked<[AdobePassAnswer]>([])
  private let clock: any EngineClock

  /// None; `clock` times slow ones.
  init(clock: any EngineClock) { self.clock = clock }

  /// Prepares `answers`, in place of those before.
  func set(_ answers: [AdobePassAnswer]) { queue.withLock { $0 = answers } }

  /// How many requests are to get a prepared answer.
  var count: Int64 { queue.withLock { $0.reduce(0) { $0 + $1.times } } }

  /// The answer of the current request of `call`.
  func take(_ call: AdobePassCall) -> AdobePassAnswer? {
    queue.withLock { queue in
      guard let index = queue.firstIndex(where: { $0.call == call }) else { return nil }
      let answer = queue[index]
      queue[index].times -= 1
      if queue[index].times == 0 { queue.remove(at: index) }
      return answer
    }
  }

  /// The prepared answer of the current request of `call`; without one that of `carryOut`.
  func reply(
    to call: AdobePassCall, _ values: AdobePassSettings.Values, carryOut: () async throws -> Reply
  ) async throws -> Reply {
    guard let answer = take(call) else { return try await carryOut() }
    if let reply = try await replyInstead(answer, values) { return reply }
    return answer.changing(try await carryOut())
  }

  /// The substitute for the right answer; nil when the request is carried out.
  func replyInstead(_ answer: AdobePassAnswer, _ values: AdobePassSettings.Values) async throws -> Reply? {
    switch answer.kind {
    case .error: return answer.error?.reply(answer.shape ?? values.errorShape)
    case .empty: return Reply(status: answer.status ?? 500)
    case .html:
      var reply = AdobePassShape.html.reply(values)
      reply.status = answer.status ?? 200
      return reply
    case .throttled: return AdobePassShape.throttled.reply(values)
    case .redirect: return .redirect(302, to: "/open/echo/redirected")
    case .hangUp: return .hangUp
    case .reset: return .reset
    case .slow:
      try await clock.sleep(for: .milliseconds(answer.delayMilliseconds))
      return nil
    case .lost, .cut, .truncated, .doubled, .deep, .tooLarge, .change: return nil
    }
  }
}
