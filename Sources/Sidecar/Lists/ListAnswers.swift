import PosternCrypto
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// Answers methods that list something: away from the threads that serve connections, one list of a uid at a time, a
/// page at a time.
struct ListAnswers: Sendable {
  let computation: CPUOffload
  let turns: ListTurns
  private let cursors = ListCursors()

  init(computation: CPUOffload) {
    self.computation = computation
    turns = ListTurns(clock: computation.clock)
  }

  /// The page that `params` ask for: `body` adds entries behind the given position (0: from the first on) until the
  /// page takes no more, and lets others have their turn now and then.
  func page(
    _ params: PageParams, of member: StaticString, _ context: CallContext,
    _ body: @escaping @Sendable (Int64, ListPage) async throws(RPCFault) -> Void
  ) async throws(RPCFault) -> JSONText {
    let limit = params.limit ?? PageParams.usual
    guard (1...PageParams.most).contains(limit) else {
      throw .invalidParams("limit must be from 1 to \(PageParams.most)", path: "/limit")
    }
    let start = try position(params.cursor, of: member, context)
    let holder = context.caller.requester
    do throws(FairGate.Refusal) {
      try await turns.enter(holder, entries: limit, until: context.deadline)
    } catch {
      throw Self.fault(error)
    }
    defer { turns.leave(holder, entries: limit) }
    return try await computation.run(context) { () async throws(RPCFault) in
      let page = ListPage(limit: limit)
      try await body(start, page)
      return try page.finished(as: member) { position throws(CryptoError) in
        try cursors.cursor(position, of: "\(member)", for: context.owner)
      }
    }
  }

  private func position(
    _ cursor: String?, of member: StaticString, _ context: CallContext
  ) throws(RPCFault) -> Int64 {
    guard let cursor else { return 0 }
    guard let position = cursors.position(cursor, of: "\(member)", for: context.owner) else {
      throw .invalidParams("cursor is no nextCursor of this list and user: begin anew", path: "/cursor")
    }
    return position
  }

  private static func fault(_ refusal: FairGate.Refusal) -> RPCFault {
    switch refusal {
    case .cancelled: RPCFault(.requestCancelled)
    case .deadlinePassed: RPCFault(.deadlineExceeded, data: ["retryable": true, "outcome": "not_sent"])
    case .full, .late:
      ConnectionDispatcher.overloaded(
        "Too many lists of this user under way", retryAfter: ConnectionDispatcher.pause)
    }
  }
}
